//! Requests as browsers and web servers record them: one reader each of HAR files and of access logs, for imports and
//! for whoever sends such requests again.

mod access_log;
mod client;
mod container;
mod har;
mod place;

pub use access_log::{LoggedRequest, RequestTime, TimeFound};
pub use container::ContainerLog;
pub use har::{HarEntry, HarError, HarFound, PostData, begins_as_har, main_host, read_har};
pub use place::place_of;

/// The mark of UTF-8 that some editors and recorders put before the text.
pub const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

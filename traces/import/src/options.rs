//! Options and input files of an import.

use std::{
    fmt,
    io::{self, Read},
    time::Duration,
};

use traces::{pseudonym::Pseudonyms, spool::PART};

use super::{rules::Rules, timestamps::Clock, web::RequestTime};

/// The options of an import.
#[derive(Debug, Clone)]
pub struct Options {
    /// The date and zone that the times of logs omit.
    pub clock: Clock,
    /// The pseudonyms of users, sessions and folders.
    pub pseudonyms: Pseudonyms,
    /// The rules from requests of web servers to actions.
    pub rules: Rules,
    /// The place of the request time in lines of access logs.
    pub request_time: RequestTime,
    /// The pause of a user that ends a session, in sources without sessions. Thirty minutes is the custom of web
    /// statistics.
    pub gap: Duration,
    /// The longest pause after which a command still follows a SELECT directly, and belongs to the same page.
    pub window: Duration,
    /// The server's port, in packet captures.
    pub port: u16,
    /// The number of entries that are sorted in memory at a time.
    pub part: usize,
}

impl Options {
    /// The defaults: detected zone, the pages of Arashi, half an hour, 20 ms, port 143.
    #[must_use]
    pub fn new(pseudonyms: Pseudonyms, year: i16) -> Self {
        Self {
            clock: Clock { zone: None, year },
            pseudonyms,
            rules: Rules::arashi(),
            request_time: RequestTime::default(),
            gap: Duration::from_secs(30 * 60),
            window: Duration::from_millis(20),
            port: 143,
            part: PART,
        }
    }
}

/// Opens a file.
pub type Open<'o> = Box<dyn FnOnce() -> io::Result<Box<dyn Read + Send>> + 'o>;

/// A file to be imported.
pub struct Input<'o> {
    /// Its path: rawlogs are paired by it, and it may contain a user's name.
    pub name: String,
    /// Opens it.
    pub open: Open<'o>,
}

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("name", &self.name).finish_non_exhaustive()
    }
}

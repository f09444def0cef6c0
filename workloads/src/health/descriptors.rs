use std::{cell::Cell, fs::File, os::fd::AsRawFd as _};

use nix::libc::EMFILE;

use super::descriptor_limit;

/// Follows how many descriptors the process has open at the most, at two system calls a look.
///
/// The kernel gives out the lowest free number: one that is taken and given back at once says how many are open, or
/// fewer where lower numbers have become free again. So looks come close to the peak while it grows.
#[derive(Debug)]
pub struct DescriptorMeter {
    probe: Option<File>,
    peak: Cell<u64>,
}

impl DescriptorMeter {
    /// A meter that has seen nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { probe: File::open("/dev/null").ok(), peak: Cell::new(0) }
    }

    /// Looks once.
    pub fn look(&self) {
        let open = match self.probe.as_ref().map(File::try_clone) {
            Some(Ok(copy)) => u64::try_from(copy.as_raw_fd()).unwrap_or_default(),
            Some(Err(error)) if error.raw_os_error() == Some(EMFILE) => descriptor_limit(),
            Some(Err(_)) | None => return,
        };
        self.peak.set(self.peak.get().max(open));
    }

    /// Most that were seen open; 0 if none could be.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peak.get()
    }
}

impl Default for DescriptorMeter {
    fn default() -> Self {
        Self::new()
    }
}

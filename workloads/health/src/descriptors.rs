use std::{cell::Cell, fs::File, os::fd::AsRawFd as _};

use nix::libc::EMFILE;

use super::descriptor_limit;

/// Measures the largest number of descriptors that the process has open, at two system calls a reading.
///
/// The kernel gives out the lowest free number: a descriptor that is opened and closed at once tells how many are open,
/// or fewer where lower numbers have become free again. So readings come close to the peak while it grows.
#[derive(Debug)]
pub struct DescriptorMeter {
    probe: Option<File>,
    peak: Cell<u64>,
}

impl DescriptorMeter {
    /// A meter without readings.
    #[must_use]
    pub fn new() -> Self {
        Self { probe: File::open("/dev/null").ok(), peak: Cell::new(0) }
    }

    /// Takes a reading.
    pub fn look(&self) {
        let open = match self.probe.as_ref().map(File::try_clone) {
            Some(Ok(copy)) => u64::try_from(copy.as_raw_fd()).unwrap_or_default(),
            Some(Err(error)) if error.raw_os_error() == Some(EMFILE) => descriptor_limit(),
            Some(Err(_)) | None => return,
        };
        self.peak.set(self.peak.get().max(open));
    }

    /// The largest number seen open; 0 without a successful reading.
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

//! Where connections go to, and where they come from.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use nix::errno::Errno;
use workloads::plan::Target;

use crate::options::RunOptions;

/// The addresses of a host.
#[derive(Debug)]
pub(crate) struct Addresses {
    all: Box<[SocketAddr]>,
    /// The one that a new connection tries first: one that was not found dead, as long as there is one.
    first: AtomicUsize,
}

impl Addresses {
    pub(crate) fn of(target: &Target) -> Self {
        Self { all: target.addresses().collect(), first: AtomicUsize::new(0) }
    }

    /// The address that a new connection tries first.
    pub(crate) fn first(&self) -> SocketAddr {
        self.all[self.first.load(Relaxed)]
    }

    /// The address to try after `dead`, where so many have been tried; `None`: there is no other one.
    pub(crate) fn after(&self, dead: SocketAddr, tried: usize) -> Option<SocketAddr> {
        let at = self.all.iter().position(|address| *address == dead)?;
        let next = (at + 1) % self.all.len();
        // Another connection may have gone on already.
        let _ = self.first.compare_exchange(at, next, Relaxed, Relaxed);
        (tried < self.all.len()).then(|| self.all[next])
    }
}

/// The addresses of this machine that connections come from.
#[derive(Debug, Clone)]
pub(crate) struct SourceAddresses(Box<[IpAddr]>);

impl SourceAddresses {
    pub(crate) fn of(options: &RunOptions) -> Self {
        Self(options.source_addresses.as_slice().into())
    }

    /// The one for connection or user number `nth` to this target, in turn; `None`: the kernel chooses.
    pub(crate) fn towards(&self, target: SocketAddr, nth: u64) -> Option<IpAddr> {
        let fitting = || self.0.iter().filter(|source| source.is_ipv4() == target.is_ipv4());
        let count = fitting().count() as u64;
        if count == 0 { None } else { fitting().nth((nth % count) as usize).copied() }
    }
}

/// An error of the system in its words, without its number.
pub(crate) fn said(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => Errno::from_raw(number).desc().to_owned(),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(last: &[u8]) -> Vec<SocketAddr> {
        last.iter().map(|last| ([127, 0, 0, *last], 80).into()).collect()
    }

    #[test]
    fn each_address_is_tried_once_and_later_connections_begin_with_one_that_was_not_dead() {
        let all = addresses(&[1, 2, 3]);
        let target = Target { others: all[1..].to_vec(), ..Target::at(all[0]) };
        let host = Addresses::of(&target);
        assert_eq!(host.first(), all[0]);
        assert_eq!(host.after(all[0], 1), Some(all[1]));
        assert_eq!(host.first(), all[1], "the first one is dead");
        assert_eq!(host.after(all[0], 1), Some(all[1]), "of another connection, at the same time");
        assert_eq!(host.first(), all[1]);
        assert_eq!((host.after(all[1], 2), host.after(all[2], 3)), (Some(all[2]), None));
        assert_eq!(Addresses::of(&Target::at(all[0])).after(all[0], 1), None);
    }

    #[test]
    fn sources_take_turns_and_are_of_the_family_of_the_target() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        let sources = SourceAddresses(["127.0.0.2", "::1", "127.0.0.3"].map(ip).into());
        let [four, six] = ["127.0.0.1:80", "[::1]:80"].map(|text| text.parse::<SocketAddr>().expect("an address"));
        let seen: Vec<_> = (0..3).filter_map(|nth| sources.towards(four, nth)).collect();
        assert_eq!(seen, ["127.0.0.2", "127.0.0.3", "127.0.0.2"].map(ip));
        assert_eq!(sources.towards(six, 7), Some(ip("::1")));
        assert_eq!(SourceAddresses([ip("::1")].into()).towards(four, 0), None);
    }

    #[test]
    fn an_error_has_no_number() {
        assert_eq!(said(&io::Error::from_raw_os_error(nix::libc::ECONNREFUSED)), "Connection refused");
        assert_eq!(said(&io::Error::other("cut")), "cut");
    }
}

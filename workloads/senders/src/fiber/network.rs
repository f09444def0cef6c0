use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use socket2::SockAddr;

use super::{routes::Routes, watch::Watch};
use crate::{
    addresses::SourceAddresses,
    http1::{Budget, Limits},
};

/// The destinations of a run's connections, and their time limits.
#[derive(Debug, Clone)]
pub(super) struct Network {
    pub(super) routes: Routes,
    pub(super) host: String,
    /// Source addresses are spread over this many of 127.0.0.0/8; 1: the kernel chooses.
    pub(super) sources: u32,
    /// The source addresses that were given in place of these.
    pub(super) given_sources: SourceAddresses,
    /// The socket to connect to in place of any address.
    pub(super) unix_socket: Option<Arc<SockAddr>>,
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    /// See [`workloads::plan::LoadPlan::redraw`].
    pub(super) redraw: bool,
    /// The size limits of an answer.
    pub(super) limits: Limits,
    /// The memory of all answers together.
    pub(super) memory: Budget,
    /// The watch that receives their events.
    pub(super) watch: Arc<Watch>,
}

impl Network {
    /// The source address of this user: one user keeps one, as a real user would.
    pub(super) fn source(&self, user: u64, target: SocketAddr) -> Option<IpAddr> {
        if let Some(given) = self.given_sources.towards(target, user) {
            return Some(given);
        }
        if self.sources <= 1 || !target.ip().is_loopback() || !target.is_ipv4() {
            return None;
        }
        let number = u32::try_from(user % u64::from(self.sources)).unwrap_or_default();
        // 127.0.0.1 to 127.255.255.254 without the last bytes 0 and 255: 254 addresses per block of 256.
        let address = 0x7F00_0000 + ((number / 254) << 8) + number % 254 + 1;
        Some(Ipv4Addr::from_bits(address).into())
    }
}

//! Where clients come from, and how much of something those of one source have.

use std::{
    collections::{HashMap, hash_map::Entry},
    net::{IpAddr, Ipv6Addr, SocketAddr},
};

/// The source of a connection: an address, or in IPv6 the network of a household.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientSource(IpAddr);

impl ClientSource {
    /// The source of a connection from this address.
    pub fn of(peer: SocketAddr) -> Self {
        /// A network of 64 bits.
        const NETWORK: u128 = !0 << 64;
        Self(match peer.ip().to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
            address @ IpAddr::V4(_) => address,
        })
    }

    /// A number of its own: the network's, and for an address of IPv4 one where no network is.
    pub fn number(self) -> u64 {
        match self.0 {
            IpAddr::V6(network) => (network.to_bits() >> 64) as u64,
            IpAddr::V4(address) => 0xffff << 32 | u64::from(address.to_bits()),
        }
    }
}

/// What those of each source have, in numbers.
#[derive(Debug, Default)]
pub struct SourceCounts(HashMap<ClientSource, usize>);

impl SourceCounts {
    /// The number of this source.
    pub fn of(&self, source: ClientSource) -> usize {
        self.0.get(&source).copied().unwrap_or(0)
    }

    /// Adds one to those of this source.
    pub fn add(&mut self, source: ClientSource) {
        *self.0.entry(source).or_default() += 1;
    }

    /// Takes one from those of this source.
    pub fn remove(&mut self, source: ClientSource) {
        if let Entry::Occupied(mut entry) = self.0.entry(source) {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }

    /// The largest number of one source.
    pub fn most(&self) -> usize {
        self.0.values().max().copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_household_is_one_source() {
        let source = |text: &str| ClientSource::of(text.parse().unwrap());
        assert_eq!(source("[2001:db8::1]:1"), source("[2001:db8::ffff:1]:2"));
        assert_ne!(source("[2001:db8::1]:1"), source("[2001:db8:0:1::1]:1"));
        assert_eq!(source("[::ffff:192.0.2.1]:1"), source("192.0.2.1:2"));
        assert_ne!(source("192.0.2.2:1"), source("192.0.2.1:1"));
    }
}

//! A strict parser of the value of a `Host` header: all of it counts (RFC 9112, section 3.2; RFC 3986, section 3.2.2).

use std::net::{IpAddr, Ipv6Addr};

/// The host of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host<'a> {
    /// An address, which nobody can redirect.
    Address(IpAddr),
    /// A registered name, as written.
    Name(&'a str),
}

impl<'a> Host<'a> {
    /// The host of `host [":" port]`; `None` for anything else: with a user, a path, white space, or an empty name.
    pub(crate) fn of(authority: &'a str) -> Option<Self> {
        let (host, rest) = match authority.strip_prefix('[') {
            Some(literal) => {
                let (address, rest) = literal.split_once(']')?;
                (Self::Address(address.parse::<Ipv6Addr>().ok()?.into()), rest)
            }
            None => {
                let (name, rest) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
                (Self::named(name)?, rest)
            }
        };
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
        (rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.is_empty() || is_port(port))).then_some(host)
    }

    fn named(name: &'a str) -> Option<Self> {
        if let Ok(address) = name.parse() {
            return Some(Self::Address(address));
        }
        let mut bytes = name.bytes();
        while let Some(byte) = bytes.next() {
            let fits = match byte {
                b'%' => bytes.by_ref().take(2).filter(u8::is_ascii_hexdigit).count() == 2,
                _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte),
            };
            if !fits {
                return None;
            }
        }
        (!name.is_empty()).then_some(Self::Name(name))
    }

    /// True if both are the same one: names have no case.
    pub(crate) fn is(self, other: Host<'_>) -> bool {
        match (self, other) {
            (Self::Name(one), Host::Name(other)) => one.eq_ignore_ascii_case(other),
            (one, other) => one == other,
        }
    }

    /// True for this machine, by a name or address that cannot mean another one.
    pub(crate) fn is_loopback(self) -> bool {
        match self {
            Self::Address(address) => address.is_loopback(),
            Self::Name(name) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_with_and_without_a_port() {
        for (text, host) in [
            ("a.example", Host::Name("a.example")),
            ("a.example:80", Host::Name("a.example")),
            ("a.example:", Host::Name("a.example")),
            ("%61_b", Host::Name("%61_b")),
            ("127.0.0.1:8025", Host::Address("127.0.0.1".parse().unwrap())),
            ("[::1]", Host::Address("::1".parse().unwrap())),
            ("[::1]:80", Host::Address("::1".parse().unwrap())),
        ] {
            assert_eq!(Host::of(text), Some(host), "{text}");
        }
    }

    #[test]
    fn everything_else_is_no_host() {
        for text in [
            "",
            ":80",
            "a b",
            "user@a",
            "127.0.0.1:80/path",
            "127.0.0.1:8025@evil.com",
            "localhost:evil",
            "localhost:65536",
            "localhost:+1",
            "[::1].evil.com",
            "[::1",
            "[127.0.0.1]",
            "127.0.0.1:80,evil",
            "::1",
            "a%2",
            "a%zz",
            "a\u{e9}",
            "a?b",
            "a#b",
        ] {
            assert_eq!(Host::of(text), None, "{text}");
        }
    }

    #[test]
    fn this_machine_is_known_by_address_or_name() {
        let loopback = |text| Host::of(text).unwrap().is_loopback();
        assert!(loopback("LocalHost") && loopback("127.9.9.9:1") && loopback("[::1]"));
        assert!(!loopback("localhost.evil") && !loopback("192.0.2.1"));
    }
}

//! How a request's class is found (USITS'03, section 3.1: by address, header or cookie).

use std::net::{IpAddr, SocketAddr};

use controllers::Class;
use http::{HeaderName, header, request::Parts};

use crate::spec::ClassRule;

/// A checked [`ClassRule`].
#[derive(Debug, Clone)]
pub struct Classes(Rule);

#[derive(Debug, Clone)]
enum Rule {
    None,
    Header(HeaderName),
    Cookie(String),
    Address(Vec<(Prefix, Class)>),
    Path(Vec<(String, Class)>),
}

/// A rule that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClassError {
    /// Not a header name.
    #[error("class: {0:?} is not a header name; User-Class is one")]
    Header(String),
    /// Not an address prefix.
    #[error("class: {0:?} is not an address prefix; 127.1.0.0/16 is one")]
    Prefix(String),
}

impl Classes {
    /// Checks a rule.
    ///
    /// # Errors
    /// A header name or an address prefix that is none.
    pub fn new(rule: &ClassRule) -> Result<Self, ClassError> {
        Ok(Self(match rule {
            ClassRule::None => Rule::None,
            ClassRule::Header(name) => Rule::Header(name.parse().map_err(|_| ClassError::Header(name.clone()))?),
            ClassRule::Cookie(name) => Rule::Cookie(name.clone()),
            ClassRule::Address(prefixes) => {
                let parse = |(text, class): &(String, u8)| Ok((Prefix::parse(text)?, Class(*class)));
                Rule::Address(prefixes.iter().map(parse).collect::<Result<_, _>>()?)
            }
            ClassRule::Path(starts) => {
                Rule::Path(starts.iter().map(|(start, class)| (start.clone(), Class(*class))).collect())
            }
        }))
    }

    /// The class of a request. What is missing or malformed is class 0, as in the SEDA code.
    #[must_use]
    pub fn class(&self, head: &Parts, peer: SocketAddr) -> Class {
        let found = match &self.0 {
            Rule::None => None,
            Rule::Header(name) => head.headers.get(name).and_then(|value| whole(value.to_str().ok()?)),
            Rule::Cookie(name) => cookie(head, name).and_then(whole),
            Rule::Address(prefixes) => first(prefixes, |prefix| prefix.holds(peer.ip())),
            Rule::Path(starts) => first(starts, |start| head.uri.path().starts_with(start.as_str())),
        };
        found.unwrap_or_default()
    }
}

fn first<T>(rules: &[(T, Class)], fits: impl Fn(&T) -> bool) -> Option<Class> {
    rules.iter().find(|(rule, _)| fits(rule)).map(|&(_, class)| class)
}

fn whole(text: &str) -> Option<Class> {
    text.trim().parse().ok().map(Class)
}

fn cookie<'a>(head: &'a Parts, name: &str) -> Option<&'a str> {
    let lines = head.headers.get_all(header::COOKIE).iter();
    let mut pairs = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Prefix {
    address: IpAddr,
    bits: u32,
}

impl Prefix {
    fn parse(text: &str) -> Result<Self, ClassError> {
        let problem = || ClassError::Prefix(text.to_owned());
        let (address, bits) = text.split_once('/').unwrap_or((text, ""));
        let address: IpAddr = address.parse().map_err(|_| problem())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = if bits.is_empty() { most } else { bits.parse().map_err(|_| problem())? };
        if bits > most { Err(problem()) } else { Ok(Self { address, bits }) }
    }

    fn holds(&self, other: IpAddr) -> bool {
        match (self.address, other.to_canonical()) {
            (IpAddr::V4(mine), IpAddr::V4(other)) => {
                let shift = 32 - self.bits;
                u32::from(mine).checked_shr(shift) == u32::from(other).checked_shr(shift)
            }
            (IpAddr::V6(mine), IpAddr::V6(other)) => {
                let shift = 128 - self.bits;
                u128::from(mine).checked_shr(shift) == u128::from(other).checked_shr(shift)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(rule: &ClassRule, build: impl FnOnce(http::request::Builder) -> http::request::Builder, peer: &str) -> u8 {
        let (head, ()) = build(http::Request::builder()).body(()).unwrap().into_parts();
        Classes::new(rule).unwrap().class(&head, peer.parse().unwrap()).0
    }

    #[test]
    fn by_header_with_anything_odd_as_zero() {
        let rule = ClassRule::Header("User-Class".to_owned());
        for (value, expected) in [("1", 1), (" 7 ", 7), ("gold", 0), ("-1", 0), ("300", 0), ("", 0)] {
            assert_eq!(class(&rule, |head| head.header("user-class", value), "127.0.0.1:1"), expected, "{value:?}");
        }
        assert_eq!(class(&rule, |head| head, "127.0.0.1:1"), 0);
    }

    #[test]
    fn by_cookie_among_others() {
        let rule = ClassRule::Cookie("class".to_owned());
        assert_eq!(class(&rule, |head| head.header("cookie", "a=1; class=2; subclass=3"), "127.0.0.1:1"), 2);
        assert_eq!(class(&rule, |head| head.header("cookie", "subclass=3"), "127.0.0.1:1"), 0);
    }

    #[test]
    fn by_address_the_first_that_fits() {
        let rule = ClassRule::Address(vec![
            ("127.1.2.0/24".to_owned(), 2),
            ("127.1.0.0/16".to_owned(), 1),
            ("::/0".to_owned(), 9),
        ]);
        assert_eq!(class(&rule, |head| head, "127.1.2.200:1"), 2);
        assert_eq!(class(&rule, |head| head, "127.1.3.1:1"), 1);
        assert_eq!(class(&rule, |head| head, "127.2.0.1:1"), 0);
        assert_eq!(class(&rule, |head| head, "[::1]:1"), 9);
    }

    #[test]
    fn by_path_and_bad_rules_are_named() {
        let rule = ClassRule::Path(vec![("/search".to_owned(), 3)]);
        assert_eq!(class(&rule, |head| head.uri("/search?q=1"), "127.0.0.1:1"), 3);
        let bad = ClassRule::Address(vec![("127.0.0.0/33".to_owned(), 1)]);
        assert_eq!(Classes::new(&bad).unwrap_err(), ClassError::Prefix("127.0.0.0/33".to_owned()));
        assert!(Classes::new(&ClassRule::Header("no header".to_owned())).is_err());
    }
}

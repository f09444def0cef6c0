//! Classification of requests by user class and request type: by URL prefix, header, cookie or address (USITS'03,
//! sections 3.1 and 3.3).
//!
//! A header or cookie from a client is the client's own claim. Where that matters, the host must set the header or
//! cookie itself, or classify by address.

use std::{collections::BTreeMap, net::IpAddr};

use serde::{Deserialize, Serialize};

use crate::{Class, Kind, catalogue::Problem};

/// The attributes of a request, borrowed from the host's representation.
pub trait Facts {
    /// Path and query, as received.
    fn path(&self) -> &str;
    /// The first header with this name; `name` is in lower case.
    fn header(&self, name: &str) -> Option<&str>;
    /// The source address.
    fn address(&self) -> Option<IpAddr>;
}

/// The rule that finds a request's class, as written in files. A higher class is more important.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassRule {
    /// Every request has class 0.
    #[default]
    None,
    /// A whole number in this header; missing or malformed: 0.
    Header(String),
    /// A whole number in this cookie; missing or malformed: 0.
    Cookie(String),
    /// By source address: the first prefix (`127.1.0.0/16`) that matches; none: 0.
    Address(Vec<(String, u8)>),
    /// By the start of path and query: the first that matches; none: 0.
    Path(Vec<(String, u8)>),
    /// By the value of a header; missing or another value: 0.
    #[serde(untagged)]
    Named(NamedClasses),
}

/// Classes with names: `X-Plan: gold`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedClasses {
    /// The header.
    pub header: String,
    /// Class by value. Values differ in case.
    pub values: BTreeMap<String, u8>,
}

impl NamedClasses {
    /// The value that says this class: of several the first in alphabetical order.
    #[must_use]
    pub fn value(&self, class: Class) -> Option<&str> {
        self.values.iter().find(|(_, of)| **of == class.0).map(|(value, _)| value.as_str())
    }

    /// Checks that each value can stand in a header.
    fn check(&self) -> Result<(), Vec<Problem>> {
        let plain =
            |value: &str| !value.is_empty() && value.trim() == value && value.chars().all(|c| (' '..='~').contains(&c));
        match self.values.keys().find(|value| !plain(value)) {
            Some(wrong) => Err(vec![Problem {
                key: "values".to_owned(),
                message: format!("{wrong:?} cannot be a header's value"),
            }]),
            None => Ok(()),
        }
    }
}

/// A [`ClassRule`] in the form that classifies requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Classifier(Rule);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Rule {
    #[default]
    None,
    Header(String),
    Named(NamedClasses),
    Cookie(String),
    Address(Vec<(Prefix, Class)>),
    Path(Vec<(String, Class)>),
}

impl ClassRule {
    /// Parses the rule once, for use with every request.
    ///
    /// # Errors
    /// Invalid names of headers or cookies, and invalid address prefixes: every problem at once.
    pub fn read(&self) -> Result<Classifier, Vec<Problem>> {
        let rule = match self {
            Self::None => Rule::None,
            Self::Header(name) => Rule::Header(token("header", name)?),
            Self::Named(named) => {
                named.check()?;
                Rule::Named(NamedClasses { header: token("header", &named.header)?, ..named.clone() })
            }
            Self::Cookie(name) => Rule::Cookie(token("cookie", name).map(|_| name.clone())?),
            Self::Path(rules) => {
                Rule::Path(rules.iter().map(|(start, class)| (start.clone(), Class(*class))).collect())
            }
            Self::Address(rules) => {
                let (mut read, mut problems) = (Vec::new(), Vec::new());
                for (text, class) in rules {
                    match Prefix::parse(text) {
                        Some(prefix) => read.push((prefix, Class(*class))),
                        None => problems.push(Problem {
                            key: "address".to_owned(),
                            message: format!("{text:?} is not an address prefix: write 127.1.0.0/16 or ::1"),
                        }),
                    }
                }
                if !problems.is_empty() {
                    return Err(problems);
                }
                Rule::Address(read)
            }
        };
        Ok(Classifier(rule))
    }
}

/// A name of characters that HTTP allows in names, converted to lower case.
fn token(key: &str, name: &str) -> Result<String, Vec<Problem>> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if !name.is_empty() && name.chars().all(allowed) {
        return Ok(name.to_ascii_lowercase());
    }
    Err(vec![Problem { key: key.to_owned(), message: format!("{name:?} cannot be a {key}'s name") }])
}

impl Classifier {
    /// The class of a request.
    pub fn class(&self, facts: &impl Facts) -> Class {
        match &self.0 {
            Rule::None => Class(0),
            Rule::Header(name) => number(facts.header(name)),
            Rule::Named(NamedClasses { header, values }) => {
                let value = facts.header(header).map(str::trim).unwrap_or_default();
                Class(values.get(value).copied().unwrap_or(0))
            }
            Rule::Cookie(name) => number(facts.header("cookie").and_then(|cookies| cookie(cookies, name))),
            Rule::Address(rules) => {
                let Some(address) = facts.address() else { return Class(0) };
                first(rules, |prefix| prefix.covers(address))
            }
            Rule::Path(rules) => first(rules, |start| facts.path().starts_with(start.as_str())),
        }
    }
}

fn first<T>(rules: &[(T, Class)], fits: impl Fn(&T) -> bool) -> Class {
    rules.iter().find(|(rule, _)| fits(rule)).map_or(Class(0), |(_, class)| *class)
}

/// Parses a whole number; a number above the highest class means the highest.
fn number(text: Option<&str>) -> Class {
    let number = text.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
    Class(u8::try_from(number).unwrap_or(u8::MAX))
}

/// The value of one cookie in a `Cookie` header.
#[must_use]
pub fn cookie<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header.split(';').filter_map(|pair| pair.split_once('=')).find(|(key, _)| key.trim() == name).map(|(_, v)| v.trim())
}

/// Addresses that share their first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Prefix {
    address: IpAddr,
    bits: u32,
}

impl Prefix {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().ok()?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(width), |bits| bits.parse().ok())?;
        (bits <= width).then_some(Self { address, bits })
    }

    fn covers(&self, address: IpAddr) -> bool {
        // A listener for both families shows IPv4 clients as ::ffff:a.b.c.d.
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differs = own.to_bits() ^ other.to_bits();
                differs.checked_shr(32 - self.bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differs = own.to_bits() ^ other.to_bits();
                differs.checked_shr(128 - self.bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// Request types by the start of path and query: the longest match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindRules {
    /// Longest prefix first.
    starts: Vec<(String, Kind)>,
    otherwise: Kind,
}

impl KindRules {
    /// Types by path prefix; `otherwise` is the type of every other path.
    #[must_use]
    pub fn new(rules: impl IntoIterator<Item = (String, Kind)>, otherwise: Kind) -> Self {
        let mut starts: Vec<_> = rules.into_iter().collect();
        starts.sort_by_key(|(start, _)| std::cmp::Reverse(start.len()));
        Self { starts, otherwise }
    }

    /// The type of a request for `path`.
    #[must_use]
    pub fn kind(&self, path: &str) -> Kind {
        let found = self.starts.iter().find(|(start, _)| path.starts_with(start.as_str()));
        found.map_or(self.otherwise, |(_, kind)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Request {
        path: &'static str,
        headers: &'static [(&'static str, &'static str)],
        address: &'static str,
    }

    const PLAIN: Request = Request { path: "/", headers: &[], address: "127.0.0.1" };

    impl Facts for Request {
        fn path(&self) -> &str {
            self.path
        }

        fn header(&self, name: &str) -> Option<&str> {
            self.headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
        }

        fn address(&self) -> Option<IpAddr> {
            self.address.parse().ok()
        }
    }

    #[test]
    fn a_header_says_the_class_and_nonsense_means_the_lowest() {
        let by_header = ClassRule::Header("User-Class".to_owned()).read().unwrap();
        let said = |headers| by_header.class(&Request { headers, ..PLAIN }).0;
        assert_eq!(said(&[("user-class", "2")]), 2);
        assert_eq!(said(&[("user-class", " 1 ")]), 1);
        for nonsense in [&[] as &[_], &[("user-class", "gold")], &[("user-class", "-1")], &[("user-class", "")]] {
            assert_eq!(said(nonsense), 0);
        }
        assert_eq!(said(&[("user-class", "300")]), 255, "more than there are");
    }

    #[test]
    fn a_cookie_says_the_class() {
        let values = [("gold", 2), ("paid", 1)].map(|(value, class)| (value.to_owned(), class)).into();
        let named = NamedClasses { header: "X-Plan".to_owned(), values };
        assert_eq!((named.value(Class(2)), named.value(Class(3))), (Some("gold"), None));
        let by_name = ClassRule::Named(named).read().unwrap();
        let of = |headers| by_name.class(&Request { path: "/", headers, address: "127.0.0.1" });
        assert_eq!(
            [&[("x-plan", "gold")][..], &[("x-plan", " paid ")], &[("x-plan", "Gold")], &[("x-plan", "2")], &[]]
                .map(of),
            [2, 1, 0, 0, 0].map(Class)
        );
        let by_cookie = ClassRule::Cookie("class".to_owned()).read().unwrap();
        let said = |headers| by_cookie.class(&Request { headers, ..PLAIN }).0;
        assert_eq!(said(&[("cookie", "subclass=9; class=3; x")]), 3);
        assert_eq!(said(&[("cookie", "subclass=9")]), 0);
    }

    #[test]
    fn the_first_address_prefix_that_fits() {
        let rules =
            [("127.1.0.0/16", 2), ("127.0.0.0/8", 1), ("::1", 3)].map(|(prefix, class)| (prefix.to_owned(), class));
        let by_address = ClassRule::Address(rules.to_vec()).read().unwrap();
        let said = |address| by_address.class(&Request { address, ..PLAIN }).0;
        assert_eq!([said("127.1.9.9"), said("127.2.0.1"), said("10.0.0.1")], [2, 1, 0]);
        assert_eq!([said("::1"), said("::2"), said("::ffff:127.1.0.1")], [3, 0, 2]);
        let all = ClassRule::Address(vec![("0.0.0.0/0".to_owned(), 7)]).read().unwrap();
        assert_eq!(all.class(&Request { address: "203.0.113.9", ..PLAIN }).0, 7);
    }

    #[test]
    fn the_first_path_start_that_fits() {
        let rules = [("/list?folderid=1", 2), ("/list", 1)].map(|(start, class)| (start.to_owned(), class));
        let by_path = ClassRule::Path(rules.to_vec()).read().unwrap();
        let said = |path| by_path.class(&Request { path, ..PLAIN }).0;
        assert_eq!([said("/list?folderid=1"), said("/list?folderid=2"), said("/folderlist")], [2, 1, 0]);
    }

    #[test]
    fn everybody_is_equal_without_a_rule() {
        let none = ClassRule::None.read().unwrap();
        assert_eq!(none.class(&Request { headers: &[("user-class", "2")], ..PLAIN }).0, 0);
    }

    #[test]
    fn what_cannot_be_a_rule_is_refused() {
        let wrong = |rule: ClassRule| rule.read().unwrap_err()[0].to_string();
        assert_eq!(
            wrong(ClassRule::Header("User Class".to_owned())),
            "header: \"User Class\" cannot be a header's name"
        );
        assert_eq!(
            wrong(ClassRule::Address(vec![("127.0.0.0/33".to_owned(), 1)])),
            "address: \"127.0.0.0/33\" is not an address prefix: write 127.1.0.0/16 or ::1"
        );
    }

    #[test]
    fn the_longest_path_start_says_the_type() {
        let rules = [("/list", 2), ("/listing", 9), ("/show", 3)].map(|(start, kind)| (start.to_owned(), Kind(kind)));
        let kinds = KindRules::new(rules, Kind(0));
        assert_eq!(["/list?x", "/listing", "/show", "/"].map(|path| kinds.kind(path).0), [2, 9, 3, 0]);
    }
}

//! The client of a web server's request: the first fields of an access log line.

use std::net::IpAddr;

/// The client of a request, from the fields `host ident user`.
#[derive(Debug, PartialEq, Eq)]
pub struct LogClient<'a> {
    /// Its address.
    pub client: &'a str,
    /// Its name, or `-`.
    pub name: String,
}

impl<'a> LogClient<'a> {
    /// Parses `192.0.2.1 - joe`; with the virtual host before it (Apache's `vhost_combined`), or with the addresses
    /// that a proxy puts into `X-Forwarded-For` in place of the first: `203.0.113.5, 10.0.0.7 - joe`, of which the
    /// first is the client's. Clients may be names (`HostnameLookups On`), as hosts are.
    pub fn of(text: &'a str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        let mut words = if begins_with_host(&words) { &words[1..] } else { &words[..] }.iter().copied();
        let client = words.next()?;
        let mut last = client;
        while last.ends_with(',') {
            last = words.next()?;
        }
        let _ident = words.next()?;
        let name = words.collect::<Vec<_>>().join(" ");
        (!name.is_empty()).then(|| Self { client: address(client).unwrap_or_else(|| without_port(client)), name })
    }
}

/// True if the first of these words is the virtual host, and the second the client: `host client ident user`. A user's
/// name may have spaces, so the number of words alone does not decide.
fn begins_with_host(words: &[&str]) -> bool {
    let &[first, second, third, _, ..] = words else { return false };
    let is_client = |word: &str| address(word).is_some();
    match second {
        // The ident, which servers no longer request.
        "-" => false,
        _ if first.ends_with(',') => is_client(second) && !is_client(first),
        // Apache writes the port with the virtual host, and none with a client.
        _ if without_port(first) != first => true,
        _ if is_client(first) => false,
        _ => is_client(second) || third == "-" || second.contains('.'),
    }
}

/// `mail.example` of `mail.example:443`.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // An address of IPv6 has colons of its own.
        Some((name, port)) if (!name.contains(':') || name.ends_with(']')) && port.parse::<u16>().is_ok() => name,
        _ => host,
    }
}

/// The first address of a list, without port and quotes; `None`: it is not an address.
pub fn address(list: &str) -> Option<&str> {
    let word = list.split(',').next()?.trim().trim_matches('"');
    if word.parse::<IpAddr>().is_ok() {
        return Some(word);
    }
    let (host, port) = word.rsplit_once(':')?;
    let host = host.trim_matches(['[', ']']);
    (port.parse::<u16>().is_ok() && host.parse::<IpAddr>().is_ok()).then_some(host)
}

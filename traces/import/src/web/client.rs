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
    /// that a proxy puts into `X-Forwarded-For` in place of the first or before it: `"203.0.113.5, 10.0.0.7" - joe`,
    /// `"203.0.113.5, 10.0.0.7" 10.0.0.8 - joe`, of which the first is the client's. Clients may be names
    /// (`HostnameLookups On`), as hosts are. `None`: these are other fields.
    pub fn of(text: &'a str) -> Option<Self> {
        let fields = fields(text);
        let mut fields = if begins_with_host(&fields) { &fields[1..] } else { &fields[..] };
        let mut client = *fields.first()?;
        if let &[list, proxy, _, _, ..] = fields
            && let Some(direct) = address(proxy)
        {
            client = address(list).unwrap_or(direct);
            fields = &fields[1..];
        }
        let name = match fields.get(2..)? {
            [] => return None,
            [""] => "-".to_owned(),
            // A name does not begin so: there is a field too many, and taking it for the user would make all users one.
            ["-", _, ..] => return None,
            words => words.join(" "),
        };
        Some(Self { client: address(client).unwrap_or_else(|| without_port(client)), name })
    }
}

/// The fields of a text, which spaces part; those in quotes, and lists with a comma after each element but the last,
/// are one.
fn fields(text: &str) -> Vec<&str> {
    let mut fields = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (field, after) = match rest.strip_prefix('"').and_then(|inside| inside.split_once('"')) {
            Some(quoted) => quoted,
            None => {
                let mut end = 0;
                loop {
                    end += rest[end..].find(' ').unwrap_or(rest.len() - end);
                    let gap = rest[end..].len() - rest[end..].trim_start().len();
                    if !rest[..end].ends_with(',') || end + gap == rest.len() {
                        break;
                    }
                    end += gap;
                }
                rest.split_at(end)
            }
        };
        fields.push(field);
        rest = after.trim_start();
    }
    fields
}

/// True if the first of these fields is the virtual host, and the second the client: `host client ident user`. A user's
/// name may have spaces, so the number of fields alone does not decide.
fn begins_with_host(fields: &[&str]) -> bool {
    let &[first, second, third, _, ..] = fields else { return false };
    let is_client = |field: &str| address(field).is_some();
    match second {
        // The ident, which servers no longer request.
        "-" => false,
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

/// The first known address of a list, without port and quotes; `None`: it is not an address.
pub fn address(list: &str) -> Option<&str> {
    let mut elements = list.split(',').map(|element| element.trim().trim_matches('"'));
    let word = elements.find(|element| !matches!(*element, "unknown" | "-"))?;
    if word.parse::<IpAddr>().is_ok() {
        return Some(word);
    }
    let (host, port) = word.rsplit_once(':')?;
    let host = host.trim_matches(['[', ']']);
    (port.parse::<u16>().is_ok() && host.parse::<IpAddr>().is_ok()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_quoted_texts_are_one_field() {
        assert_eq!(fields("\"a, b\" 10.0.0.5 -  joe \"\""), ["a, b", "10.0.0.5", "-", "joe", ""]);
        assert_eq!(fields("a, b,c  - x, "), ["a, b,c", "-", "x,"]);
        assert_eq!(fields("\"open - -"), ["\"open", "-", "-"]);
    }

    #[test]
    fn the_client_stands_before_its_proxies() {
        let client = |text: &'static str| LogClient::of(text).map(|found| (found.client, found.name));
        let some = |client: &'static str, name: &str| Some((client, name.to_owned()));
        for (text, expected) in [
            ("\"198.51.100.7, 203.0.113.1\" 10.0.0.5 - -", some("198.51.100.7", "-")),
            ("198.51.100.7, 203.0.113.1 10.0.0.5 - joe", some("198.51.100.7", "joe")),
            ("198.51.100.7 10.0.0.5 - -", some("198.51.100.7", "-")),
            ("\"-\" 10.0.0.5 - -", some("10.0.0.5", "-")),
            ("- 10.0.0.5 - -", some("10.0.0.5", "-")),
            ("\"unknown, 198.51.100.7\" 10.0.0.5 - -", some("198.51.100.7", "-")),
            ("shop.example:443 \"198.51.100.7, 203.0.113.1\" 10.0.0.5 - -", some("198.51.100.7", "-")),
            ("192.0.2.1 - \"\"", some("192.0.2.1", "-")),
            ("192.0.2.1 - \"John Smith\"", some("192.0.2.1", "John Smith")),
            ("192.0.2.1 - John Smith", some("192.0.2.1", "John Smith")),
            // A field that is none of these.
            ("192.0.2.1 tls - - -", None),
            ("192.0.2.1 -", None),
            ("", None),
        ] {
            assert_eq!(client(text), expected, "{text}");
        }
    }
}

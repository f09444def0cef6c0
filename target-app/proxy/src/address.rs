//! The address of a backend, from its URL.

use http::{HeaderValue, Uri, uri::Authority};

/// The protocol spoken to a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2 without TLS, known beforehand.
    Http2,
    /// TLS, and in it what both sides agree on.
    Tls,
}

/// The address of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// As written.
    pub(super) url: String,
    pub(super) protocol: Protocol,
    /// The name or address, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// `host:port`, as a request names it.
    pub(super) authority: Authority,
    /// The same as the value of a `Host` header.
    pub(super) host_header: HeaderValue,
}

impl Address {
    /// Reads a URL.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn of(url: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("{url:?}: {what}; http://127.0.0.1:8080 is the URL of a backend");
        let uri: Uri = url.parse().map_err(|_| wrong("not a URL"))?;
        let (protocol, port) = match uri.scheme_str() {
            Some("http") => (Protocol::Http1, 80),
            Some("h2c") => (Protocol::Http2, 80),
            Some("https") => (Protocol::Tls, 443),
            None => {
                return Err(format!(
                    "{url:?}: it has no scheme; write http://{url}, h2c (HTTP/2 without TLS) or https"
                ));
            }
            _ => return Err(wrong("its scheme must be http, h2c (HTTP/2 without TLS) or https")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("it names no host"))?.clone();
        if authority.as_str().contains('@') {
            return Err(wrong("it has a user name"));
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(wrong("it has a path, and requests are passed on with their own"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = uri.port_u16().unwrap_or(port);
        let host_header = HeaderValue::from_str(authority.as_str()).map_err(|_| wrong("its host is no host"))?;
        Ok(Self { url: url.to_owned(), protocol, host, port, authority, host_header })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_host_port_and_protocol() {
        for (url, protocol, host, port) in [
            ("http://127.0.0.1:8080", Protocol::Http1, "127.0.0.1", 8080),
            ("http://localhost/", Protocol::Http1, "localhost", 80),
            ("h2c://[::1]:9000", Protocol::Http2, "::1", 9000),
            ("https://a.example", Protocol::Tls, "a.example", 443),
        ] {
            let address = Address::of(url).unwrap();
            assert_eq!((address.protocol, address.host.as_str(), address.port), (protocol, host, port));
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_way_out() {
        let message = Address::of("127.0.0.1:8080").unwrap_err();
        assert!(message.contains("write http://127.0.0.1:8080, h2c"), "{message}");
        for url in ["", "ftp://a", "http://a/path", "http://u@a", "http://a?b"] {
            let message = Address::of(url).unwrap_err();
            assert!(message.contains("http://127.0.0.1:8080 is the URL of a backend"), "{message}");
        }
    }
}

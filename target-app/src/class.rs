//! What a request shows of itself to the rule that finds its class.

use std::net::{IpAddr, SocketAddr};

use controllers::classify::Facts;
use http::request::Parts;

/// A request's head, and where it came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) head: &'a Parts,
    pub(crate) peer: SocketAddr,
}

impl Facts for Shown<'_> {
    fn path(&self) -> &str {
        self.head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }

    fn address(&self) -> Option<IpAddr> {
        Some(self.peer.ip().to_canonical())
    }
}

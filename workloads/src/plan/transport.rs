use std::fmt;

use serde::{Deserialize, Serialize};

/// The version of HTTP that users speak.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HttpVersion {
    /// By ALPN with TLS; HTTP/1.1 without.
    #[default]
    Auto,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, without TLS by prior knowledge (RFC 9113, section 3.3). Only the async host supports it.
    Http2,
}

/// What a client with TLS trusts, and how it shows who it is.
#[derive(Clone, Default)]
pub struct TlsOptions {
    /// Accept any certificate (such as the target's own, unsigned one).
    pub insecure: bool,
    /// Certificates of authorities in PEM, in place of the system's.
    pub authorities: Option<Vec<u8>>,
    /// The client's certificate and private key in PEM, one after the other.
    pub identity: Option<Vec<u8>>,
}

/// A private key is in no message.
impl fmt::Debug for TlsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsOptions").field("insecure", &self.insecure).finish_non_exhaustive()
    }
}

//! Where a request went.

use url::Url;

/// The host of a URL of HTTP, with its port unless that is the scheme's own; and its path and query. `None`: another
/// scheme.
#[must_use]
pub fn place_of(url: &Url) -> Option<(String, String)> {
    let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https"))?;
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    Some((host, path))
}

//! Where load may go.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use reqwest::Url;
use workloads::plan::Target;

use crate::exit::Failure;

/// Where to. A generator is a weapon: hosts beyond this machine have to be named a second time.
pub(super) fn destination(url: &str, allowed: &[String]) -> Result<(Url, Target), Failure> {
    let bad = |why: &str| Failure::usage(format!("{url}: {why}; write http://127.0.0.1:8080/path"));
    let parsed = Url::parse(url).map_err(|error| bad(&error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(bad("only http and https can be loaded"));
    }
    let host = parsed.host_str().ok_or_else(|| bad("there is no host"))?.to_owned();
    let port = parsed.port_or_known_default().ok_or_else(|| bad("there is no port"))?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(bad("a name and password in the URL end up in shell histories: send a header (-H)"));
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    // Decided by name, before anything is looked up: nothing leaves this machine for a host that was not allowed.
    let here = bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let named = allowed.iter().any(|name| name == &host || name == bare);
    let beyond = || {
        Failure::usage(format!(
            "{host} is beyond this machine: load only what is yours and prepared for it, then say --allow-host {bare}"
        ))
    };
    if !here && !named {
        return Err(beyond());
    }
    let addresses: Vec<SocketAddr> =
        (bare, port).to_socket_addrs().map_err(|error| Failure::because(format!("{host}: {error}")))?.collect();
    let address = *addresses.first().ok_or_else(|| Failure::because(format!("{host} has no address")))?;
    if !address.ip().is_loopback() && !named {
        return Err(beyond()); // a hosts file may say anything of localhost
    }
    let authority = match parsed.port() {
        Some(port) => format!("{host}:{port}"),
        None => host,
    };
    let base = format!("{}://{authority}", parsed.scheme());
    Ok((parsed, Target { url: base, address, host: authority, entries: Vec::new() }))
}

//! Trial connections to backends, before anybody asks for one.

use std::{
    io::ErrorKind,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use futures_util::future::join_all;
use serde::Serialize;
use spec::proxy::ProxySpec;
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

use super::address::Address;

/// The longest wait for a backend.
const PATIENCE: Duration = Duration::from_secs(1);

/// A backend that takes no connection.
#[derive(Debug, Serialize)]
pub(super) struct Unreachable {
    backend: String,
    why: String,
}

impl Unreachable {
    /// The message to a person.
    pub(super) fn warning(&self) -> String {
        format!("{}: {}; requests to it get 502 until then", self.backend, self.why)
    }
}

/// Backends among these that take no connection now.
pub(super) async fn unreachable(spec: &ProxySpec) -> Vec<Unreachable> {
    let patience = spec.timeouts.connect.min(PATIENCE);
    let tried = spec.to.iter().map(|url| async move {
        let why = trouble(&Address::of(url).ok()?, patience).await?;
        Some(Unreachable { backend: url.clone(), why })
    });
    join_all(tried).await.into_iter().flatten().collect()
}

async fn trouble(to: &Address, patience: Duration) -> Option<String> {
    let found = match to.host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, to.port)],
        Err(_) => match timeout(patience, lookup_host((to.host.as_str(), to.port))).await {
            Ok(Ok(found)) => found.collect(),
            Ok(Err(_)) | Err(_) => return Some(format!("its name {} does not resolve", to.host)),
        },
    };
    match timeout(patience, TcpStream::connect(&found[..])).await {
        Ok(Ok(_)) => None,
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => {
            Some("it refuses connections: start it, or name its port".to_owned())
        }
        Ok(Err(error)) => Some(format!("no connection: {}", error.kind())),
        Err(_) => Some(format!("no connection within {} ms", patience.as_millis())),
    }
}

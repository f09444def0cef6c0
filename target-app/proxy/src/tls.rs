//! TLS on both sides: the certificate of the listener, and whom backends must show one of.

use std::{fmt, path::Path, sync::Arc};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use senders::tls::client_config;
use spec::proxy::TlsSpec;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use workloads::plan::TlsOptions;

use super::error::ProxyError;

/// The listener's side of TLS.
#[derive(Clone)]
pub(super) struct Acceptor(pub(super) TlsAcceptor);

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Acceptor(…)")
    }
}

/// The listener's side; `http2`: offer it.
///
/// # Errors
/// Files that cannot be read, or that do not belong together.
pub(super) fn acceptor(spec: &TlsSpec, http2: bool) -> Result<Acceptor, ProxyError> {
    let chain = certificates("tls.certificate", &spec.certificate);
    let key = PrivateKeyDer::from_pem_file(&spec.key)
        .map_err(|error| ProxyError::setting("tls.key", format!("{}: {error}", spec.key.display())));
    let (chain, key) = match (chain, key) {
        (Ok(chain), Ok(key)) => (chain, key),
        (chain, key) => {
            let problems = [chain.err(), key.err()].into_iter().flatten();
            return Err(ProxyError::Settings(problems.map(|problem| problem.to_string()).collect()));
        }
    };
    let built = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    let mut config = built.map_err(|error| ProxyError::setting("tls", error.to_string()))?;
    config.alpn_protocols = protocols(http2);
    Ok(Acceptor(TlsAcceptor::from(Arc::new(config))))
}

/// The side towards backends; `authorities`: a file with the certificates that theirs may be signed by, instead of the
/// system's; `insecure`: any will do.
///
/// # Errors
/// A file that cannot be read, or a system without certificates.
pub(super) fn connector(authorities: Option<&Path>, insecure: bool) -> Result<TlsConnector, ProxyError> {
    let named = |path: &Path| {
        let wrong = |error| ProxyError::setting("backend_ca", format!("{}: {error}", path.display()));
        std::fs::read(path).map_err(wrong)
    };
    let options = TlsOptions { insecure, authorities: authorities.map(named).transpose()?, identity: None };
    let config = client_config(&options, &["h2", "http/1.1"]);
    let config = config.map_err(|error| {
        let place = authorities.map_or_else(String::new, |path| format!("{}: ", path.display()));
        ProxyError::setting("backend_ca", format!("{place}{error}"))
    })?;
    Ok(TlsConnector::from(Arc::new(config)))
}

fn protocols(http2: bool) -> Vec<Vec<u8>> {
    let all: [&[u8]; 2] = [b"h2", b"http/1.1"];
    all[usize::from(!http2)..].iter().map(|name| name.to_vec()).collect()
}

fn certificates(key: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, ProxyError> {
    let wrong = |error: &dyn std::fmt::Display| ProxyError::setting(key, format!("{}: {error}", path.display()));
    let all = CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))?;
    let all: Vec<_> = all.collect::<Result<_, _>>().map_err(|error| wrong(&error))?;
    if all.is_empty() { Err(wrong(&"no certificate in it")) } else { Ok(all) }
}

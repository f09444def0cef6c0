//! What clients with TLS trust, and how they show who they are: users, and the proxy towards services.

use std::{io, sync::Arc};

use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _},
    server::ParsedCertificate,
};
use workloads::plan::TlsOptions;

use crate::{addresses, options::RunError};

/// The settings of connections that offer these protocols.
///
/// # Errors
/// Certificates that cannot be used, or a system without any.
pub fn client_config(tls: &TlsOptions, protocols: &[&str]) -> Result<ClientConfig, RunError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| RunError::Client(error.to_string()))?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(Verifier::new(tls, provider)?));
    let mut config = match tls.identity.as_deref() {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let bad = bad("the client's certificate with its key");
            let chain = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
            let chain = chain.map_err(|error| bad(&error))?;
            let key = PrivateKeyDer::from_pem_slice(pem).map_err(|error| bad(&error))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| bad(&error))?
        }
    };
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(config)
}

/// An error of a connection, with what to do about its certificates.
#[must_use]
pub fn said(error: &io::Error) -> String {
    let Some(problem) = error.get_ref().and_then(|cause| cause.downcast_ref::<Error>()) else {
        return addresses::said(error);
    };
    let said = match problem {
        Error::InvalidCertificate(problem) => match problem {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the service's certificate has expired"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the service's certificate is not valid yet: is the clock right?"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the service's certificate has another name (subjectAltName): use that in the URL, or accept any (--insecure)"
            }
            CertificateError::BadEncoding => "the service's certificate cannot be read",
            CertificateError::Revoked => "the service's certificate was revoked",
            _ => {
                "the service's certificate is of no known authority: name that, or a self-signed one itself (--cacert FILE), or accept \
                 any (--insecure)"
            }
        },
        Error::NoCertificatesPresented => "the service has no certificate",
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the service wants a certificate of the client: name one (--cert FILE)"
        }
        Error::AlertReceived(
            AlertDescription::UnknownCA | AlertDescription::BadCertificate | AlertDescription::CertificateUnknown,
        ) => "the service does not accept the client's certificate",
        Error::AlertReceived(AlertDescription::NoApplicationProtocol) | Error::NoApplicationProtocol => {
            "the service does not speak this version of HTTP with TLS"
        }
        Error::AlertReceived(_) => "the service has ended the TLS handshake",
        Error::InvalidMessage(_) => "the service does not speak TLS: is it http://?",
        Error::PeerIncompatible(_) => "the service and this client have no version of TLS in common",
        _ => "the TLS connection failed",
    };
    said.to_owned()
}

/// The certificates in a file of PEM, and what is trusted by them.
///
/// # Errors
/// There is none that can be read: the reason, in words.
pub fn authorities(pem: &[u8]) -> Result<(Vec<CertificateDer<'static>>, RootCertStore), String> {
    let found = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let named = found.map_err(|_| "this is no PEM: a line of it is broken".to_owned())?;
    if named.is_empty() {
        return Err("there is no certificate in it: it is to be in PEM".to_owned());
    }
    let mut roots = RootCertStore::empty();
    if roots.add_parsable_certificates(named.iter().cloned()).0 == 0 {
        return Err("no certificate in it can be read".to_owned());
    }
    Ok((named, roots))
}

fn bad(what: &'static str) -> impl Fn(&dyn std::fmt::Display) -> RunError {
    move |cause| RunError::Certificate { what, cause: cause.to_string() }
}

/// Decides which certificates of services are accepted.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// `None`: any is.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    /// Those that were named in place of the system's.
    named: Vec<CertificateDer<'static>>,
}

impl Verifier {
    fn new(tls: &TlsOptions, provider: Arc<CryptoProvider>) -> Result<Self, RunError> {
        let bad = bad("the authorities' certificate");
        let of_file = tls.authorities.as_deref().map(authorities).transpose().map_err(|error| bad(&error))?;
        let (named, mut roots) = of_file.unwrap_or_else(|| (Vec::new(), RootCertStore::empty()));
        if tls.insecure {
            return Ok(Self { provider, authorities: None, named });
        }
        if named.is_empty() {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        if roots.is_empty() {
            return Err(bad(&"this system has none: name a file with it, or accept any certificate"));
        }
        let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        Ok(Self { authorities: Some(built.map_err(|error| bad(&error))?), provider, named })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        match authorities.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            // A service that shows the very certificate that was named is trusted though it is an authority's: `openssl req
            // -x509` makes such ones. Its dates were checked before.
            Err(Error::InvalidCertificate(CertificateError::Other(_))) if self.named.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            decided => decided,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

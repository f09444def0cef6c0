//! TLS and the versions of HTTP: certificates that are accepted, trusted and shown.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
};

use carriers::{Carrier, file};
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::WebPkiClientVerifier,
};

use super::*;
use crate::served::at_each;

/// How connections were set up: the protocol, and whether the client has shown a certificate.
type Seen = Arc<Mutex<Vec<(String, bool)>>>;

/// A service with TLS, for the rest of the program. With `strict` it serves those alone who show a certificate.
fn secure(strict: bool, protocols: &[&str]) -> (String, Seen) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let authority = CertificateDer::from_pem_slice(include_bytes!("tls/authority.pem")).expect("a certificate");
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/server.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/server-key.pem")).expect("a key");
    let mut roots = RootCertStore::empty();
    roots.add(authority).expect("an authority");
    let builder = ServerConfig::builder();
    let builder = if strict {
        let verifier = WebPkiClientVerifier::builder(Arc::new(roots)).build().expect("a verifier");
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    let mut config = builder.with_single_cert(vec![certificate], key).expect("a certificate and its key");
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let (config, seen) = (Arc::new(config), Seen::default());
    let theirs = Arc::clone(&seen);
    let address = at_each(move |stream| answer(Arc::clone(&config), stream, &theirs));
    (format!("https://{address}/"), seen)
}

fn answer(config: Arc<ServerConfig>, stream: TcpStream, seen: &Seen) {
    let mut tls = StreamOwned::new(ServerConnection::new(config).expect("a connection"), stream);
    let mut bytes = [0; 4096];
    let mut first = true;
    while let Ok(1..) = tls.read(&mut bytes) {
        if std::mem::take(&mut first) {
            let protocol = tls.conn.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
            let shown = tls.conn.peer_certificates().is_some();
            seen.lock().unwrap_or_else(PoisonError::into_inner).push((protocol.unwrap_or_default(), shown));
        }
        if tls.write_all(service::OK.as_bytes()).is_err() {
            return;
        }
    }
}

fn loaded(url: &str, args: &[&str]) -> Value {
    let ended = Running::load(&[&[url, "-c", "1", "-n", "3"], args].concat()).ends_within(Duration::from_secs(20));
    assert_ne!(ended.code(), 2, "{}", String::from_utf8_lossy(&ended.output.stderr));
    ended.json()
}

#[test]
fn an_unknown_authority_is_refused_accepted_or_trusted() {
    let (url, _) = secure(false, &["http/1.1"]);
    let refused = loaded(&url, &[]);
    assert_eq!(count(&refused, "served"), 0, "{refused:#}");
    assert_advice(&refused);
    assert_eq!(count(&loaded(&url, &["-k"]), "served"), 3);
    let trusted = loaded(&url, &["--cacert", &file("authority.pem")]);
    assert_eq!(count(&trusted, "served"), 3);
    // The time of a handshake is measured as that of a connection is.
    let connected = &trusted["connect_time_ms"];
    assert!(connected["count"] == 1 && connected["max"].as_f64() > Some(0.05), "{connected}");
    assert_eq!(count(&loaded(&url, &["-k", "-R", "20", "--http1"]), "served"), 3);
}

#[test]
fn a_client_shows_its_certificate() {
    let (url, seen) = secure(true, &["http/1.1"]);
    let trust = ["--cacert", &file("authority.pem")];
    assert_eq!(count(&loaded(&url, &trust), "served"), 0);
    let (cert, key) = (file("client.pem"), file("client-key.pem"));
    assert_eq!(count(&loaded(&url, &[&trust[..], &["--cert", &cert, "--key", &key]].concat()), "served"), 3);
    let seen = seen.lock().expect("no panic").clone();
    assert!(seen.iter().any(|(_, shown)| *shown), "{seen:?}");
}

#[test]
fn the_version_of_http_is_the_services_or_the_one_that_was_asked_for() {
    let (url, seen) = secure(false, &["h2", "http/1.1"]);
    let protocol = |args: &[&str]| {
        seen.lock().expect("no panic").clear();
        loaded(&url, &[&["-k", "--timeout", "2s"], args].concat());
        seen.lock().expect("no panic").first().map(|(protocol, _)| protocol.clone())
    };
    assert_eq!(protocol(&[]).as_deref(), Some("h2"));
    assert_eq!(protocol(&["--http1"]).as_deref(), Some("http/1.1"));
    assert_eq!(protocol(&["--http2"]).as_deref(), Some("h2"));
    // Without TLS the client begins with the preface of HTTP/2.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address: SocketAddr = listener.local_addr().expect("an address");
    let reads = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut preface = [0; 14];
        stream.read_exact(&mut preface).expect("a preface");
        preface
    });
    let running = Running::load(&[&format!("http://{address}/"), "--http2", "-n", "1", "-c", "1", "--timeout", "1s"]);
    assert_eq!(&reads.join().expect("no panic"), b"PRI * HTTP/2.0");
    running.ends_within(SOON);
}

/// The errors say what to do, and nothing of how they were found.
fn assert_advice(found: &Value) {
    let said = found["errors"].to_string();
    assert!(said.contains("--cacert FILE") && said.contains("--insecure"), "{said}");
    for word in ["CaUsedAsEndEntity", "UnknownIssuer", "invalid peer", "Other", "os error"] {
        assert!(!said.contains(word), "{word}: {said}");
    }
}

#[test]
fn a_certificate_that_signs_itself_is_trusted_if_it_is_named() {
    for carrier in [Carrier::Tls1, Carrier::Tls2] {
        for certificate in ["self-ca", "self-leaf"] {
            let (address, _) = carrier.serves(certificate);
            let url = format!("https://{address}/");
            let named = file(&format!("{certificate}.pem"));
            let trusted = loaded(&url, &[carrier.version(), "--cacert", &named]);
            assert_eq!(count(&trusted, "served"), 3, "{carrier:?} {certificate}: {trusted:#}");
            let others: [&[&str]; 2] = [&[], &["--cacert", &file("authority.pem")]];
            for others in others {
                let refused = loaded(&url, &[&[carrier.version()], others].concat());
                assert_eq!(count(&refused, "served"), 0, "{carrier:?} {certificate}: {refused:#}");
                assert_advice(&refused);
            }
        }
    }
}

#[test]
fn a_certificate_is_trusted_for_its_own_names_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    for certificate in ["self-ca", "self-leaf", "server"] {
        let socket = folder.path().join(certificate);
        Carrier::Tls1.serves_at(&socket, certificate);
        let authority = if certificate == "server" { "authority" } else { certificate };
        let trust = file(&format!("{authority}.pem"));
        let through = ["--unix-socket", socket.to_str().expect("a path"), "--cacert", &trust, "--http1"];
        assert_eq!(count(&loaded("https://localhost/", &through), "served"), 3);
        let other = loaded("https://other.example/", &through);
        assert_eq!(count(&other, "served"), 0, "{other:#}");
        assert!(other["errors"].to_string().contains("has another name"), "{certificate}: {other:#}");
    }
}

#[test]
fn what_is_wrong_with_tls_is_told_in_words_of_its_own() {
    let (url, _) = secure(true, &["http/1.1"]);
    let unknown = loaded(&url, &["-k", "--http1"]);
    assert!(unknown["errors"].to_string().contains("--cert FILE"), "{unknown:#}");
    let plain = service::Service::start(service::Behaves::Says("220 smtp.example ESMTP\r\n"));
    let spoken = loaded(&plain.url().replace("http://", "https://"), &["--timeout", "2s"]);
    assert_eq!(count(&spoken, "served"), 0, "{spoken:#}");
    for found in [unknown, spoken] {
        let said = found["errors"].to_string();
        assert!(!["alert", "Invalid", "os error", "peer"].iter().any(|word| said.contains(word)), "{said}");
    }
}

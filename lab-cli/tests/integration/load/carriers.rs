//! Services by what carries HTTP to them: TLS, HTTP/2, a Unix socket.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response, body::Incoming, server::conn, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    runtime::Runtime,
};
use tokio_rustls::TlsAcceptor;

/// What carries requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// HTTP/1.1 over TLS.
    Tls1,
    /// HTTP/2 over TLS.
    Tls2,
    /// HTTP/2 by prior knowledge.
    Plain2,
}

/// The addresses that connections came from.
pub type Peers = Arc<Mutex<BTreeSet<IpAddr>>>;

/// What every request is answered.
pub const HELLO: &str = "hello";

impl Carrier {
    pub const ALL: [Self; 3] = [Self::Tls1, Self::Tls2, Self::Plain2];

    pub fn scheme(self) -> &'static str {
        if self == Self::Plain2 { "http" } else { "https" }
    }

    /// The option that asks for its version.
    pub fn version(self) -> &'static str {
        if self == Self::Tls1 { "--http1" } else { "--http2" }
    }

    /// Answers on a free port of this machine for the rest of the program, with this certificate.
    pub fn serves(self, certificate: &str) -> (SocketAddr, Peers) {
        let (tell, told) = std::sync::mpsc::channel();
        let (accepts, peers) = (self.accepts(certificate), Peers::default());
        let theirs = Arc::clone(&peers);
        thread::spawn(move || {
            runtime().block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                tell.send(listener.local_addr().expect("an address")).expect("the test waits");
                while let Ok((stream, peer)) = listener.accept().await {
                    theirs.lock().unwrap_or_else(PoisonError::into_inner).insert(peer.ip());
                    tokio::spawn(answers(stream, accepts.clone(), self));
                }
            });
        });
        (told.recv().expect("the service started"), peers)
    }

    /// The same, on a Unix socket.
    pub fn serves_at(self, socket: &Path, certificate: &str) {
        let (tell, told) = std::sync::mpsc::channel();
        let (accepts, socket) = (self.accepts(certificate), socket.to_owned());
        thread::spawn(move || {
            runtime().block_on(async move {
                let listener = UnixListener::bind(socket).expect("a socket");
                tell.send(()).expect("the test waits");
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(answers(stream, accepts.clone(), self));
                }
            });
        });
        told.recv().expect("the service started");
    }

    fn accepts(self, certificate: &str) -> Option<TlsAcceptor> {
        if self == Self::Plain2 {
            return None;
        }
        let read = CertificateDer::from_pem_file(file(&format!("{certificate}.pem"))).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(file(&format!("{certificate}-key.pem"))).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![read], key));
        let mut config = config.expect("they belong together");
        config.alpn_protocols = vec![if self == Self::Tls1 { b"http/1.1".to_vec() } else { b"h2".to_vec() }];
        Some(TlsAcceptor::from(Arc::new(config)))
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// A file of the tests' certificates.
pub fn file(name: &str) -> String {
    format!("{}/tests/integration/load/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

async fn answers<S>(stream: S, accepts: Option<TlsAcceptor>, carrier: Carrier)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    match accepts {
        None => speaks(stream, carrier).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                speaks(stream, carrier).await;
            }
        }
    }
}

async fn speaks<S>(stream: S, carrier: Carrier)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer = service_fn(|_: Request<Incoming>| async {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(HELLO.as_bytes()))))
    });
    let stream = TokioIo::new(stream);
    if carrier == Carrier::Tls1 {
        let _ = conn::http1::Builder::new().serve_connection(stream, answer).await;
    } else {
        let _ = conn::http2::Builder::new(TokioExecutor::new()).serve_connection(stream, answer).await;
    }
}

//! Services that speak TLS, or HTTP/2 without it.

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
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
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::{Value, fs, lab, ran, thread};

/// Requests that came in HTTP/1.1, and in HTTP/2.
type Seen = Arc<[AtomicU64; 2]>;

fn file(name: &str) -> PathBuf {
    format!("{}/tests/integration/load/tls/{name}", env!("CARGO_MANIFEST_DIR")).into()
}

/// A service for the rest of the program, with TLS and HTTP/1.1, or without TLS and with HTTP/2 by prior knowledge.
fn service(secure: bool) -> (SocketAddr, Seen) {
    let (tell, told) = std::sync::mpsc::channel();
    let seen = Seen::default();
    let theirs = Arc::clone(&seen);
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            tell.send(listener.local_addr().expect("an address")).expect("the test waits");
            while let Ok((stream, _)) = listener.accept().await {
                let seen = Arc::clone(&theirs);
                let answer = service_fn(move |request: Request<Incoming>| {
                    seen[usize::from(request.version() == hyper::Version::HTTP_2)].fetch_add(1, SeqCst);
                    async { Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::from_static(b"hello")))) }
                });
                tokio::spawn(async move {
                    if !secure {
                        let http = conn::http2::Builder::new(TokioExecutor::new());
                        return drop(http.serve_connection(TokioIo::new(stream), answer).await);
                    }
                    if let Ok(stream) = acceptor().accept(stream).await {
                        let _ = conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
                    }
                });
            }
        });
    });
    (told.recv().expect("the service started"), seen)
}

fn acceptor() -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_file(file("server.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(file("server-key.pem")).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key));
    TlsAcceptor::from(Arc::new(config.expect("they belong together")))
}

#[test]
fn a_service_with_tls_or_http2_is_looked_at_run_and_measured() {
    thread::scope(|scope| {
        for secure in [true, false] {
            scope.spawn(move || is_looked_at_run_and_measured(secure));
        }
    });
}

fn is_looked_at_run_and_measured(secure: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, seen) = service(secure);
    let scheme = if secure { "https" } else { "http" };
    let url = format!("{scheme}://{address}/");
    let ca = file("authority.pem").display().to_string();
    let by = if secure { vec!["--cacert", &ca] } else { vec!["--http2"] };
    // Looked at.
    let (output, _, err) = ran(lab(folder.path()).args(["init", &url, "-o", "mine.yaml"]).args(&by));
    assert!(output.status.success(), "{err}");
    let text = fs::read_to_string(folder.path().join("mine.yaml")).expect("written");
    assert!(text.contains(if secure { "cacert: " } else { "http2: true" }), "{text}");
    // Run, behind the proxy and without it.
    let target = text.lines().find(|line| line.starts_with("target: ")).expect("a target");
    let short = format!(
        "name: mine\n{target}\nobjective: {{percentile: 90, response_time: 1s}}\nusers: {{model: url, path: /, timeout: 2s, \
         phases: [{{name: calm, requests: 30/s, for: 2s}}]}}\narms: [none, {{none: {{as: direct, direct: true}}}}]\n"
    );
    fs::write(folder.path().join("short.yaml"), short).expect("written");
    let (output, out, err) =
        ran(lab(folder.path()).args(["run", "short.yaml", "--no-tui", "--out", "run", "--output", "json"]));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{err}");
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    for arm in summary["arms"].as_array().expect("arms") {
        let found = &arm["phases"][0];
        let served = found["served"].as_u64().unwrap_or(0) + found["served_late"].as_u64().unwrap_or(0);
        assert!(served >= 50, "{secure}: {arm}");
    }
    let [old, new] = [&seen[0], &seen[1]].map(|count| count.load(SeqCst));
    assert!(if secure { old > 120 && new == 0 } else { new > 120 && old == 0 }, "{secure}: {old} {new}");
    let (output, out, err) = ran(lab(folder.path()).args(["recheck", "run"]));
    assert!(output.status.success(), "{out}{err}");
    let manifest = fs::read_to_string(folder.path().join("run/manifest.json")).expect("written");
    assert!(!manifest.contains("authority.pem"), "{manifest}");
    // Measured, by its URL and by the file.
    for name in [&*url, "short.yaml"] {
        let by = if name == url { &by[..] } else { &[] };
        let plant = folder.path().join(format!("{}.plant.yaml", name.len()));
        let mut measure = lab(folder.path());
        measure.args(["calibrate", name, "--for", "1s", "--repeat", "1", "-o"]).arg(&plant).args(by);
        let (output, _, err) = ran(&mut measure);
        // On a crowded machine rates contradict each other (3), and then no plant is written.
        let is_good = matches!((output.status.code(), plant.exists()), (Some(0), true) | (Some(3), _));
        assert!(is_good && err.contains("with 64 at once"), "{secure}: {name}: {err}");
    }
}

#[test]
fn a_certificate_of_nobody_is_refused_with_its_reason_or_accepted_if_any_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, _) = service(true);
    let url = format!("https://{address}/");
    let (output, _, err) = ran(lab(folder.path()).args(["init", &url, "-o", "mine.yaml"]));
    assert!(output.status.code() == Some(1) && err.contains("certificate"), "{err}");
    let (output, out, err) = ran(lab(folder.path()).args(["init", &url, "-k", "-o", "-"]));
    assert!(output.status.success() && out.contains("insecure: true"), "{out}{err}");
}

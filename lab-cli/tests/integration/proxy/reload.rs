//! SIGHUP: the file of a proxy that runs is read again.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use rustls::{ClientConnection, Stream, pki_types::ServerName};
use senders::tls::client_config;
use serde_json::json;
use workloads::plan::TlsOptions;

use crate::proxy::{backend::Backend, proxied::Proxied};

/// A file of settings, with more of them.
fn write(file: &Path, backend: &Backend, more: &str) {
    let text = format!("listen: 127.0.0.1:0\nto: ['{}']\nlog: changes\n{more}", backend.url());
    fs::write(file, text).expect("written");
}

/// The body of the answer beside a request that is inside.
fn refused(backend: &Backend, proxy: &Proxied) -> String {
    let inside = proxy.inside(backend, "/slow?700");
    let body = proxy.get("/").body;
    assert_eq!(inside.join().expect("an answer").status, 200);
    body
}

#[test]
fn the_file_and_what_it_names_are_read_again() {
    let backend = Backend::start();
    let folder = tempfile::tempdir().expect("a folder");
    let (file, page) = (folder.path().join("proxy.yaml"), folder.path().join("busy.html"));
    fs::write(&page, "one").expect("written");
    let refusal = format!("refusal: {{page: '{}'}}\n", page.display());
    write(&file, &backend, &format!("{refusal}policy: {{concurrency: {{max: 1}}}}\n"));
    let proxy = Proxied::of_file(&file, &["--objective", "3s"]);
    assert_eq!(refused(&backend, &proxy), "one");
    fs::write(&page, "two").expect("written");
    proxy.signal("HUP");
    proxy.logged("config");
    assert_eq!(refused(&backend, &proxy), "two");
    write(&file, &backend, &format!("{refusal}policy: {{gradient2: {{limit_min: 9}}}}\ndry_run: true\n"));
    proxy.signal("HUP");
    proxy.logged("config");
    let after = proxy.config();
    assert_eq!((&after["dry_run"], &proxy.gate()["policy_name"]), (&json!(true), &json!("gradient2")));
    assert_eq!(after["objective"]["response_time"], "3s", "flags count as at the start");
    assert_eq!(proxy.get("/").status, 200);
}

#[test]
fn a_file_with_a_problem_changes_nothing() {
    let backend = Backend::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("proxy.yaml");
    write(&file, &backend, "policy: vegas\n");
    let mut proxy = Proxied::of_file(&file, &[]);
    let before = proxy.config();
    for (more, wanted) in [
        ("dry_run: true\ntimeouts: {hed: 1s}\nlimits: {held: no}\n", &["did you mean head?", "limits.held: "][..]),
        (
            "dry_run: true\nrefusal: {page: /none}\nseed: 9\n",
            &["refusal.page: /none", "seed: is fixed while the proxy runs"],
        ),
        ("dry_run: true\npolicy: vegs\n", &["did you mean vegas?"]),
        (": : :\n", &["proxy.yaml: "]),
    ] {
        write(&file, &backend, more);
        proxy.signal("HUP");
        let line = proxy.logged("config_refused");
        let problems = line["problems"].to_string();
        assert!(wanted.iter().all(|wanted| problems.contains(wanted)), "{wanted:?} in {problems}");
        assert_eq!((proxy.config(), proxy.get("/").status), (before.clone(), 200));
    }
    fs::remove_file(&file).expect("removed");
    proxy.signal("HUP");
    assert!(proxy.logged("config_refused")["problems"].to_string().contains("proxy.yaml"));
    proxy.signal("TERM");
    assert!(proxy.ended().success());
}

#[test]
fn without_a_file_it_ends() {
    let (_backend, mut proxy) = Proxied::alone(json!({"log": "off"}));
    proxy.signal("HUP");
    // Started by nohup, the tests and what they start have no hang-up.
    let status = fs::read_to_string("/proc/self/status").expect("its status");
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    if ignored.expect("a mask") & 1 == 1 {
        assert_eq!(proxy.get("/").status, 200, "it goes on");
        proxy.signal("TERM");
    }
    assert!(proxy.ended().success());
}

/// The certificate that a new connection is shown.
fn certificate(proxy: &Proxied) -> Vec<u8> {
    let trust_all = TlsOptions { insecure: true, authorities: None, identity: None };
    let config = client_config(&trust_all, &["http/1.1"]).expect("a configuration");
    let name = ServerName::try_from("localhost").expect("a name");
    let mut tls = ClientConnection::new(Arc::new(config), name).expect("a connection");
    let mut stream = TcpStream::connect(proxy.address).expect("a connection");
    std::io::Write::write_all(&mut Stream::new(&mut tls, &mut stream), b"GET / HTTP/1.0\r\n\r\n").expect("a handshake");
    tls.peer_certificates().expect("certificates")[0].to_vec()
}

#[test]
fn a_renewed_certificate_is_shown_to_new_connections() {
    let backend = Backend::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("proxy.yaml");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/proxy/tls");
    let copy = |certificate: &str, key: &str| {
        fs::copy(here.join(certificate), folder.path().join("certificate.pem")).expect("copied");
        fs::copy(here.join(key), folder.path().join("key.pem")).expect("copied");
    };
    write(&file, &backend, "tls: {certificate: certificate.pem, key: key.pem}\n"); // beside the file
    copy("certificate.pem", "key.pem");
    let proxy = Proxied::of_file(&file, &[]);
    let first = certificate(&proxy);
    copy("renewed.pem", "renewed-key.pem");
    assert_eq!(certificate(&proxy), first, "nobody has said that it is renewed");
    proxy.signal("HUP");
    proxy.logged("config");
    let second = certificate(&proxy);
    assert_ne!(second, first);
    // A certificate and another's key.
    copy("certificate.pem", "renewed-key.pem");
    proxy.signal("HUP");
    assert!(proxy.logged("config_refused")["problems"].to_string().contains("tls"));
    assert_eq!(certificate(&proxy), second);
}

/// The unit of systemd, with its paths in a folder of the test: what it runs, it can run.
#[test]
fn the_unit_checks_starts_reloads_and_stops_a_proxy() {
    let backend = Backend::start();
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder.path().join("proxy.yaml"), &backend, "");
    let token = folder.path().join("control-token");
    fs::write(&token, "0123456789abcdef0123456789abcdef").expect("written");
    fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("private");
    let unit = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/lab-proxy.service"))
        .expect("a unit");
    let lines = |key: &str| -> Vec<String> {
        let here = |line: &str| {
            line.replace("/etc/lab", folder.path().to_str().expect("a path"))
                .replace("/usr/bin/lab", &crate::program::path())
        };
        unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).map(here).collect()
    };
    let line = |key: &str| lines(key).swap_remove(0);
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let checked = words(&line("ExecStartPre"));
    assert!(Command::new(&checked[0]).args(&checked[1..]).status().expect("it runs").success());
    let start = words(&line("ExecStart"));
    let mut service = Command::new(&start[0])
        .args(&start[1..])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = BufReader::new(service.stdout.take().expect("piped")).lines().map_while(Result::ok);
    assert!(said.any(|line| line.starts_with("control port")));
    let pid = service.id().to_string();
    let mut log = BufReader::new(service.stderr.take().expect("piped")).lines().map_while(Result::ok);
    // The second file is wrong: its reload fails, and the proxy is not told of it.
    for (more, good) in [("dry_run: true\n", true), ("dry_rum: true\n", false)] {
        write(&folder.path().join("proxy.yaml"), &backend, more);
        let reloaded = lines("ExecReload").iter().all(|line| {
            let reload = words(&line.replace("$MAINPID", &pid));
            Command::new(&reload[0]).args(&reload[1..]).status().expect("it runs").success()
        });
        assert_eq!(reloaded, good, "{more}");
        assert!(!good || log.any(|line| line.contains("\"config\"")));
    }
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    assert!(log.any(|line| line.contains("\"drained\"")));
    assert!(service.wait().expect("its end").success());
}

//! The control port as other programs and users of the machine find it.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    edge::{
        service::Service,
        wire::{After, answer, connect, exchange},
    },
    program,
};

fn port(service: &Service) -> SocketAddr {
    let url = service.ready["control"].as_str().expect("an address");
    url.strip_prefix("http://").and_then(|address| address.parse().ok()).expect("an address")
}

/// A request of curl's, or of any program that does not know the token.
fn without_token(line: &str, body: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn with(token: &str, line: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n")
}

#[test]
fn without_the_token_nothing_can_be_changed() {
    let mut service = Service::emulated(json!({}));
    for (line, body) in [
        ("POST /stop", ""),
        ("POST /drain", ""),
        ("PUT /hinder", r#"{"capacity":{"share":0.0,"for_ms":3600000.0}}"#),
        ("PUT /work", r#"{"operations":1e308}"#),
        ("GET /gauges", ""),
    ] {
        let said = exchange(port(&service), without_token(line, body).as_bytes(), After::Wait);
        assert_eq!(said.statuses(), [401], "{line}: {}", said.text);
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(!service.has_ended());
    let said = exchange(service.address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", After::HalfClose);
    assert_eq!(said.statuses(), [200]);

    let token = service.ready["token"].as_str().expect("a token in the ready line").to_owned();
    assert!(token.len() >= 32);
    let said = exchange(port(&service), with(&token, "GET /gauges").as_bytes(), After::Wait);
    assert_eq!(said.statuses(), [200]);
    assert!(said.text.contains("\"ledger\"") && !said.text.contains(&token));
    let said = exchange(port(&service), with(&token, "POST /stop").as_bytes(), After::Wait);
    assert_eq!(said.statuses(), [200]);
    let end = Instant::now() + Duration::from_secs(10);
    while !service.has_ended() {
        assert!(Instant::now() < end, "it does not stop");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Where descriptors are few, those of the control port are not taken from the service.
#[test]
fn idle_connections_to_it_do_not_stop_the_service() {
    let service = Service::with_files(256, json!({}));
    let to = port(&service);
    let mut held: Vec<TcpStream> = Vec::new();
    let open = |held: &mut Vec<TcpStream>| {
        while held.len() < 300 {
            match TcpStream::connect_timeout(&to, Duration::from_millis(300)) {
                Ok(mut stream) => {
                    let _ = stream.write_all(b"GET /gau");
                    held.push(stream);
                }
                Err(_) => return,
            }
        }
    };
    open(&mut held);
    let mut served = 0;
    for _ in 0..100 {
        let Ok(mut stream) = TcpStream::connect_timeout(&service.address, Duration::from_millis(300)) else { continue };
        stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a time-out");
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        served += u32::from(answer(&mut stream).is_some_and(|(status, _)| status == 200));
        // What was closed is opened again.
        held.retain(|stream| {
            stream.set_nonblocking(true).expect("is open");
            let mut stream: &TcpStream = stream;
            matches!(stream.read(&mut [0; 64]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
        });
        open(&mut held);
    }
    assert!(served >= 90, "{served} of 100 requests served");
    if let Some(token) = service.ready["token"].as_str() {
        let mut stream = connect(to);
        stream.write_all(with(token, "GET /gauges").as_bytes()).expect("is sent");
        assert_eq!(answer(&mut stream).map(|(status, _)| status), Some(200), "nor those who have the token from it");
    }
}

#[test]
fn a_token_file_must_be_its_owners_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    let token = "0123456789abcdef0123456789abcdef";
    fs::write(&file, token).expect("is written");
    let serve = || {
        let mut command = program::lab();
        command.current_dir(folder.path()).env("LAB_CACHE", folder.path().join("cache"));
        command.args(["serve", "--port", "0", "--control-token-file"]).arg(&file);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    for mode in [0o644, 0o640, 0o604] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("is changed");
        let output = ended(&mut serve());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("chmod 600") && said.contains(&format!("{mode:04o}")), "{said}");
        assert!(!said.contains(token), "{said}");
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("is changed");
    fs::write(&file, "too short").expect("is written");
    let output = ended(&mut serve());
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));

    fs::write(&file, token).expect("is written");
    let service = Service::with_token_file(&file);
    assert!(service.ready.get("token").is_none(), "who has the file knows it: {}", service.ready);
    let said = exchange(port(&service), with(token, "GET /gauges").as_bytes(), After::Wait);
    assert_eq!(said.statuses(), [200]);
    let said = exchange(port(&service), with(&token.replace('0', "1"), "GET /gauges").as_bytes(), After::Wait);
    assert_eq!(said.statuses(), [401]);
}

/// A run that is expected to end by itself.
fn ended(command: &mut Command) -> std::process::Output {
    let mut child = command.spawn().expect("lab starts");
    let end = Instant::now() + Duration::from_secs(20);
    while child.try_wait().expect("is a child").is_none() {
        if Instant::now() > end {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().expect("has ended")
}

//! `lab proxy --sentry FILE`: Cataclysm's sentry before a service that is not the lab's.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    thread,
};

use serde_json::{Value, json};

use crate::proxy::{
    backend::Backend,
    proxied::{Answer, Proxied, until},
};

/// A request takes 400 ms until one has ended, so that 2 fit into a second at one server; the other class waits for 200 ms.
const SENTRY: &str = "
class: {header: User-Class}
sentry: {classes: 2, delays: {0: 200ms}, policing: batch, service_first: 400ms}
";

fn sentry(text: &str, to: &[String]) -> Proxied {
    sentry_at("127.0.0.1:0", text, to)
}

fn sentry_at(address: &str, text: &str, to: &[String]) -> Proxied {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sentry.yaml");
    fs::write(&file, text).expect("written");
    let mut flags = vec!["--sentry", file.to_str().expect("a path"), "--log", "changes"];
    to.iter().for_each(|url| flags.extend(["--to", url]));
    Proxied::with_flags_at(address, &flags)
}

fn get_as(class: u8, address: SocketAddr, path: &str) -> Answer {
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nUser-Class: {class}\r\nConnection: close\r\n\r\n");
    Answer::to(address, &head)
}

fn policy_gauge(proxy: &Proxied, name: &str) -> f64 {
    let row = proxy.gate();
    row["policy"].get(name).and_then(Value::as_f64).unwrap_or_else(|| panic!("no gauge {name}: {row}"))
}

#[test]
fn requests_beyond_the_response_time_are_refused_and_less_important_ones_with_them() {
    let backend = Backend::start();
    let proxy = sentry(SENTRY, &[backend.url()]);
    assert_eq!(policy_of(&proxy), json!("sentry"));
    let address = proxy.address;
    thread::scope(|scope| {
        // 400 ms are in the bucket (256, 512], represented by 384 ms: (η + 1) × 384 ≤ 1000 while η ≤ 1.
        let inside: Vec<_> = (0..2)
            .map(|n| {
                let asked = scope.spawn(move || get_as(1, address, "/slow?1500"));
                until("request inside", || (backend.requests() == n + 1).then_some(()));
                asked
            })
            .collect();
        let third = get_as(1, proxy.address, "/second");
        assert_eq!((third.status, backend.requests()), (503, 2));
        // The other class is held until its instant, and is refused there.
        assert_eq!(get_as(0, proxy.address, "/other").status, 503);
        assert!(inside.into_iter().all(|asked| asked.join().expect("an answer").status == 200));
    });
    assert_eq!(proxy.ledger()["refused"], json!({"concurrency": 2}));
    // What is served in no time has room for both.
    assert_eq!((get_as(1, proxy.address, "/").status, get_as(0, proxy.address, "/").status), (200, 200));
}

fn policy_of(proxy: &Proxied) -> Value {
    proxy.gate()["policy_name"].clone()
}

#[test]
fn a_killed_server_costs_what_it_was_serving_and_nothing_is_left_inside() {
    let (behind, good) = (Backend::start(), Backend::start());
    // A process that can be killed.
    let server = Proxied::before(&[behind.url()], json!({"log": "off"}));
    let to = [format!("http://{}", server.address), good.url()];
    let proxy = sentry("class: {header: User-Class}\nsentry: {classes: 2, delays: {0: 100ms}}\n", &to);
    let address = proxy.address;
    thread::scope(|scope| {
        let asked = [(); 2].map(|()| scope.spawn(move || get_as(1, address, "/slow?1500")));
        until("request at each", || (behind.requests() == 1 && good.requests() == 1).then_some(()));
        server.signal("KILL");
        let mut statuses = asked.map(|asked| asked.join().expect("an answer").status);
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 502], "the one that was at the killed server has failed");
    });
    // Others go on, of both classes: a request that cannot be connected counts as failed until the server is left out.
    until("row of answers", || (0..10).all(|n| get_as(n % 2, proxy.address, "/").status == 200).then_some(()));
    let gauges = ["servers", "in_service_per_server"].map(|name| policy_gauge(&proxy, name));
    assert_eq!(gauges, [2.0, 0.0]);
}

#[test]
fn a_killed_sentry_breaks_what_is_inside_and_the_next_one_begins_anew() {
    let backend = Backend::start();
    let mut proxy = sentry(SENTRY, &[backend.url()]);
    let address = proxy.address;
    // Two are inside: a third would be refused.
    let mut inside = [(); 2].map(|()| {
        let mut client = TcpStream::connect(address).expect("it listens");
        client.write_all(b"GET /slow?1500 HTTP/1.1\r\nHost: localhost\r\nUser-Class: 1\r\n\r\n").expect("sent");
        client
    });
    until("both inside", || (backend.requests() == 2).then_some(()));
    proxy.signal("KILL");
    proxy.ended();
    for client in &mut inside {
        let mut answer = Vec::new();
        // An end or a reset, and never a part of an answer.
        let _ = client.read_to_end(&mut answer);
        assert_eq!(answer, b"");
    }
    drop(proxy);
    let next = sentry_at(&address.to_string(), SENTRY, &[backend.url()]);
    assert_eq!(get_as(1, next.address, "/").status, 200, "it knows of nothing inside");
}

#[test]
fn what_is_wrong_with_the_file_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sentry.yaml");
    for (text, said) in [
        ("sentry: {}\n", "class: nothing says which class a request has"),
        ("class: {header: C}\nsentry: {delay: {0: 5ms}}\n", "did you mean delays?"),
        ("class: {header: C}\nsentry: {classes: 2, delays: {1: 5ms}}\n", "the most important class"),
        ("sentries: {}\n", "unknown field"),
    ] {
        fs::write(&file, text).expect("written");
        let mut command = crate::program::lab();
        command.args(["proxy", "--listen", "127.0.0.1:0", "--to", "http://127.0.0.1:9", "--sentry"]).arg(&file);
        let output = command.output().expect("lab runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(said), "{text}: {error}");
    }
}

//! A policy at accept, which decides about connections; and who can reach a proxy.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::json;

use crate::proxy::{
    backend::Backend,
    observed::metrics,
    proxied::{PATIENCE, Proxied, until},
};

/// Sends a request on a connection that is kept.
fn ask(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it goes out");
    stream
}

/// True if an answer begins within this time.
fn is_answered(mut stream: &TcpStream, within: Duration) -> bool {
    stream.set_read_timeout(Some(within)).expect("a time-out");
    let mut first = [0; 12];
    stream.read_exact(&mut first).is_ok() && first == *b"HTTP/1.1 200"
}

#[test]
fn a_policy_at_accept_leaves_connections_in_the_kernels_queue() {
    let backend = Backend::start();
    let to = backend.url();
    let flags = ["--to", &to, "--policy", "connections", "--set", "max=1", "--metrics", "127.0.0.1:0", "--log", "off"];
    let proxy = Proxied::with_flags(&flags);
    let first = ask(proxy.address);
    assert!(is_answered(&first, PATIENCE));
    let second = ask(proxy.address);
    until("held connection", || (proxy.row_of("accept")["queue"] == 1).then_some(()));
    assert!(!is_answered(&second, Duration::from_millis(300)), "it is in the kernel's queue");
    assert_eq!((backend.requests(), proxy.ledger()["connections_open"].as_u64()), (1, Some(1)));
    let metrics = metrics(&proxy);
    assert_eq!(metrics["lab_proxy_policy_held{stage=\"accept\"}"], 1.0);
    assert_eq!(metrics["lab_proxy_policy_admitted_total{stage=\"proxy\"}"], 1.0);
    drop(first);
    assert!(is_answered(&second, PATIENCE), "its turn has come");
    // Another policy decides about requests, and lets all connections in.
    let third = ask(proxy.address);
    let changed = proxy.control("PUT", "/policy", r#"{"policy": {"name": "gradient2", "settings": {}}}"#);
    assert_eq!(changed.status, 200, "{changed:?}");
    assert!(is_answered(&third, PATIENCE));
    assert_eq!(
        (&proxy.row_of("accept")["policy_name"], &proxy.gate()["policy_name"]),
        (&json!("none"), &json!("gradient2"))
    );
    let nowhere = proxy.control("PUT", "/policy", r#"{"stage": "read", "policy": {"name": "none", "settings": {}}}"#);
    assert!(nowhere.status == 400 && nowhere.body.contains("it can at: proxy, accept"), "{nowhere:?}");
}

#[test]
fn a_policy_at_accept_has_no_dry_run() {
    let (_backend, proxy) = Proxied::alone(json!({"dry_run": true, "log": "off"}));
    let refused = proxy.control("PUT", "/policy", r#"{"policy": {"name": "connections", "settings": {}}}"#);
    assert!(refused.status == 400 && refused.body.contains("dry_run"), "{refused:?}");
}

#[test]
fn an_address_beyond_loopback_is_said() {
    let backend = Backend::start();
    let settings = json!({"log": "off", "metrics": "0.0.0.0:0"});
    let proxy = Proxied::listening(&[backend.url()], "0.0.0.0:0", settings);
    let open = proxy.ready["open"].as_str().expect("a line");
    assert!(open.contains("0.0.0.0") && open.contains("this proxy") && open.contains("its metrics"), "{open}");
    assert_eq!(proxy.get("/").status, 200);
    let proxy = Proxied::before(&[backend.url()], json!({"log": "off", "metrics": "127.0.0.1:0"}));
    assert!(proxy.ready.get("open").is_none(), "{}", proxy.ready);
}

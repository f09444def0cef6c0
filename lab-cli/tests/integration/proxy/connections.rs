//! Kept connections to backends, and those on which both directions go on beside each other.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::json;

use crate::{
    proxy::proxied::{PATIENCE, Proxied, until},
    served::{at_each, head},
};

/// A service that does this with each connection, and the number of connections that it has had.
fn backend(serve: impl Fn(TcpStream) + Copy + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let count = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&count);
    let address = at_each(move |stream| {
        counted.fetch_add(1, Ordering::SeqCst);
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        serve(stream);
    });
    (format!("http://{address}"), count)
}

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn client(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    stream
}

/// The connection that shows the proxy whether it can be made.
const AT_THE_START: usize = 1;

/// One request on a kept connection.
fn ask(stream: &mut TcpStream) -> bool {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it goes out");
    let mut body = [0; 5];
    head(stream).is_some_and(|head| head.starts_with("HTTP/1.1 200 "))
        && stream.read_exact(&mut body).is_ok()
        && &body == b"hello"
}

#[test]
fn one_connection_serves_the_requests_of_all_clients() {
    let (url, connections) =
        backend(|mut stream| while head(&mut stream).is_some() && stream.write_all(HELLO).is_ok() {});
    let proxy = Proxied::before(&[url], json!({"log": "off"}));
    let (mut one, mut other) = (client(proxy.address), client(proxy.address));
    assert!((0..20).all(|_| ask(&mut one) && ask(&mut other)));
    assert_eq!(connections.load(Ordering::SeqCst), AT_THE_START + 1);
}

#[test]
fn what_a_backend_has_closed_between_requests_fails_none_and_is_not_kept() {
    let (url, connections) = backend(|mut stream| {
        let _ = head(&mut stream).map(|_| stream.write_all(HELLO)); // and closes
    });
    let proxy = Proxied::before(&[url], json!({"log": "off", "timeouts": {"backend_idle": "60s"}}));
    let open = || proxy.backend(1)["counts"]["connections"].as_u64().expect("a number");
    let mut client = client(proxy.address);
    for _ in 0..3 {
        assert!(ask(&mut client));
        until("closed connection", || (open() == 0).then_some(()));
    }
    assert_eq!((connections.load(Ordering::SeqCst), &proxy.ledger()["errors"]), (AT_THE_START + 3, &json!(0)));
}

#[test]
fn a_body_goes_on_after_the_head_of_its_answer() {
    const SIZE: usize = 8 << 20; // more than all buffers between the two
    let (url, _) = backend(|mut stream| {
        if head(&mut stream).is_none() || stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nearl").is_err()
        {
            return;
        }
        let mut body = vec![0; SIZE];
        let read = stream.read_exact(&mut body);
        let _ = read.and_then(|()| stream.write_all(b"y end"));
        let _ = stream.read(&mut [0]);
    });
    let proxy = Proxied::before(&[url], json!({"log": "off"}));
    let mut client = client(proxy.address);
    write!(client, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {SIZE}\r\nConnection: close\r\n\r\n")
        .expect("it goes out");
    let mut answer = vec![0; 64];
    let first = client.read(&mut answer).expect("the answer's head comes before the body has gone");
    client.write_all(&vec![b'x'; SIZE]).expect("the body goes out");
    answer.truncate(first);
    client.read_to_end(&mut answer).expect("the rest of the answer");
    let answer = String::from_utf8(answer).expect("text");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nearly end"), "{answer}");
}

#[test]
fn the_head_of_an_answer_that_ends_behind_it_reaches_the_client() {
    let (url, _) = backend(|mut stream| {
        let _ = head(&mut stream).map(|_| stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"));
    });
    let proxy = Proxied::before(&[url], json!({"log": "off"}));
    for _ in 0..20 {
        let answer = proxy.get("/");
        assert!(answer.status == 200 && !answer.whole, "{answer:?}");
    }
}

#[test]
fn what_a_client_sends_after_the_other_sides_end_of_a_switched_connection_arrives() {
    const SENT: usize = 4 << 20;
    static ARRIVED: AtomicUsize = AtomicUsize::new(0);
    let (url, _) = backend(|mut stream| {
        let switch = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        let _ = head(&mut stream).map(|_| stream.write_all(switch));
        let mut all = vec![0; 1];
        if stream.read_exact(&mut all).is_err() {
            return; // the proxy has only looked whether anybody is there
        }
        let _ = stream.shutdown(std::net::Shutdown::Write);
        thread::sleep(std::time::Duration::from_millis(300)); // slower than the client
        let _ = stream.read_to_end(&mut all);
        ARRIVED.store(all.len(), Ordering::SeqCst);
    });
    let proxy = Proxied::before(&[url], json!({"log": "off"}));
    let mut client = client(proxy.address);
    let asked = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    client.write_all(asked).expect("it goes out");
    assert!(head(&mut client).expect("an answer").starts_with("HTTP/1.1 101 "));
    client.write_all(&vec![b'x'; SENT]).expect("it goes out");
    client.shutdown(std::net::Shutdown::Write).expect("an end");
    assert_eq!(until("the end", || Some(ARRIVED.load(Ordering::SeqCst)).filter(|&arrived| arrived > 0)), SENT);
}

#[test]
fn a_switch_of_protocols_is_joined() {
    let (url, _) = backend(|mut stream| {
        let switch = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        let mut bytes = [0; 4];
        let _ = head(&mut stream).map(|_| stream.write_all(switch));
        let _ = stream.read_exact(&mut bytes).and_then(|()| stream.write_all(&bytes));
    });
    let proxy = Proxied::before(&[url], json!({"log": "off"}));
    let mut client = client(proxy.address);
    // What is no HTTP any more may look like the beginning of a head, and come before it is agreed on.
    let asked = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\npi";
    client.write_all(asked).expect("it goes out");
    let answer = head(&mut client).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    let mut echo = [0; 4];
    client.write_all(b"ng").and_then(|()| client.read_exact(&mut echo)).expect("an echo");
    assert_eq!(&echo, b"ping");
}

//! Ways to a service: several addresses of a host, addresses to come from, a Unix socket.

use std::{
    collections::BTreeSet,
    io::{Read as _, Write as _},
    net::{IpAddr, SocketAddr, TcpListener},
    os::unix::net::UnixListener,
    thread,
};

use super::*;

#[test]
fn a_host_that_listens_at_its_second_address_alone_is_reached_there() {
    let server = Server::start();
    let dead = SocketAddr::from(([127, 0, 0, 2], server.address.port()));
    let mut plan = plan(dead, "/ok", 4, LONG);
    plan.target.others = vec![server.address];
    let report = go_for(40, &plan);
    let ledger = &report.total.measured;
    assert_eq!((ledger.served, ledger.connect_failed), (40, 0), "{:?}", report.total.replies);
    plan.target.others = vec![SocketAddr::from(([127, 0, 0, 3], server.address.port()))];
    let ledger = go_for(4, &plan).total.measured;
    assert_eq!(ledger.connect_failed, 4, "nobody listens at either");
}

#[test]
fn source_addresses_take_turns() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let plan = with_users(plan(address, "/", 4, LONG), |users| users.connections = ConnectionHabit::PerRequest);
    let from: Vec<IpAddr> = ["127.0.0.5", "127.0.0.6"].map(|text| text.parse().expect("an address")).into();
    let wanted: BTreeSet<IpAddr> = from.iter().copied().collect();
    let serving = thread::spawn(move || {
        let mut peers = BTreeSet::new();
        for mut stream in listener.incoming().take(12).map_while(Result::ok) {
            peers.insert(stream.peer_addr().expect("a peer").ip());
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
        peers
    });
    let options = RunOptions { source_addresses: from, requests_limit: Some(12), ..RunOptions::default() };
    assert_eq!(go_with(&plan, options).total.measured.served, 12);
    assert_eq!(serving.join().expect("it served"), wanted);
}

#[test]
fn a_unix_socket_stands_in_place_of_the_address() {
    let path = std::env::temp_dir().join(format!("lab-ways-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("a socket");
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }
            });
        }
    });
    let options = RunOptions { unix_socket: Some(path.clone()), requests_limit: Some(30), ..RunOptions::default() };
    let ledger = go_with(&plan(nobody(), "/ok", 3, LONG), options).total.measured;
    let _ = std::fs::remove_file(&path);
    assert_eq!((ledger.served, ledger.connect_failed), (30, 0), "{ledger:?}");
}

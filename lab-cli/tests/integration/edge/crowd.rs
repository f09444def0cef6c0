//! More slow clients than the service has connections for: those who keep it waiting make room for those who do not.
//!
//! The short form has a few hundred connections against a lowered cap; `LAB_CROWD` (connections), `LAB_CROWD_RATE` (opened
//! each second), `LAB_CROWD_CAP` and `LAB_CROWD_SECONDS` make it the full one.

use std::{
    collections::VecDeque,
    env,
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use socket2::{Domain, Socket, Type};

use crate::edge::{
    service::{LETTER, Service},
    wire::answer,
};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// What a slow client does.
#[derive(Debug, Clone, Copy)]
enum Slow {
    /// A byte of a head now and then.
    Head,
    /// A body at little more than the least rate that is let through.
    Body,
    /// Asks much, and does not read.
    Reader,
    /// Asks for something long, and does not read: behind a proxy it holds a connection of the service.
    Long,
    /// Asks over HTTP/2 for something short, and never opens its window.
    Window,
    /// Asks over HTTP/2 for a hundred things that are long, never opens its window, and sends PINGs.
    Pings,
    /// Nothing at all.
    Idle,
}

struct Size {
    /// Connections that are wanted at a time.
    wanted: usize,
    /// Connections opened each second.
    rate: f64,
    /// Connections that the service takes; 0: as it comes.
    cap: u32,
    lasts: Duration,
}

impl Size {
    fn of_environment() -> Self {
        let number =
            |name: &str, otherwise: u32| env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
        Self {
            wanted: usize::try_from(number("LAB_CROWD", 300)).expect("fits"),
            rate: f64::from(number("LAB_CROWD_RATE", 400)),
            cap: number("LAB_CROWD_CAP", 200),
            lasts: Duration::from_secs(u64::from(number("LAB_CROWD_SECONDS", 5))),
        }
    }
}

/// The crowd, on one thread.
fn crowd(slow: Slow, size: &Size, to: SocketAddr, over: &AtomicBool) -> usize {
    let (mut open, mut opened) = (VecDeque::new(), 0);
    let (began, mut dripped) = (Instant::now(), Instant::now());
    let wanted = match slow {
        // Each is a hundred.
        Slow::Pings => size.wanted.div_ceil(25),
        _ => size.wanted,
    };
    while !over.load(Ordering::Relaxed) {
        let due = (began.elapsed().as_secs_f64() * size.rate) as usize;
        while opened < due && open.len() < wanted {
            opened += 1;
            open.extend(begin(slow, to));
        }
        opened = opened.max(due); // what could not be opened in its time is not made up for
        if dripped.elapsed() >= Duration::from_millis(500) {
            dripped = Instant::now();
            open.retain(|stream| goes_on(slow, stream));
        }
        thread::sleep(Duration::from_millis(2));
    }
    opened
}

fn begin(slow: Slow, to: SocketAddr) -> Option<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
    if matches!(slow, Slow::Reader | Slow::Long) {
        socket.set_recv_buffer_size(2048).ok()?;
    }
    socket.connect_timeout(&to.into(), Duration::from_millis(200)).ok()?;
    let mut stream: TcpStream = socket.into();
    stream.set_nonblocking(true).ok()?;
    let first: Vec<u8> = match slow {
        Slow::Idle => Vec::new(),
        Slow::Head => b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ".to_vec(),
        Slow::Body => b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n".to_vec(),
        Slow::Reader => b"GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1000),
        Slow::Long => GET.to_vec(),
        Slow::Window => closed_window(1),
        Slow::Pings => closed_window(100),
    };
    let _ = stream.write(&first); // what fits
    Some(stream)
}

/// False if the service has closed it.
fn goes_on(slow: Slow, mut stream: &TcpStream) -> bool {
    let more: &[u8] = match slow {
        Slow::Idle => b"",
        Slow::Head => b"x",
        Slow::Body => &[b'x'; 550],
        Slow::Window => b"",
        Slow::Pings => &PING.repeat(50),
        Slow::Reader | Slow::Long => {
            // What was read would make room; a look is enough to see whether it is still open.
            return !matches!(stream.take_error(), Ok(Some(_)) | Err(_)) && is_open(stream);
        }
    };
    if !more.is_empty() && stream.write(more).is_err_and(|error| error.kind() != ErrorKind::WouldBlock) {
        return false;
    }
    loop {
        match stream.read(&mut [0; 4096]) {
            // What comes over HTTP/2 beside answers.
            Ok(1..) if matches!(slow, Slow::Window | Slow::Pings) => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
            Ok(_) => return false,
        }
    }
}

/// A connection of HTTP/2 with a window of 0 for every stream, and so many GETs.
fn closed_window(streams: u32) -> Vec<u8> {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const INITIAL_WINDOW_SIZE_0: [u8; 6] = [0, 4, 0, 0, 0, 0];
    /// `:method GET`, `:scheme http`, `:path /` of the static table, and an `:authority` in letters (RFC 7541).
    const HEAD: &[u8] = b"\x82\x86\x84\x41\x09localhost";
    let (settings, headers, end_of_both) = (4, 1, 0x5);
    let asks = (0..streams).flat_map(|n| frame(headers, end_of_both, 2 * n + 1, HEAD));
    [PREFACE, &frame(settings, 0, 0, &INITIAL_WINDOW_SIZE_0)].concat().into_iter().chain(asks).collect()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

const PING: [u8; 17] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];

fn is_open(stream: &TcpStream) -> bool {
    match stream.peek(&mut [0]) {
        Ok(count) => count > 0,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    }
}

/// Requests of those who come, ask once, and go: how many, and how many were served.
fn passers_by(to: SocketAddr, over: &AtomicBool) -> (u32, u32) {
    let (mut asked, mut served) = (0, 0);
    while !over.load(Ordering::Relaxed) {
        asked += 1;
        let connected = TcpStream::connect_timeout(&to, Duration::from_secs(1));
        served += u32::from(connected.is_ok_and(|mut stream| asks(&mut stream)));
        thread::sleep(Duration::from_millis(50));
    }
    (asked, served)
}

/// Requests of those who keep their connections, and ask on each of them every half second; a connection that is gone is
/// a request that was not served, and the next one makes another.
fn regulars(to: SocketAddr, over: &AtomicBool) -> (u32, u32) {
    let (mut asked, mut served) = (0, 0);
    let mut kept: Vec<Option<TcpStream>> = (0..20).map(|_| None).collect();
    while !over.load(Ordering::Relaxed) {
        for place in &mut kept {
            asked += 1;
            let mut connection = place.take().or_else(|| TcpStream::connect_timeout(&to, Duration::from_secs(1)).ok());
            let is_served = connection.as_mut().is_some_and(asks);
            served += u32::from(is_served);
            *place = connection.filter(|_| is_served);
            thread::sleep(Duration::from_millis(25));
        }
    }
    (asked, served)
}

fn asks(stream: &mut TcpStream) -> bool {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
    stream.write_all(GET).is_ok() && answer(stream).is_some_and(|(status, _)| status == 200)
}

/// The length of an answer that no buffer between service and client holds, bytes.
const LONG: u32 = 2 << 20;

/// `lab serve` and `lab proxy` have the same limits.
fn honest_clients_are_served_beside(slow: Slow, by_proxy: bool) {
    // On a machine that stands still an honest client is as slow as the others; a service at fault fails each time.
    let failures: Vec<String> = (0..3).map_while(|_| served_seldom_beside(slow, by_proxy)).collect();
    assert!(failures.len() < 3, "{failures:#?}");
}

/// Honest clients that were served too seldom, in words; `None`: all were served.
fn served_seldom_beside(slow: Slow, by_proxy: bool) -> Option<String> {
    let size = Size::of_environment();
    let mut limits = json!({"connections": size.cap, "connection_requests": 0});
    if matches!(slow, Slow::Long | Slow::Pings | Slow::Body) && by_proxy {
        // It is these that are to be too few.
        limits["backend_connections"] = json!((size.cap / 4).max(1));
    }
    let of_service = if by_proxy { json!({}) } else { limits.clone() };
    let service = match slow {
        // Something that costs next to nothing to serve: it is not the requests that are to be too many.
        Slow::Reader => Service::arashi(LETTER, of_service),
        Slow::Long | Slow::Pings => Service::emulated_with(LONG, of_service),
        _ => Service::emulated(of_service),
    };
    let service = if by_proxy { service.behind_proxy(json!({"limits": limits})) } else { service };
    let (to, over) = (service.address, Arc::new(AtomicBool::new(false)));
    let resident = service.resident();
    let (opened, new, kept, after) = thread::scope(|scope| {
        let attack = scope.spawn(|| crowd(slow, &size, to, &over));
        // The crowd is at the cap before anybody is counted.
        let full = f64::from(if size.cap > 0 { size.cap } else { 4096 }) / size.rate;
        thread::sleep(Duration::from_secs_f64(full) + Duration::from_millis(300));
        let (new, kept) = (scope.spawn(|| passers_by(to, &over)), scope.spawn(|| regulars(to, &over)));
        thread::sleep(size.lasts);
        let after = service.resident();
        over.store(true, Ordering::Relaxed);
        (attack.join().expect("ran"), new.join().expect("ran"), kept.join().expect("ran"), after)
    });
    let more = (after.saturating_sub(resident)) >> 20;
    thread::sleep(Duration::from_secs(1));
    let left = (service.resident().saturating_sub(resident)) >> 20;
    let told = format!(
        "{slow:?}: {opened} opened; new {}/{}, kept {}/{}; {more} MiB more, {left} after it",
        new.1, new.0, kept.1, kept.0
    );
    println!("{told}");
    let is_served = |(asked, served): (u32, u32)| asked > 10 && f64::from(served) >= 0.9 * f64::from(asked);
    (!is_served(new) || !is_served(kept)).then_some(told)
}

#[test]
fn slow_heads_make_room() {
    honest_clients_are_served_beside(Slow::Head, false);
}

#[test]
fn slow_bodies_make_room() {
    honest_clients_are_served_beside(Slow::Body, false);
}

#[test]
fn slow_readers_make_room() {
    honest_clients_are_served_beside(Slow::Reader, false);
}

#[test]
fn idle_connections_make_room() {
    honest_clients_are_served_beside(Slow::Idle, false);
}

#[test]
fn slow_heads_make_room_at_a_proxy() {
    honest_clients_are_served_beside(Slow::Head, true);
}

#[test]
fn slow_bodies_make_room_at_a_proxy() {
    honest_clients_are_served_beside(Slow::Body, true);
}

#[test]
fn slow_readers_make_room_at_a_proxy() {
    honest_clients_are_served_beside(Slow::Reader, true);
}

#[test]
fn slow_readers_of_long_answers_make_room_at_a_proxy() {
    honest_clients_are_served_beside(Slow::Long, true);
}

#[test]
fn closed_windows_make_room_at_a_proxy() {
    honest_clients_are_served_beside(Slow::Window, true);
}

#[test]
fn pings_with_closed_windows_make_room_at_a_proxy() {
    honest_clients_are_served_beside(Slow::Pings, true);
}

/// Nobody needs their places: they are closed for what they do.
#[test]
fn whoever_takes_nothing_is_closed_after_the_time_out() {
    let short = || Service::emulated(json!({}));
    let long = || Service::emulated_with(LONG, json!({}));
    for (slow, service) in [
        (Slow::Long, long()),
        (Slow::Window, long()),
        (Slow::Window, short()),
        (Slow::Pings, long()),
        (Slow::Pings, short()),
    ] {
        let service = service.behind_proxy(json!({"timeouts": {"write": "1s"}}));
        let open: Vec<_> = (0..5).filter_map(|_| begin(slow, service.address)).collect();
        let began = Instant::now();
        while service.connections() < 5 {
            thread::sleep(Duration::from_millis(5));
        }
        // A client that reads nothing does not see the end of its connection.
        while service.connections() > 0 {
            thread::sleep(Duration::from_millis(100));
            for stream in &open {
                goes_on(slow, stream);
            }
            assert!(began.elapsed() < Duration::from_secs(10), "{slow:?}: {} are open", service.connections());
        }
        assert!(began.elapsed() > Duration::from_millis(900), "{slow:?}: {:?}", began.elapsed());
    }
}

/// As its buffers do. Slow ones would make room by a bound of their own.
#[test]
fn a_connection_over_http2_counts_as_two() {
    let limits = json!({"connections": 20, "slow_clients": 20});
    let service = Service::emulated(json!({})).behind_proxy(json!({"limits": limits}));
    let open: Vec<_> = (0..15).filter_map(|_| begin(Slow::Window, service.address)).collect();
    assert_eq!(open.len(), 15, "there is room for each while nothing is known of it");
    settles_at(&service, 10);
}

fn settles_at(service: &Service, connections: u64) {
    let began = Instant::now();
    while service.connections() != connections {
        assert!(began.elapsed() < Duration::from_secs(10), "{} are open", service.connections());
        thread::sleep(Duration::from_millis(50));
    }
}

/// Sixteen requests and their connection are six.
#[test]
fn four_requests_over_http2_count_as_one_connection_more() {
    let limits = json!({"connections": 40, "slow_clients": 1000});
    let service = Service::emulated(json!({})).behind_proxy(json!({"limits": limits}));
    let asks = || {
        let mut stream = TcpStream::connect(service.address).ok()?;
        stream.write_all(&closed_window(16)).ok()?;
        Some(stream)
    };
    // One by one: two that find it full at the same moment each have room made for them.
    let mut open = Vec::new();
    for nth in 1..=10 {
        open.extend(asks());
        settles_at(&service, nth.min(6));
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(open.len(), 10);
    settles_at(&service, 6);
}

#[test]
fn idle_connections_make_room_at_a_proxy() {
    honest_clients_are_served_beside(Slow::Idle, true);
}

/// With a limit for each address, a crowd at one leaves the others alone, and makes room for itself.
#[test]
fn one_source_can_be_held_to_its_share() {
    let service = Service::emulated(json!({"connections": 40, "connections_per_source": 10}));
    let from = |address: [u8; 4]| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from((address, 0)).into()).expect("is ours");
        socket.connect(&service.address.into()).expect("a connection");
        let stream: TcpStream = socket.into();
        stream
    };
    let mut guests: Vec<_> = (2..5).map(|last| from([127, 0, 0, last])).collect();
    assert!(guests.iter_mut().all(asks));
    let mut crowd: Vec<_> = (0..60).map(|_| from([127, 0, 0, 1])).collect();
    let mut last = from([127, 0, 0, 1]);
    assert!(asks(&mut last), "the newest of a full source is taken");
    assert!(guests.iter_mut().all(asks), "and nobody else pays for it");
    thread::sleep(Duration::from_millis(300));
    let open = crowd.iter_mut().filter(|stream| {
        stream.set_nonblocking(true).expect("a socket");
        is_open(stream)
    });
    assert!(open.count() <= 10);
}

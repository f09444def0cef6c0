//! Floods of HTTP/2 by their CVEs, each within the bounds of a moment: the connection is ended, or what it costs is bounded, and others
//! are served meanwhile.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::proxy::{
    http2_cases::with_tls,
    http2_wire::{
        CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, Link, PING, PRIORITY, RST_STREAM, SETTINGS, Said,
        WINDOW_UPDATE, block, frame, get, head, preface, pseudo,
    },
    proxied::{Proxied, get as get_path},
};

struct Flood {
    id: &'static str,
    /// Sent before it.
    first: Vec<u8>,
    /// The part with a number.
    part: fn(u32) -> Vec<u8>,
    parts: u32,
    /// True: the connection is ended for it. False: it need not be, what it costs is bounded.
    ends: bool,
}

fn flood(id: &'static str, parts: u32, part: fn(u32) -> Vec<u8>, ends: bool) -> Flood {
    Flood { id, first: Vec::new(), part, parts, ends }
}

/// The stream of a part.
fn stream(number: u32) -> u32 {
    2 * number + 1
}

/// A request, and what makes the other side reset its stream.
fn reset_by(number: u32, kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    [get(stream(number)), frame(kind, flags, stream(number), payload)].concat()
}

/// A head that goes on for ever.
fn open_head() -> Vec<u8> {
    frame(HEADERS, END_STREAM, 1, &block(&pseudo("GET", "/")))
}

/// A head of a few bytes that says megabytes: an entry of the dynamic table, again and again.
fn bomb(number: u32) -> Vec<u8> {
    let entry = [&[0x40, 1, b'x', 0x7f, 0xa1, 0x1e], &[b'a'; 4000][..]].concat();
    let again = [0xbe; 12_000];
    frame(
        HEADERS,
        END_HEADERS | END_STREAM,
        stream(number),
        &[&block(&pseudo("GET", "/")), &entry, &again[..]].concat(),
    )
}

fn floods() -> Vec<Flood> {
    let mut all = vec![
        flood("CVE-2023-44487 rapid reset", 3000, |n| reset_by(n, RST_STREAM, 0, &[0, 0, 0, 8]), true),
        flood("CVE-2025-8671 a window of nothing", 3000, |n| reset_by(n, WINDOW_UPDATE, 0, &[0; 4]), true),
        flood(
            "CVE-2025-8671 a window too large",
            3000,
            |n| reset_by(n, WINDOW_UPDATE, 0, &[0x7f, 0xff, 0xff, 0xff]),
            true,
        ),
        flood("CVE-2025-8671 DATA behind the end", 3000, |n| reset_by(n, DATA, END_STREAM, b"x"), true),
        flood("CVE-2025-8671 HEADERS behind the end", 3000, |n| [get(stream(n)), get(stream(n))].concat(), true),
        flood("CVE-2025-8671 PRIORITY of four bytes", 3000, |n| reset_by(n, PRIORITY, 0, &[0; 4]), true),
        flood(
            "CVE-2025-8671 PRIORITY on itself",
            3000,
            |n| reset_by(n, PRIORITY, 0, &[&stream(n).to_be_bytes()[..], &[1]].concat()),
            true,
        ),
        flood("CVE-2019-9514 requests at fault", 3000, |n| head(stream(n), END_STREAM, "GET", &[(b"X", b"1")]), true),
        flood("CVE-2019-9516 names of nothing", 3000, |n| head(stream(n), END_STREAM, "GET", &[(b"", b"")]), true),
        flood("CVE-2016-6581 a bomb of HPACK", 100, bomb, true),
        flood("CVE-2019-9512 PING", 30_000, |_| frame(PING, 0, 0, &[0; 8]), false),
        flood("CVE-2019-9515 SETTINGS", 30_000, |_| frame(SETTINGS, 0, 0, &[]), false),
        flood("CVE-2019-9513 PRIORITY", 30_000, |n| frame(PRIORITY, 0, stream(n), &[0, 0, 0, 0, 255]), false),
        flood("windows by one", 30_000, |_| frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]), false),
        flood("frames of an unknown type", 30_000, |_| frame(0xbe, 0, 0, &[0; 16]), false),
        flood("more streams than may be", 1000, |n| head(stream(n), 0, "POST", &[]), false),
        flood(
            "sizes of the dynamic table",
            1000,
            |n| {
                frame(
                    HEADERS,
                    END_HEADERS | END_STREAM,
                    stream(n),
                    &[&[0x20; 8000], &block(&pseudo("GET", "/"))[..]].concat(),
                )
            },
            false,
        ),
    ];
    type Part = fn(u32) -> Vec<u8>;
    let continued: [(_, Part); 2] = [
        ("CVE-2024-27316 CONTINUATION", |n| {
            frame(CONTINUATION, 0, 1, &block(&[(format!("x-{n}").as_bytes(), &[b'a'; 1000])]))
        }),
        ("CVE-2019-9518 CONTINUATION of nothing", |_| frame(CONTINUATION, 0, 1, &[])),
    ];
    all.extend(continued.map(|(id, part)| Flood { id, first: open_head(), part, parts: 30_000, ends: true }));
    let empty: fn(u32) -> Vec<u8> = |_| frame(DATA, 0, 1, &[]);
    all.push(Flood {
        id: "CVE-2019-9518 DATA of nothing",
        first: head(1, 0, "POST", &[]),
        part: empty,
        parts: 30_000,
        ends: true,
    });
    // Settings: a window of nothing for each stream. What is asked for cannot be sent.
    let none = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    all.push(Flood {
        id: "CVE-2019-9517 a window of nothing",
        first: none,
        part: |n| get(stream(n)),
        parts: 100,
        ends: false,
    });
    all
}

impl Flood {
    /// Sends all of it, and gives what was said to that.
    fn run(&self, proxy: &Proxied) -> Said {
        let mut link = Link::plain(proxy.address);
        let mut reader = Link::Plain(link.socket().try_clone().expect("a socket"));
        let _ = link.send(&preface()) && link.send(&self.first);
        thread::scope(|scope| {
            let said = scope.spawn(move || reader.rest());
            let numbers: Vec<u32> = (0..self.parts).collect();
            let sent = numbers
                .chunks(100)
                .all(|part| link.send(&part.iter().flat_map(|n| (self.part)(*n)).collect::<Vec<_>>()));
            let _ = sent && link.send(&frame(PING, 0, 0, b"all done"));
            said.join().expect("what came back")
        })
    }
}

fn gauges(proxy: &Proxied) -> (f64, f64) {
    let gauges = proxy.gauges();
    (gauges["rss_bytes"].as_f64().expect("bytes"), gauges["cpu_s"].as_f64().expect("seconds"))
}

#[test]
fn a_flood_is_ended_or_bounded_and_others_are_served() {
    for flood in floods() {
        let (backend, proxy) = Proxied::alone(with_tls(false));
        assert_eq!(proxy.get("/").status, 200);
        let (before, _) = gauges(&proxy);
        let (over, began) = (AtomicBool::new(false), Instant::now());
        let (said, honest) = thread::scope(|scope| {
            let honest = scope.spawn(|| {
                let mut statuses = Vec::new();
                // At least one, however soon the flood ends.
                loop {
                    statuses.push(get_path(proxy.address, "/honest").status);
                    if over.load(Ordering::SeqCst) {
                        return statuses;
                    }
                    thread::sleep(Duration::from_millis(5));
                }
            });
            let said = flood.run(&proxy);
            over.store(true, Ordering::SeqCst);
            (said, honest.join().expect("statuses"))
        });
        let (after, cpu) = gauges(&proxy);
        let id = flood.id;
        assert!(honest.iter().all(|status| *status == 200), "{id}: {honest:?}");
        assert_eq!(proxy.get("/after").status, 200, "{id}");
        let has_ended = said.closed || said.goaway.is_some_and(|reason| reason != 0);
        assert!(has_ended || !flood.ends, "{id}: {said:?}");
        assert!(has_ended || said.pongs > 0, "{id}: neither ended nor answered: {said:?}");
        assert!(after - before < 32e6, "{id}: {before} and then {after} bytes");
        assert!(cpu < 10.0 && began.elapsed() < Duration::from_secs(15), "{id}: {cpu} s, {:?}", began.elapsed());
        // Of requests that were reset at once few have gone out.
        let reached =
            backend.state.heads.lock().expect("a list").iter().filter(|head| head.starts_with("GET / ")).count();
        assert!(reached <= 400 || !flood.ends, "{id}: {reached} requests at the backend");
    }
}

/// The conformance suite of others, where it is installed (`h2spec`), with prior knowledge and over TLS.
#[test]
fn h2spec_passes() {
    for secure in [false, true] {
        let (_backend, proxy) = Proxied::alone(with_tls(secure));
        let mut command = std::process::Command::new("h2spec");
        command.args(["--host", "127.0.0.1", "--port", &proxy.address.port().to_string(), "--timeout", "3"]);
        if secure {
            command.args(["--tls", "--insecure"]);
        }
        let Ok(ran) = command.output() else {
            eprintln!("skipped: h2spec is not installed");
            return;
        };
        let said = String::from_utf8_lossy(&ran.stdout);
        let count = |word: &str| {
            let line = said.lines().rev().find(|line| line.contains(" tests, "))?;
            let part = line.split(", ").find(|part| part.ends_with(word))?;
            part.split(' ').next()?.parse::<u32>().ok()
        };
        // Without TLS what is no preface is taken for HTTP/1.1, and answered with 400 in that: its case 3.5/2 wants a close alone.
        let allowed = u32::from(!secure);
        assert!(count("tests") >= Some(140) && count("failed") <= Some(allowed), "TLS: {secure}: {said}");
    }
}

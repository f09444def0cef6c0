//! Backends that send and send before they answer.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    proxy::{
        http2_wire::{END_HEADERS, HEADERS, PREFACE, SETTINGS, block, frame},
        proxied::{Proxied, get},
    },
    served::at_each,
};

/// A service that answers `/`, and anything else with interim answers for as long as they are taken, this far apart.
fn backend(pause: Duration) -> String {
    format!("http://{}", at_each(move |stream| serve(stream, pause)))
}

fn serve(mut stream: TcpStream, pause: Duration) {
    let mut room = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut room) {
        if room[..count].starts_with(b"GET / ") {
            if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").is_err() {
                return;
            }
            continue;
        }
        let one = b"HTTP/1.1 100 Continue\r\n\r\n".as_slice();
        let some = if pause.is_zero() { one.repeat(1000) } else { one.to_vec() };
        while stream.write_all(&some).is_ok() {
            thread::sleep(pause);
        }
        return;
    }
}

fn cpu_s(proxy: &Proxied) -> f64 {
    proxy.gauges()["cpu_s"].as_f64().expect("seconds")
}

/// Waits until it uses next to nothing: what has come of a flood that was cut may still have to be read.
fn falls_quiet(proxy: &Proxied) {
    let half_seconds: Vec<f64> = (0..30)
        .map(|_| {
            let before = cpu_s(proxy);
            thread::sleep(Duration::from_millis(500));
            cpu_s(proxy) - before
        })
        .take_while(|used| *used >= 0.1)
        .collect();
    assert!(half_seconds.len() < 30, "of each half second: {half_seconds:?}");
}

/// What sixteen clients get that ask for interim answers, and when; and what others get meanwhile.
fn flooded(proxy: &Proxied) -> (Vec<(u16, Duration)>, Vec<u16>) {
    let address = proxy.address;
    let clients: Vec<_> = (0..16)
        .map(|_| {
            thread::spawn(move || {
                let began = Instant::now();
                (get(address, "/flood").status, began.elapsed())
            })
        })
        .collect();
    let others = (0..20).map(|_| {
        thread::sleep(Duration::from_millis(50));
        proxy.get("/").status
    });
    let others = others.collect();
    (clients.into_iter().map(|client| client.join().expect("an answer")).collect(), others)
}

#[test]
fn a_backend_that_floods_interim_answers_is_cut() {
    let proxy = Proxied::before(&[backend(Duration::ZERO)], json!({"timeouts": {"response": "3s"}, "log": "off"}));
    let (flooded, others) = flooded(&proxy);
    assert!(flooded.iter().all(|(status, took)| *status == 502 && *took < Duration::from_secs(3)), "{flooded:?}");
    assert_eq!(others, [200; 20]);
    // A core for as long as the time-out would be 3 s.
    let used = cpu_s(&proxy);
    assert!(used < 2.0, "{used} s");
    falls_quiet(&proxy);
}

/// Such a one as stays below any bound of bytes.
#[test]
fn interim_answers_do_not_put_the_time_out_off() {
    let pause = Duration::from_millis(1);
    let proxy = Proxied::before(&[backend(pause)], json!({"timeouts": {"response": "1s"}, "log": "off"}));
    let (flooded, others) = flooded(&proxy);
    assert!(flooded.iter().all(|(status, took)| *status == 504 && *took < Duration::from_secs(4)), "{flooded:?}");
    assert_eq!(others, [200; 20]);
}

/// A service of HTTP/2 that answers every request with interim answers for as long as they are taken.
fn http2_backend() -> String {
    format!("h2c://{}", at_each(|stream| _ = serve_http2(stream)))
}

fn serve_http2(mut stream: TcpStream) -> Option<()> {
    let read = |stream: &mut TcpStream, length: usize| {
        let mut bytes = vec![0; length];
        stream.read_exact(&mut bytes).ok().map(|()| bytes)
    };
    read(&mut stream, PREFACE.len())?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).ok()?;
    loop {
        let head = read(&mut stream, 9)?;
        read(&mut stream, usize::from(head[1]) << 8 | usize::from(head[2]))?;
        if head[3] != HEADERS {
            continue;
        }
        let of = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let some = frame(HEADERS, END_HEADERS, of, &block(&[(b":status", b"100")])).repeat(1000);
        while stream.write_all(&some).is_ok() {}
        return None;
    }
}

#[test]
fn a_backend_of_http2_that_floods_interim_answers_is_cut() {
    let proxy = Proxied::before(&[http2_backend()], json!({"timeouts": {"response": "1s"}, "log": "off"}));
    let (address, began) = (proxy.address, Instant::now());
    let clients: Vec<_> = (0..8).map(|_| thread::spawn(move || get(address, "/").status)).collect();
    let statuses: Vec<u16> = clients.into_iter().map(|client| client.join().expect("an answer")).collect();
    assert!(statuses.iter().all(|status| [502, 504].contains(status)), "{statuses:?}");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    falls_quiet(&proxy);
}

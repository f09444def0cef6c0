//! HTTP/2 by hand: frames as they are written here, sent over TCP or TLS, and what comes back.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use rustls::{ClientConnection, StreamOwned, pki_types::ServerName};
use senders::tls::client_config;
use workloads::plan::TlsOptions;

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;
pub const WITH_PRIORITY: u8 = 32;

/// One frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a length").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A number with a prefix of so many bits (RFC 7541, section 5.1).
fn number(bits: u8, number: usize) -> Vec<u8> {
    let most = (1_usize << bits) - 1;
    if number < most {
        return vec![number as u8];
    }
    let (mut bytes, mut rest) = (vec![most as u8], number - most);
    while rest >= 128 {
        bytes.push((rest % 128) as u8 | 128);
        rest /= 128;
    }
    bytes.push(rest as u8);
    bytes
}

/// Field lines, each a literal that is not indexed, without Huffman's code.
pub fn block(fields: &[(&[u8], &[u8])]) -> Vec<u8> {
    let text = |text: &[u8]| [&number(7, text.len()), text].concat();
    fields.iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect()
}

/// The pseudo-headers of a request.
pub fn pseudo<'a>(method: &'a str, path: &'a str) -> Vec<(&'a [u8], &'a [u8])> {
    let of = |name: &'static str, value: &'a str| (name.as_bytes(), value.as_bytes());
    vec![of(":method", method), of(":scheme", "http"), of(":authority", "localhost"), of(":path", path)]
}

/// The head of a request with these fields behind the pseudo-headers, in one frame.
pub fn head(stream: u32, flags: u8, method: &str, more: &[(&[u8], &[u8])]) -> Vec<u8> {
    frame(HEADERS, flags | END_HEADERS, stream, &block(&[pseudo(method, "/"), more.to_vec()].concat()))
}

/// A whole GET.
pub fn get(stream: u32) -> Vec<u8> {
    head(stream, END_STREAM, "GET", &[])
}

/// The client's preface, with settings: answers without a dynamic table, so that each can be read by itself.
pub fn preface() -> Vec<u8> {
    [PREFACE, &frame(SETTINGS, 0, 0, &[0, 1, 0, 0, 0, 0])].concat()
}

/// What came back on one connection.
#[derive(Debug, Default, Clone)]
pub struct Said {
    /// Streams with the statuses of their answers; 0: one that is not understood here.
    pub statuses: Vec<(u32, u16)>,
    /// Streams that were reset, with the reasons.
    pub resets: Vec<(u32, u32)>,
    /// The reason of the end of the connection, where one was said.
    pub goaway: Option<u32>,
    /// PINGs that were answered.
    pub pongs: usize,
    /// The other side has closed the connection.
    pub closed: bool,
    /// What came was no HTTP/2.
    pub other: Vec<u8>,
}

/// A connection: plain, or TLS.
pub enum Link {
    Plain(TcpStream),
    Secure(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long nothing must come for all to have been said.
const QUIET: Duration = Duration::from_millis(400);
/// The payload of the PING that ends what is sent.
const LAST: &[u8; 8] = b"all done";

impl Link {
    pub fn plain(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).expect("a connection");
        stream.set_nodelay(true).expect("an option");
        Self::Plain(stream)
    }

    /// TLS that agrees on HTTP/2.
    pub fn secure(to: SocketAddr) -> Self {
        let options = TlsOptions { insecure: true, ..TlsOptions::default() };
        let config = client_config(&options, &["h2"]).expect("settings");
        let name = ServerName::try_from("localhost").expect("a name");
        let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
        let stream = TcpStream::connect(to).expect("a connection");
        stream.set_nodelay(true).expect("an option");
        Self::Secure(Box::new(StreamOwned::new(connection, stream)))
    }

    pub fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Secure(stream) => &stream.sock,
        }
    }

    /// False once the other side takes no more.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.socket().set_write_timeout(Some(PATIENCE)).expect("a time-out");
        let sent = match self {
            Self::Plain(stream) => stream.write_all(bytes),
            Self::Secure(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        };
        sent.is_ok()
    }

    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(room),
            Self::Secure(stream) => stream.read(room),
        }
    }

    /// Sends all, and a PING behind it, and reads until the connection ends, or until the PING is answered and nothing more comes.
    pub fn exchange(mut self, bytes: &[u8]) -> Said {
        let _ = self.send(bytes) && self.send(&frame(PING, 0, 0, LAST)); // it may have been refused half-way
        self.rest()
    }

    /// Reads until the connection ends, or until a PING was answered and nothing more comes.
    pub fn rest(&mut self) -> Said {
        let (mut said, mut bytes, mut room) = (Said::default(), Vec::new(), [0; 16 * 1024]);
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let wait = if said.pongs > 0 { QUIET } else { PATIENCE };
            self.socket().set_read_timeout(Some(wait)).expect("a time-out");
            match self.read(&mut room) {
                Ok(0) => said.closed = true,
                Ok(count) => bytes.extend_from_slice(&room[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                Err(_) => said.closed = true,
            }
            said.read(&mut bytes);
            if said.closed {
                break;
            }
        }
        said
    }
}

impl Said {
    /// Takes whole frames from the beginning of these bytes.
    fn read(&mut self, bytes: &mut Vec<u8>) {
        if bytes.starts_with(b"HTTP/1") || !self.other.is_empty() {
            self.other.append(bytes);
            return;
        }
        while let Some(&[high, middle, low, kind, flags, a, b, c, d]) = bytes.first_chunk() {
            let length = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
            let Some(payload) = bytes.get(9..9 + length) else { return };
            let stream = u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff;
            let word = |from: usize| {
                payload.get(from..from + 4).map(|word| u32::from_be_bytes(word.try_into().expect("four")))
            };
            match kind {
                HEADERS => {
                    // Trailers have no status.
                    let status = status(payload).unwrap_or(0);
                    if !self.statuses.iter().any(|(of, _)| *of == stream) {
                        self.statuses.push((stream, status));
                    }
                }
                RST_STREAM => self.resets.push((stream, word(0).unwrap_or(u32::MAX))),
                // A connection may be told to end in order before it is told why.
                GOAWAY => self.goaway = self.goaway.filter(|reason| *reason != 0).or(word(4)),
                PING if flags & ACK != 0 => self.pongs += 1,
                _ => {}
            }
            bytes.drain(..9 + length);
        }
    }

    /// The status of the answer on a stream.
    pub fn status(&self, stream: u32) -> Option<u16> {
        self.statuses.iter().find(|(of, _)| *of == stream).map(|(_, status)| *status)
    }
}

/// The status at the beginning of a block.
fn status(block: &[u8]) -> Option<u16> {
    const IN_TABLE: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
    let from = block.iter().position(|byte| byte >> 5 != 1)?; // sizes of the dynamic table come first
    match &block[from..] {
        [indexed @ 0x88..=0x8e, ..] => Some(IN_TABLE[usize::from(indexed - 0x88)]),
        [0x08 | 0x18 | 0x48, length, rest @ ..] => {
            let text = rest.get(..usize::from(length & 0x7f))?;
            let digits = if length & 0x80 == 0 { text.to_vec() } else { digits(text)? };
            std::str::from_utf8(&digits).ok()?.parse().ok()
        }
        _ => None,
    }
}

/// Three digits in Huffman's code (RFC 7541, appendix B).
fn digits(text: &[u8]) -> Option<Vec<u8>> {
    let bits: Vec<u8> = text.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let (mut digits, mut at) = (Vec::new(), 0);
    let number = |from: usize, count: usize| {
        bits.get(from..from + count)?.iter().try_fold(0_u8, |all, bit| Some(all << 1 | bit))
    };
    while digits.len() < 3 {
        let (digit, length) = match (number(at, 5)?, number(at, 6)) {
            (short @ 0..=2, _) => (short, 5),
            (_, Some(long @ 0b01_1001..=0b01_1111)) => (long - 0b01_1001 + 3, 6),
            _ => return None,
        };
        digits.push(b'0' + digit);
        at += length;
    }
    Some(digits)
}

#[test]
fn statuses_are_read_as_they_are_written() {
    assert_eq!(status(&[0x20, 0x88]), Some(200));
    assert_eq!(status(&[0x48, 3, b'5', b'0', b'2']), Some(502));
    // RFC 7541, appendix C.6.1: 302.
    assert_eq!(status(&[0x48, 0x82, 0x64, 0x02]), Some(302));
    assert_eq!(number(5, 1337), [31, 154, 10], "appendix C.1.2");
}

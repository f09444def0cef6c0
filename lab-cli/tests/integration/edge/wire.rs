//! Bytes out, answers back.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    time::Duration,
};

/// What a client does after its last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// It says that nothing more comes.
    HalfClose,
    /// It waits.
    Wait,
}

/// What came back.
#[derive(Debug)]
pub struct Said {
    pub text: String,
    /// The service has closed the connection.
    pub closed: bool,
}

impl Said {
    /// Status codes of the answers, interim ones left out.
    pub fn statuses(&self) -> Vec<u16> {
        let starts = self.text.match_indices("HTTP/1.").map(|(at, mark)| &self.text[at + mark.len()..]);
        let codes = starts.filter_map(|rest| rest.get(2..5)?.parse().ok());
        codes.filter(|&code| code >= 200).collect()
    }

    /// The value of a header of the first answer.
    pub fn header(&self, name: &str) -> Option<&str> {
        let head = self.text.split("\r\n\r\n").next()?;
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// What follows the first head.
    pub fn body(&self) -> &str {
        self.text.split_once("\r\n\r\n").map_or("", |(_, body)| body)
    }
}

/// How long nothing must come for the service to be taken for done.
const QUIET: Duration = Duration::from_millis(400);
/// How long a service may take over anything that it is asked here.
const PATIENCE: Duration = Duration::from_secs(20);

pub fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    stream
}

/// Sends bytes on a connection of their own, and reads to the end, or until nothing more comes.
pub fn exchange(to: SocketAddr, bytes: &[u8], after: After) -> Said {
    let mut stream = connect(to);
    let _ = stream.write_all(bytes); // it may have been refused half-way
    if after == After::HalfClose {
        let _ = stream.shutdown(Shutdown::Write);
    }
    rest(stream, after == After::Wait)
}

/// Reads to the end; if `impatient`, until nothing comes for a while after the first byte.
pub fn rest(mut stream: TcpStream, impatient: bool) -> Said {
    let (mut bytes, mut room) = (Vec::new(), [0; 16 * 1024]);
    let closed = loop {
        match stream.read(&mut room) {
            Ok(0) => break true,
            Ok(count) => bytes.extend_from_slice(&room[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break false,
            Err(_) => break true,
        }
        if impatient {
            stream.set_read_timeout(Some(QUIET)).expect("a time-out");
        }
    };
    Said { text: String::from_utf8_lossy(&bytes).into_owned(), closed }
}

/// Reads one answer of a connection that goes on: its status and whole text.
pub fn answer(stream: &mut TcpStream) -> Option<(u16, String)> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let mut text = String::from_utf8_lossy(&head).into_owned();
    let status = text.split(' ').nth(1)?.parse().ok()?;
    let length =
        text.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    text.push_str(&String::from_utf8_lossy(&body));
    Some((status, text))
}

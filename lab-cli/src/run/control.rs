//! Talks to a target's control port.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde::Serialize;
use target_app::{control::wire::Gauges, spec::WorkSpec};

use super::RunFailure;

/// Longest wait for an answer: the target's core is busy, that is the point of the lab.
const PATIENCE: Duration = Duration::from_secs(10);

/// A control port.
#[derive(Debug, Clone)]
pub struct Control {
    address: SocketAddr,
}

impl Control {
    /// At `http://127.0.0.1:port`.
    pub fn new(url: &str) -> Result<Self, RunFailure> {
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let address = address.parse().map_err(|_| RunFailure::Control(format!("{url:?} is no address")))?;
        Ok(Self { address })
    }

    /// Everything that can be read now.
    pub fn gauges(&self) -> Result<Gauges, RunFailure> {
        let body = self.ask("GET", "/gauges", "")?;
        Ok(serde_json::from_str(&body)?)
    }

    /// Turns the work knob.
    pub fn set_work(&self, work: &WorkSpec) -> Result<(), RunFailure> {
        self.send("PUT", "/work", work)
    }

    /// Drains and ends the process.
    pub fn stop(&self) -> Result<(), RunFailure> {
        self.ask("POST", "/stop", "").map(drop)
    }

    fn send(&self, method: &str, path: &str, body: &impl Serialize) -> Result<(), RunFailure> {
        self.ask(method, path, &serde_json::to_string(body)?).map(drop)
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Result<String, RunFailure> {
        let failed = |error: std::io::Error| RunFailure::Control(format!("{method} {path}: {error}"));
        let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).map_err(failed)?;
        stream.write_all(body.as_bytes()).map_err(failed)?;
        let mut answer = String::new();
        stream.take(16 << 20).read_to_string(&mut answer).map_err(failed)?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).unwrap_or("no status");
        if !status.starts_with('2') {
            return Err(RunFailure::Control(format!("{method} {path}: {status}: {}", body.trim())));
        }
        Ok(body.to_owned())
    }
}

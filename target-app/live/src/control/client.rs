//! A client of the control port: blocking, on a plain socket, a connection a call. For the lab, which polls it a few
//! times a second.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use controllers::PeerReport;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Deserializer, StreamDeserializer, de::IoRead};
use spec::{
    WorkSpec,
    token::Token,
    wire::{
        Gauges, Halted, InjectFault, Policies, Problems, ReadRequests, Ready, SetCallees, SetMachines, SetPolicy,
        StreamedEvent,
    },
};

/// A client of a target's control port. Each call may fail with a [`ControlError`].
#[derive(Debug, Clone)]
pub struct ControlClient {
    address: SocketAddr,
    token: Token,
    timeout: Duration,
}

/// The stream of events or reports.
pub type JsonLines<T> = StreamDeserializer<'static, IoRead<BufReader<TcpStream>>, T>;

/// The error of a call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The text is not the address of a control port.
    #[error("{0:?} is not the address of a control port; http://127.0.0.1:8080 is one")]
    Address(String),
    /// The service was given its token in a file.
    #[error("the ready line has no token for the control port: it is in the file that the service was given")]
    NoToken,
    /// The target does not answer.
    #[error("the target's control port does not answer: {0}")]
    Io(#[from] io::Error),
    /// The target answered, but not as a control port does.
    #[error("the target's control port answered strangely: {0}")]
    Strange(String),
    /// It refused the change.
    #[error("the target refused: {}", .0.join("; "))]
    Refused(Vec<String>),
}

impl ControlClient {
    /// A client for `http://address`, as the ready line names it, with the token that opens it.
    ///
    /// # Errors
    /// If `url` is no such address.
    pub fn new(url: &str, token: Token) -> Result<Self, ControlError> {
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let address = address.parse().map_err(|_| ControlError::Address(url.to_owned()))?;
        Ok(Self { address, token, timeout: Duration::from_secs(5) })
    }

    /// A client for the service with this ready line.
    ///
    /// # Errors
    /// If the line has no address or no token.
    pub fn of(ready: &Ready) -> Result<Self, ControlError> {
        Self::new(&ready.control, ready.token.clone().ok_or(ControlError::NoToken)?)
    }

    /// The current gauges.
    pub fn gauges(&self) -> Result<Gauges, ControlError> {
        self.call("GET", "/gauges", &())
    }

    /// The numbers of the requests that were read.
    pub fn requests(&self) -> Result<ReadRequests, ControlError> {
        self.call("GET", "/requests", &())
    }

    /// The policy at each site, and the names of all policies.
    pub fn policies(&self) -> Result<Policies, ControlError> {
        self.call("GET", "/policies", &())
    }

    /// Switches the policy.
    pub fn set_policy(&self, change: &SetPolicy) -> Result<(), ControlError> {
        self.call::<_, serde_json::Value>("PUT", "/policy", change).map(drop)
    }

    /// Switches the machines.
    pub fn set_machines(&self, change: &SetMachines) -> Result<(), ControlError> {
        self.call::<_, serde_json::Value>("PUT", "/machines", change).map(drop)
    }

    /// Changes the settings of a proxy that `part` names.
    pub fn amend(&self, part: &serde_json::Value) -> Result<(), ControlError> {
        self.call::<_, serde_json::Value>("PATCH", "/config", part).map(drop)
    }

    /// Replaces the policies of the target's own calls by new ones of the same kind.
    pub fn renew_callers(&self) -> Result<(), ControlError> {
        self.call::<_, serde_json::Value>("POST", "/renew-callers", &()).map(drop)
    }

    /// Sends the target's next calls to these tasks.
    pub fn set_callees(&self, change: &SetCallees) -> Result<(), ControlError> {
        self.call::<_, serde_json::Value>("PUT", "/callees", change).map(drop)
    }

    /// Turns the work knob.
    pub fn set_work(&self, work: &WorkSpec) -> Result<(), ControlError> {
        self.call::<_, serde_json::Value>("PUT", "/work", work).map(drop)
    }

    /// Injects a fault for a limited time.
    pub fn hinder(&self, hinder: &InjectFault) -> Result<(), ControlError> {
        self.call::<_, serde_json::Value>("PUT", "/hinder", hinder).map(drop)
    }

    /// Makes the target refuse new requests while admitted ones are finished.
    pub fn drain(&self) -> Result<(), ControlError> {
        self.call::<_, serde_json::Value>("POST", "/drain", &()).map(drop)
    }

    /// Makes the target finish and exit.
    pub fn stop(&self) -> Result<(), ControlError> {
        self.call::<_, serde_json::Value>("POST", "/stop", &()).map(drop)
    }

    /// Makes the target stand still: it reads, answers and calls nothing more, until its process is ended. Returns what it had counted.
    pub fn halt(&self) -> Result<Halted, ControlError> {
        self.call("POST", "/halt", &())
    }

    /// The stream of events from now on. The iterator blocks for the next, and ends with the target.
    pub fn events(&self) -> Result<JsonLines<StreamedEvent>, ControlError> {
        self.stream("/events")
    }

    /// The stream of reports to other tasks from now on, as [`Self::events`].
    pub fn reports(&self) -> Result<JsonLines<PeerReport>, ControlError> {
        self.stream("/reports")
    }

    /// Delivers a report to one of its sites.
    pub fn hear(&self, report: &PeerReport) -> Result<(), ControlError> {
        self.call::<_, serde_json::Value>("PUT", "/report", report).map(drop)
    }

    fn stream<T: DeserializeOwned>(&self, path: &str) -> Result<JsonLines<T>, ControlError> {
        let (status, reader) = self.send("GET", path, b"")?;
        reader.get_ref().set_read_timeout(None)?;
        if status != 200 {
            return Err(ControlError::Strange(format!("status {status} to {path}")));
        }
        Ok(Deserializer::from_reader(reader).into_iter())
    }

    fn call<T: Serialize, A: DeserializeOwned>(&self, method: &str, path: &str, body: &T) -> Result<A, ControlError> {
        let strange = |error: serde_json::Error| ControlError::Strange(error.to_string());
        let body = serde_json::to_vec(body).map_err(strange)?;
        let (status, mut reader) = self.send(method, path, &body)?;
        let mut answer = Vec::new();
        reader.read_to_end(&mut answer)?;
        match status {
            200 => serde_json::from_slice(&answer).map_err(strange),
            _ => match serde_json::from_slice::<Problems>(&answer) {
                Ok(refused) => Err(ControlError::Refused(refused.problems)),
                Err(_) => Err(ControlError::Strange(format!("status {status}"))),
            },
        }
    }

    /// Sends a request on a new connection; the returned reader is at the body. In HTTP/1.0 that is plain bytes up to the end of the
    /// connection.
    fn send(&self, method: &str, path: &str, body: &[u8]) -> Result<(u16, BufReader<TcpStream>), ControlError> {
        let mut stream = TcpStream::connect_timeout(&self.address, self.timeout)?;
        stream.set_read_timeout(Some(self.timeout))?;
        stream.set_write_timeout(Some(self.timeout))?;
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\nAuthorization: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.address,
            self.token.shown(),
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat())?;
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| ControlError::Strange(format!("no status line but {line:?}")))?;
        while line.trim_end() != "" {
            line.clear();
            reader.read_line(&mut line)?;
        }
        Ok((status, reader))
    }
}

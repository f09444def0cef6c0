//! A service that is not the lab's: its address, or the command that starts it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    ops::Not,
    path::PathBuf,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use workloads::{HttpVersion, TlsOptions};

use super::ExportedMetrics;
use crate::named_file;

/// The placeholder of the free port in a command.
pub const PORT: &str = "{port}";

/// A service that is not the lab's, behind the lab's proxy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnService {
    /// The URL at which it listens: `http://127.0.0.1:8080`; `None`: on the port that its command is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The command that starts it for each arm; `None`: it runs already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandWords>,
    /// The path that answers once the service takes requests.
    pub ready: String,
    /// The command that is run before each arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<CommandWords>,
    /// The number of requests that it works on at once, as policies with a queue are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Metrics that it exports, shown beside what clients see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<ExportedMetrics>,
    /// The id of its first process, if it runs already.
    #[serde(default, skip)]
    pub pid: Option<u32>,
    /// A file with certificates of authorities that it shows one of (PEM); `None`: the system's. Not in the manifest either.
    #[serde(default, skip)]
    pub cacert: Option<PathBuf>,
    /// It may show any certificate.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub insecure: bool,
    /// It is spoken to in HTTP/2, without TLS by prior knowledge; otherwise in what TLS negotiates, or in HTTP/1.1.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub http2: bool,
}

/// A command, split into words as by a shell, though no shell runs it. The manifest has the name of its program alone, since
/// arguments and folders may be confidential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandWords(pub Vec<String>);

impl CommandWords {
    /// The command with the port filled in.
    pub fn with_port(&self, port: u16) -> Self {
        Self(self.0.iter().map(|word| word.replace(PORT, &port.to_string())).collect())
    }

    /// True if the command has a placeholder for the port.
    pub fn has_port(&self) -> bool {
        self.0.iter().any(|word| word.contains(PORT))
    }

    /// The name of the program, without its folder.
    pub fn program(&self) -> &str {
        let first = self.0.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first)
    }
}

impl Serialize for CommandWords {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.program())
    }
}

impl<'de> Deserialize<'de> for CommandWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(vec![String::deserialize(deserializer)?]))
    }
}

impl OwnService {
    /// The name of the service in lines and tables: its program, or its URL.
    pub fn shown(&self) -> &str {
        match (&self.command, &self.url) {
            (Some(command), _) => command.program(),
            (None, Some(url)) => url,
            (None, None) => "the service",
        }
    }

    /// The URL at which it is reached, if its command was given `port`.
    pub fn url_at(&self, port: Option<u16>) -> String {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or_default()));
        self.url.clone().unwrap_or_else(|| format!("http://{at}"))
    }

    /// Transport to the service.
    ///
    /// # Errors
    /// The file of certificates cannot be read, or has none: the reason, in words.
    pub fn transport(&self) -> Result<(TlsOptions, HttpVersion), String> {
        let of_file = |path: &PathBuf| {
            let pem = named_file::text(path)?.into_bytes();
            #[cfg(feature = "live")]
            workloads::tls::authorities(&pem).map_err(|problem| format!("{}: {problem}", path.display()))?;
            Ok::<_, String>(pem)
        };
        let authorities = self.cacert.as_ref().map(of_file).transpose()?;
        let version = if self.http2 { HttpVersion::Http2 } else { HttpVersion::Auto };
        Ok((TlsOptions { insecure: self.insecure, authorities, identity: None }, version))
    }

    /// Caution for a live run of so many turns of arms: a service that runs already keeps what an arm leaves in it.
    pub fn live_caution(&self, turns: usize) -> Option<String> {
        let keeps = self.command.is_none() && self.reset.is_none() && turns > 1;
        keeps.then(|| {
            "the service runs on from arm to arm, and what one leaves in it (queues, caches, connections) the next one finds: \
             `command` starts it anew for each, `reset` runs a command before each"
                .to_owned()
        })
    }
}

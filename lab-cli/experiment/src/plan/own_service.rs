//! A service that is not the lab's: where it is, or how it is started.

use std::net::{Ipv4Addr, SocketAddr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What stands for the free port in a command.
pub const PORT: &str = "{port}";

/// A service of somebody else's, behind the lab's proxy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnService {
    /// Where it listens: `http://127.0.0.1:8080`; `None`: on the port that its command is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// How it is started for each arm; `None`: it runs already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandWords>,
    /// The path that answers once it takes requests.
    pub ready: String,
    /// What is run before each arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<CommandWords>,
    /// Requests that it works on side by side, as far as policies with a queue know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Its first process, where it runs already.
    #[serde(default, skip)]
    pub pid: Option<u32>,
}

/// A command, split into words as a shell would; no shell runs it. The manifest has the name of its program alone: arguments
/// and folders may say what is nobody's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandWords(pub Vec<String>);

impl CommandWords {
    /// The same with the port filled in.
    pub fn with_port(&self, port: u16) -> Self {
        Self(self.0.iter().map(|word| word.replace(PORT, &port.to_string())).collect())
    }

    /// Whether it says where the port goes.
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
    /// What it is called in lines and tables: its program, or its URL.
    pub fn shown(&self) -> &str {
        match (&self.command, &self.url) {
            (Some(command), _) => command.program(),
            (None, Some(url)) => url,
            (None, None) => "the service",
        }
    }

    /// The URL at which it is reached, if `port` was given to its command.
    pub fn url_at(&self, port: Option<u16>) -> String {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or_default()));
        self.url.clone().unwrap_or_else(|| format!("http://{at}"))
    }
}

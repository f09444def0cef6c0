//! What coordinator and agents say to each other of a load.

use analysis::{
    record::{ArmRecord, PartStart},
    sha256,
};
use experiment::Experiment;
use health::clock::boot;
use measure::{Shard, Window};
use senders::RunOptions;
use serde::{Deserialize, Serialize};
use workloads::{
    UserCommand,
    plan::{HttpVersion, LoadPlan, TlsOptions},
};

use analysis::live::GeneratorSecond;

/// A name of this machine, which says nothing of it; containers share it with their host.
pub fn this_machine() -> String {
    sha256::of(boot().as_bytes())
}

/// A question to an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentQuestion {
    /// What does your clock say, and what do you do? Whoever asks with the name of a load wants it to go on.
    Hello { load: Option<String> },
    /// Can you send this? Then make it ready.
    Prepare(Box<LoadOrder>),
    /// Begin then.
    Begin(Beginning),
    /// Change the users of the load.
    Command { load: String, command: UserCommand },
    /// End it; `now`: also what is under way.
    Stop { load: String, now: bool },
}

/// A part of a load.
#[derive(Debug, Serialize, Deserialize)]
pub struct LoadOrder {
    /// The name of the load.
    pub load: String,
    /// The part that the agent sends.
    pub shard: Shard,
    /// The version of the coordinator, which must be the agent's.
    pub version: String,
    /// The machine of the coordinator: [`this_machine`] there.
    pub machine: String,
    /// What the whole plan's digest must come to.
    pub digest: String,
    /// One arm; the name and the promise of a folder.
    pub experiment: Experiment,
    /// The whole plan, to be sent to its URL.
    pub plan: LoadPlan,
    /// The recording that it replays, by the digest of its bytes: the server has it.
    pub recording: Option<String>,
    pub options: OrderedOptions,
    pub flat_out: bool,
    pub in_parts: bool,
}

/// Options of a load that leave a machine: no private key, no path.
#[derive(Debug, Serialize, Deserialize)]
pub struct OrderedOptions {
    pub requests_limit: Option<u64>,
    pub insecure: bool,
    pub authorities: Option<Vec<u8>>,
    pub version: HttpVersion,
}

/// When a part begins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Beginning {
    pub load: String,
    /// By the agent's clock, in nanoseconds since its program began.
    pub at_ns: u64,
    /// The same moment as the coordinator tells it.
    pub start: PartStart,
}

/// An answer of an agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AgentAnswer {
    /// Its clock, in nanoseconds since its program began.
    pub at_ns: u64,
    /// The load that it has.
    pub load: Option<LoadState>,
    /// Milliseconds since the coordinator of that load was heard of.
    pub heard_ms: u64,
    /// The reason why it does not do what it was asked to.
    pub refused: Option<String>,
}

/// How far a load is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadState {
    pub load: String,
    pub stage: LoadStage,
    /// What keeps it from going on.
    pub trouble: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadStage {
    Ready,
    Running,
    /// It is over, and its record not stored yet.
    Storing,
    Done,
}

/// A second of an agent's part, as posted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PostedSecond {
    pub window: Window,
    pub generator: GeneratorSecond,
}

/// The end of an agent's part, as posted.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartEnd {
    Record(Box<ArmRecord>),
    /// It has sent nothing that is known.
    Failed(String),
}

/// The name under which an agent posts the end of its part.
pub const END: &str = "end";

impl PartEnd {
    /// The same, unless its counts cannot be.
    pub fn believed(self) -> Self {
        let Self::Record(record) = &self else { return self };
        match record.arm(None, &[]) {
            Ok((_, Some(_))) => self,
            Ok((_, None)) => Self::Failed("its record has no figures".to_owned()),
            Err(error) => Self::Failed(error.to_string()),
        }
    }
}

impl OrderedOptions {
    /// # Errors
    /// They are of one machine alone.
    pub fn of(options: &RunOptions) -> Result<Self, String> {
        let of_machine = [
            ("--cert", options.tls.identity.is_some()),
            ("--source-address", !options.source_addresses.is_empty()),
            ("--unix-socket", options.unix_socket.is_some()),
        ];
        if let Some((flag, _)) = of_machine.iter().find(|(_, given)| *given) {
            return Err(format!("{flag} is about this machine, and agents send from others: leave it or --agents out"));
        }
        Ok(Self {
            requests_limit: options.requests_limit,
            insecure: options.tls.insecure,
            authorities: options.tls.authorities.clone(),
            version: options.version,
        })
    }

    pub fn options(&self) -> RunOptions {
        let tls = TlsOptions { insecure: self.insecure, authorities: self.authorities.clone(), identity: None };
        RunOptions { requests_limit: self.requests_limit, tls, version: self.version, ..RunOptions::default() }
    }
}

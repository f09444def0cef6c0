//! A coordinator's agents: who is there, how far their clocks are off, and whether they can send their parts.

use std::{
    net::SocketAddr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use analysis::{record::PartStart, sha256, text::counted};
use fleet::{AgentNote, CallAnswer, Fleet, FleetError};
use health::clock::boot;
use measure::Shard;
use workloads::StopFlag;

use super::{
    clock::{ClockOffset, ClockReading},
    order::{AgentAnswer, Beginning, LoadDescription, LoadOrder, Member, Question},
};
use crate::{
    args,
    exit::Failure,
    run::{LoadNews, RunFailure},
    workers::{connect, version},
};

/// Agents come within this time.
const UNTIL_THERE: Duration = Duration::from_secs(30);
/// All of them are ready within this time.
const UNTIL_READY: Duration = Duration::from_secs(30);
const ANSWER: Duration = Duration::from_secs(5);
/// Questions that a clock is told by.
const READINGS: usize = 40;
/// From the orders to begin until the beginning.
const LEAD: Duration = Duration::from_secs(2);

/// Agents that send loads for this coordinator.
#[derive(Debug)]
pub struct AgentCrew {
    pub(super) fleet: Fleet,
    wanted: u32,
    /// The share of the parts that may be lost, 0 to 1.
    pub(super) lost_at_most: f64,
    pub(super) send_recording: bool,
    pub(super) listen: Option<SocketAddr>,
    pub(super) nats: String,
    /// A load that another coordinator has begun.
    pub(super) attach: Option<String>,
    began: Instant,
    loads: AtomicU32,
    /// Those of the last load.
    pub(super) members: Mutex<Vec<Member>>,
}

impl AgentCrew {
    /// Connects to the server that agents are at.
    pub fn connect(args: &args::AgentsArgs, listen: Option<SocketAddr>) -> Result<Self, Failure> {
        let fleet = connect(&args.nats, None)?;
        fleet.make_stores()?;
        Ok(Self {
            fleet,
            wanted: args.agents.unwrap_or_default(),
            lost_at_most: args.lost_at_most.unwrap_or(0.0),
            send_recording: args.send_recording,
            listen,
            nats: args.nats.nats.clone().unwrap_or_default(),
            attach: None,
            began: Instant::now(),
            loads: AtomicU32::new(0),
            members: Mutex::default(),
        })
    }

    /// Connects to agents that another coordinator has begun a load with.
    pub fn attached(args: &args::AgentsArgs, load: &str) -> Result<(Self, LoadDescription), Failure> {
        let crew = Self::connect(args, None)?;
        let described = crew.described(load)?;
        let wanted = u32::try_from(described.members.len()).unwrap_or(u32::MAX);
        let (attach, lost_at_most) = (Some(load.to_owned()), described.lost_at_most);
        Ok((Self { wanted, attach, lost_at_most, ..crew }, described))
    }

    /// What is on the board of a load.
    pub(super) fn described(&self, name: &str) -> Result<LoadDescription, RunFailure> {
        let missing =
            || RunFailure::Agents(format!("there is no load {name} at {} (they are kept for a week)", self.nats));
        let bytes = self.fleet.board(name)?.description()?.ok_or_else(missing)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    pub fn wanted(&self) -> u32 {
        self.wanted
    }

    /// A name for the next load of this coordinator.
    pub(super) fn name_of_load(&self, experiment: &str) -> String {
        let number = self.loads.fetch_add(1, Ordering::Relaxed) + 1;
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
        let experiment: String = experiment.chars().take(60).map(plain).collect();
        format!("{experiment}-{at:x}-{}-{number}", std::process::id())
    }

    /// The names of as many as were asked for, once they are there: the first ones by name.
    pub(super) fn choose(&self, flag: &StopFlag, tell: &mut dyn FnMut(LoadNews)) -> Result<Vec<String>, RunFailure> {
        let ours = version();
        let (until, mut told) = (Instant::now() + UNTIL_THERE, false);
        loop {
            let (fit, others): (Vec<AgentNote>, _) =
                self.fleet.agents().into_iter().partition(|agent| agent.version == ours);
            if fit.len() >= self.wanted as usize {
                return Ok(fit.into_iter().take(self.wanted as usize).map(|agent| agent.name).collect());
            }
            if flag.is_stopped() {
                return Err(RunFailure::Interrupted);
            }
            if Instant::now() > until {
                return Err(self.too_few(&fit, &others));
            }
            if !told {
                told = true;
                let (there, wanted) = (fit.len(), counted(self.wanted as usize, "agent"));
                tell(LoadNews::Note(format!(
                    "{there} of {wanted} are there: waiting for the others (lab agent --nats {})",
                    self.nats
                )));
            }
            thread::sleep(Duration::from_millis(300));
        }
    }

    fn too_few(&self, fit: &[AgentNote], others: &[AgentNote]) -> RunFailure {
        let named = |agents: &[AgentNote], with: fn(&AgentNote) -> String| {
            agents.iter().map(with).collect::<Vec<_>>().join(", ")
        };
        let there = match fit {
            [] => "none is there".to_owned(),
            fit => format!("there are only {}: {}", fit.len(), named(fit, |agent| agent.name.clone())),
        };
        let other = match others {
            [] => String::new(),
            others => {
                let named = named(others, |agent| format!("{} (lab {})", agent.name, agent.program));
                format!("; of other versions, or with other policies than lab {}: {named}", args::VERSION)
            }
        };
        let wanted = self.wanted;
        RunFailure::Agents(format!("--agents {wanted}: {there}{other}; start lab agent --nats {} elsewhere", self.nats))
    }

    /// The clocks of agents, each by the shortest of forty round trips.
    pub(super) fn clocks(&self, names: &[String]) -> Result<Vec<ClockOffset>, RunFailure> {
        let hello = serde_json::to_vec(&Question::Hello { load: None })?;
        let mut readings = vec![Vec::new(); names.len()];
        for _ in 0..READINGS {
            for (number, answer) in self.fleet.call(names, &|_| hello.clone(), ANSWER).into_iter().enumerate() {
                readings[number].extend(answer.ok().and_then(|answer| self.reading(&answer)));
            }
        }
        let told = |(name, readings): (&String, Vec<ClockReading>)| {
            ClockOffset::of(readings).ok_or_else(|| RunFailure::Agents(format!("agent {name} does not answer")))
        };
        names.iter().zip(readings).map(told).collect()
    }

    pub(super) fn reading(&self, answer: &CallAnswer) -> Option<ClockReading> {
        let told: AgentAnswer = serde_json::from_slice(&answer.bytes).ok()?;
        let since = |at: Instant| at.saturating_duration_since(self.began);
        Some(ClockReading {
            asked: since(answer.asked),
            heard: since(answer.heard),
            theirs: Duration::from_nanos(told.at_ns),
        })
    }

    /// Has each agent prepare its order.
    pub(super) fn prepare(&self, names: &[String], order: impl Fn(Shard) -> LoadOrder) -> Result<(), RunFailure> {
        let question = |number: usize| {
            let order = order(shard_of(number, names.len()));
            // What was checked can be written.
            serde_json::to_vec(&Question::Prepare(Box::new(order))).unwrap_or_default()
        };
        self.all(names, &question, UNTIL_READY)
    }

    /// Tells all when to begin, each by its own clock; returns that moment.
    pub(super) fn begin(
        &self,
        load: &str,
        members: &[Member],
        clocks: &[ClockOffset],
    ) -> Result<SystemTime, RunFailure> {
        let at = self.began.elapsed() + LEAD;
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + LEAD;
        let begins = |number: usize| {
            let start = PartStart {
                unix_us: u64::try_from(wall.as_micros()).unwrap_or(u64::MAX),
                error_us: u64::try_from(clocks[number].error.as_micros() + 1).ok(),
                // Clocks that were compared by messages are not one, even on one machine.
                kernel: sha256::of(format!("{} {}", boot(), members[number].name).as_bytes()),
            };
            let begins = Beginning { load: load.to_owned(), at_ns: clocks[number].theirs(at), start };
            serde_json::to_vec(&Question::Begin(begins)).unwrap_or_default()
        };
        let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
        self.all(&names, &begins, LEAD)?;
        Ok(UNIX_EPOCH + wall)
    }

    /// Asks all something that none may refuse.
    fn all(&self, names: &[String], question: &dyn Fn(usize) -> Vec<u8>, wait: Duration) -> Result<(), RunFailure> {
        let mut problems = Vec::new();
        for (name, answer) in names.iter().zip(self.fleet.call(names, question, wait)) {
            let told = answer.and_then(|answer| {
                serde_json::from_slice::<AgentAnswer>(&answer.bytes)
                    .map_err(|error| FleetError::Unfit(format!("agent {name} answers something else: {error}")))
            });
            match told {
                Ok(AgentAnswer { refused: Some(why), .. }) => problems.push(format!("agent {name}: {why}")),
                Ok(_) => {}
                Err(error) => problems.push(error.to_string()),
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(RunFailure::Agents(problems.join("\n"))) }
    }

    /// Tells all to end; who does not hear it ends by itself.
    pub(super) fn stop(&self, load: &str, names: &[String], now: bool) {
        let question = serde_json::to_vec(&Question::Stop { load: load.to_owned(), now }).unwrap_or_default();
        let _ = self.fleet.call(names, &|_| question.clone(), Duration::from_secs(1));
    }

    pub(super) fn set_members(&self, members: &[Member]) {
        *self.members.lock().unwrap_or_else(PoisonError::into_inner) = members.to_vec();
    }
}

/// The part of the agent with this number, of so many.
pub(super) fn shard_of(number: usize, of: usize) -> Shard {
    let [number, of] = [number + 1, of].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    Shard::new(number, of).unwrap_or_else(|| unreachable!("there are as many agents as parts"))
}

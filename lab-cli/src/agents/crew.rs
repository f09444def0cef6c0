//! A coordinator's agents: who is there, how far their clocks are off, and whether they can send their parts.

use std::{
    collections::BTreeMap,
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
    description::{CrewMember, LoadDescription, ReadyLoad},
    order::{AgentAnswer, AgentQuestion, Beginning, LoadOrder, LoadStage, LoadState},
};
use crate::{
    args,
    exit::Failure,
    run::{LoadNews, RunFailure},
    workers::{connect, version},
};

/// Agents come within this time.
const UNTIL_THERE: Duration = Duration::from_secs(30);
/// Agents that others have are free within this time: what they store is small.
const UNTIL_FREE: Duration = Duration::from_secs(5);
/// All of them are ready within this time.
const UNTIL_READY: Duration = Duration::from_secs(30);
const ANSWER: Duration = Duration::from_secs(5);
/// Questions that a clock is told by.
const READINGS: usize = 40;
/// An agent that is there says so within this time.
const LOOK: Duration = Duration::from_secs(1);
/// Who follows a load asks its agents each second.
const LATELY: Duration = Duration::from_secs(2);
/// A coordinator that was killed has not asked for so long then.
const UNTIL_LEFT: Duration = Duration::from_secs(4);
/// Agents that a message names.
const NAMED: usize = 5;

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
    /// A load that agents have been told to begin, and that is not followed yet.
    pub(super) ready: Mutex<Option<ReadyLoad>>,
    /// Loads that are over, and whose posts the server still has.
    pub(super) sent: Mutex<Vec<String>>,
    /// Those of the last load.
    pub(super) members: Mutex<Vec<CrewMember>>,
}

/// Agents at a server, by name.
#[derive(Debug, Default)]
struct AgentsThere {
    free: Vec<String>,
    busy: Vec<String>,
    /// They give no answer.
    silent: Vec<String>,
    /// Of other versions.
    others: Vec<AgentNote>,
}

impl AgentsThere {
    fn in_words(&self) -> String {
        let all = [("free", &self.free), ("busy", &self.busy), ("without an answer", &self.silent)];
        let mut parts: Vec<String> = all
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(what, names)| format!("{what}: {}", names.join(", ")))
            .collect();
        if !self.others.is_empty() {
            let named: Vec<String> =
                self.others.iter().map(|agent| format!("{} (lab {})", agent.name, agent.program)).collect();
            let what = format!("of other versions, or with other policies than lab {}", args::VERSION);
            parts.push(format!("{what}: {}", named.join(", ")));
        }
        if parts.is_empty() {
            "none is there, or these credentials are no coordinator's".to_owned()
        } else {
            parts.join("; ")
        }
    }
}

/// A moment by two clocks of the coordinator.
#[derive(Debug, Clone, Copy)]
pub(super) struct CrewMoment {
    /// Since it began.
    ours: Duration,
    pub(super) wall: SystemTime,
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
            ready: Mutex::default(),
            sent: Mutex::default(),
            members: Mutex::default(),
        })
    }

    /// Connects to agents that another coordinator has begun a load with.
    pub fn attached(args: &args::AgentsArgs, load: &str) -> Result<(Self, LoadDescription), Failure> {
        let crew = Self::connect(args, None)?;
        let described = crew.described(load)?;
        let names: Vec<String> = described.members.iter().map(|member| member.name.clone()).collect();
        let since = Instant::now();
        while crew.is_followed(load, &names)? {
            if since.elapsed() > UNTIL_LEFT {
                return Err(Failure::usage(format!("load {load} has a coordinator, which follows it: end that first")));
            }
            thread::sleep(Duration::from_millis(200));
        }
        let wanted = u32::try_from(names.len()).unwrap_or(u32::MAX);
        let (attach, lost_at_most) = (Some(load.to_owned()), described.lost_at_most);
        Ok((Self { wanted, attach, lost_at_most, ..crew }, described))
    }

    /// What is on the board of a load.
    pub(super) fn described(&self, name: &str) -> Result<LoadDescription, RunFailure> {
        let missing = || {
            RunFailure::Agents(format!(
                "there is no load {name} at {} (one is there until its folder is written, for a week at most)",
                self.nats
            ))
        };
        let bytes = self.fleet.board(name)?.description()?.ok_or_else(missing)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// True if these agents send the load, and a coordinator has asked for it lately.
    fn is_followed(&self, load: &str, names: &[String]) -> Result<bool, RunFailure> {
        let hello = serde_json::to_vec(&AgentQuestion::Hello { load: None })?;
        let answers = self.fleet.call(names, &|_| hello.clone(), LOOK).into_iter().flatten();
        let told = answers.filter_map(|answer| serde_json::from_slice::<AgentAnswer>(&answer.bytes).ok());
        let sends = |state: &LoadState| state.load == load && state.stage < LoadStage::Done;
        let mut lately = told.filter(|told| Duration::from_millis(told.heard_ms) < LATELY);
        Ok(lately.any(|told| told.load.as_ref().is_some_and(sends)))
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

    /// The names of as many as were asked for, once they are there and free: the first ones by name.
    pub(super) fn choose(&self, flag: &StopFlag, tell: &mut dyn FnMut(LoadNews)) -> Result<Vec<String>, RunFailure> {
        let (since, wanted) = (Instant::now(), self.wanted as usize);
        let mut told = false;
        loop {
            let there = self.there()?;
            if there.free.len() >= wanted {
                return Ok(there.free.into_iter().take(wanted).collect());
            }
            if flag.is_stopped() {
                return Err(RunFailure::Interrupted);
            }
            // Where all have come, and others have them, nobody else is waited for.
            let all_are_there = there.free.len() + there.busy.len() + there.silent.len() >= wanted;
            if since.elapsed() > UNTIL_THERE || all_are_there && since.elapsed() > UNTIL_FREE {
                let why = format!("--agents {wanted}: {}; start lab agent --nats {}", there.in_words(), self.nats);
                // What was sent before was no bad usage.
                let is_first = self.loads.load(Ordering::Relaxed) <= 1;
                return Err(if is_first { RunFailure::Agents(why) } else { RunFailure::AgentsFailed(why) });
            }
            if !told {
                told = true;
                let (free, wanted) = (there.free.len(), counted(wanted, "agent"));
                tell(LoadNews::Note(format!(
                    "{free} of {wanted} are there: waiting for the others (lab agent --nats {})",
                    self.nats
                )));
            }
            thread::sleep(Duration::from_millis(300));
        }
    }

    fn there(&self) -> Result<AgentsThere, RunFailure> {
        let ours = version();
        let (fit, others): (Vec<AgentNote>, Vec<AgentNote>) =
            self.fleet.agents().into_iter().partition(|agent| agent.version == ours);
        let names: Vec<String> = fit.into_iter().map(|agent| agent.name).collect();
        let hello = serde_json::to_vec(&AgentQuestion::Hello { load: None })?;
        let answers = self.fleet.call(&names, &|_| hello.clone(), LOOK);
        let mut there = AgentsThere { others, ..AgentsThere::default() };
        for (name, answer) in names.into_iter().zip(answers) {
            let told = answer.ok().and_then(|answer| serde_json::from_slice::<AgentAnswer>(&answer.bytes).ok());
            match told.map(|told| told.load.filter(|state| state.stage < LoadStage::Done)) {
                None => there.silent.push(name),
                Some(None) => there.free.push(name),
                Some(Some(state)) => there.busy.push(format!("{name} (with {})", state.load)),
            }
        }
        Ok(there)
    }

    /// The clocks of agents, each by the shortest of forty round trips.
    pub(super) fn clocks(&self, names: &[String]) -> Result<Vec<ClockOffset>, RunFailure> {
        let hello = serde_json::to_vec(&AgentQuestion::Hello { load: None })?;
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
            serde_json::to_vec(&AgentQuestion::Prepare(Box::new(order))).unwrap_or_default()
        };
        self.all(names, &question, UNTIL_READY)
    }

    /// A moment so far ahead.
    pub(super) fn moment(&self, lead: Duration) -> CrewMoment {
        CrewMoment { ours: self.began.elapsed() + lead, wall: SystemTime::now() + lead }
    }

    /// Tells all when to begin, each by its own clock.
    pub(super) fn begin(
        &self,
        load: &str,
        (names, clocks): (&[String], &[ClockOffset]),
        at: CrewMoment,
    ) -> Result<(), RunFailure> {
        let wall = at.wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        let begins = |number: usize| {
            let start = PartStart {
                unix_us: u64::try_from(wall.as_micros()).unwrap_or(u64::MAX),
                error_us: u64::try_from(clocks[number].error.as_micros() + 1).ok(),
                // Clocks that were compared by messages are not one, even on one machine.
                kernel: sha256::of(format!("{} {}", boot(), names[number]).as_bytes()),
            };
            let begins = Beginning { load: load.to_owned(), at_ns: clocks[number].theirs(at.ours), start };
            serde_json::to_vec(&AgentQuestion::Begin(begins)).unwrap_or_default()
        };
        self.all(names, &begins, ANSWER)
    }

    /// Asks all something that none may refuse.
    fn all(&self, names: &[String], question: &dyn Fn(usize) -> Vec<u8>, wait: Duration) -> Result<(), RunFailure> {
        let (mut refusals, mut problems) = (BTreeMap::<String, Vec<&str>>::new(), Vec::new());
        for (name, answer) in names.iter().zip(self.fleet.call(names, question, wait)) {
            let told = answer.and_then(|answer| {
                serde_json::from_slice::<AgentAnswer>(&answer.bytes)
                    .map_err(|error| FleetError::Unfit(format!("agent {name} answers something else: {error}")))
            });
            match told {
                Ok(AgentAnswer { refused: Some(why), .. }) => refusals.entry(why).or_default().push(name),
                Ok(_) => {}
                Err(error) => problems.push(error.to_string()),
            }
        }
        problems.extend(refusals.into_iter().map(|(why, names)| format!("{}: {why}", named(&names))));
        if problems.is_empty() { Ok(()) } else { Err(RunFailure::Agents(problems.join("\n"))) }
    }

    /// Tells all to end; who does not hear it ends by itself.
    pub(super) fn stop(&self, load: &str, names: &[String], now: bool) {
        let question = serde_json::to_vec(&AgentQuestion::Stop { load: load.to_owned(), now }).unwrap_or_default();
        let _ = self.fleet.call(names, &|_| question.clone(), Duration::from_secs(1));
    }

    pub(super) fn set_members(&self, members: &[CrewMember]) {
        *self.members.lock().unwrap_or_else(PoisonError::into_inner) = members.to_vec();
    }
}

/// Agents in words: `agent g1`, `9 agents (g1, g2, g3, g4, g5, ...)`.
pub(super) fn named<N: AsRef<str>>(names: &[N]) -> String {
    match names {
        [name] => format!("agent {}", name.as_ref()),
        names => {
            let more = if names.len() > NAMED { ", ..." } else { "" };
            let first: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
            format!("{} agents ({}{more})", names.len(), first.join(", "))
        }
    }
}

/// The part of the agent with this number, of so many.
pub(super) fn shard_of(number: usize, of: usize) -> Shard {
    let [number, of] = [number + 1, of].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    Shard::new(number, of).unwrap_or_else(|| unreachable!("there are as many agents as parts"))
}

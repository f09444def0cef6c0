//! Who sends the load of a run: this process, or agents on other machines.

use std::{fmt, net::SocketAddr, time::SystemTime};

use analysis::{
    live::{AgentSecond, GeneratorSecond},
    record::ArmRecord,
};
use experiment::Experiment;
use measure::{Report, Window};
use senders::RunOptions;
use serde_json::Value;
use workloads::{StopFlag, plan::LoadPlan};

use super::RunFailure;

/// A load to be sent.
#[derive(Debug)]
pub struct LoadToSend<'a> {
    /// One arm of it is run.
    pub experiment: &'a Experiment,
    /// The number of the arm.
    pub arm: usize,
    /// Of all users, or of those of this process.
    pub plan: &'a LoadPlan,
    pub options: &'a RunOptions,
    /// The load goes as fast as it can.
    pub flat_out: bool,
    /// Twentieths of phases are asked for.
    pub in_parts: bool,
}

/// A second of a load.
#[derive(Debug)]
pub struct SentSecond {
    pub window: Window,
    /// Agents that sent it, and the busiest generator; `None`: this process.
    pub agents: Option<(GeneratorSecond, Vec<AgentSecond>)>,
}

/// News of a load that is sent.
#[derive(Debug)]
pub enum LoadNews {
    /// A line for people.
    Note(String),
    /// It begins, with second 0 of its timeline.
    Begins(SystemTime),
    /// A second is over.
    Second(Box<SentSecond>),
}

/// A load that was sent.
#[derive(Debug)]
pub struct SentLoad {
    pub report: Report,
    /// The names of agents, in the order of their parts, where agents sent it.
    pub agents: Vec<String>,
    /// The records of their parts, as far as they came.
    pub parts: Vec<ArmRecord>,
}

/// Whoever sends loads.
pub trait LoadSender: fmt::Debug + Send + Sync {
    /// Prepares a load, and waits until it begins but for a moment, in which observers of it are set up. Without that, it is a part of
    /// [`send`](Self::send).
    ///
    /// # Errors
    /// Nothing will be sent.
    fn prepare(
        &self,
        _load: &LoadToSend<'_>,
        _tell: &mut dyn FnMut(LoadNews),
        _flag: &StopFlag,
    ) -> Result<(), RunFailure> {
        Ok(())
    }

    /// Sends a load, from its first request to its last answer. `tell` hears of each second as it ends.
    ///
    /// # Errors
    /// Nothing was sent, or nothing is known of it.
    fn send(
        &self,
        load: &LoadToSend<'_>,
        tell: &mut dyn FnMut(LoadNews),
        flag: &StopFlag,
    ) -> Result<SentLoad, RunFailure>;

    /// The number of agents; 0: it is this process.
    fn agents(&self) -> u32 {
        0
    }

    /// The share of its parts that may be lost, 0 to 1, as was declared beforehand.
    fn lost_at_most(&self) -> f64 {
        0.0
    }

    /// Where a service that is started for the load listens, so that agents reach it; `None`: on loopback.
    fn listen(&self) -> Option<SocketAddr> {
        None
    }

    /// What was sent is in a folder, or will be in none: whoever kept it for that may forget it.
    fn kept(&self) {}

    /// What the manifest of a run says of it, by key.
    fn facts(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
}

/// This process.
#[derive(Debug, Clone, Copy)]
pub struct OwnGenerator;

impl LoadSender for OwnGenerator {
    fn send(
        &self,
        load: &LoadToSend<'_>,
        tell: &mut dyn FnMut(LoadNews),
        flag: &StopFlag,
    ) -> Result<SentLoad, RunFailure> {
        tell(LoadNews::Begins(SystemTime::now()));
        let seen = |window| tell(LoadNews::Second(Box::new(SentSecond { window, agents: None })));
        let report = senders::run(load.plan, load.options, seen, flag)?;
        Ok(SentLoad { report, agents: Vec::new(), parts: Vec::new() })
    }
}

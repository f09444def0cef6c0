//! A load that agents send: they are chosen, make their parts ready, and begin.

use std::{
    net::SocketAddr,
    sync::PoisonError,
    thread,
    time::{Duration, SystemTime},
};

use analysis::{run_file, whole_arm::APPROXIMATIONS};
use experiment::plan_digest::{concealed_of, digest_of};
use serde_json::{Value, json};
use workloads::{StopFlag, plan::LoadPlan};

use super::{
    crew::{AgentCrew, named, shard_of},
    description::{CrewMember, LoadDescription, ReadyLoad},
    follow::Follower,
    order::{LoadOrder, OrderedOptions, this_machine},
};
use crate::{
    run::{LoadNews, LoadSender, LoadToSend, RunFailure, SentLoad},
    workers::version,
};

/// From the orders to begin until the beginning, at least.
const LEAD: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(50);

/// Until then before its beginning a load is waited for: time to set up what observes it.
const SETUP: Duration = Duration::from_millis(500);

impl LoadSender for AgentCrew {
    fn prepare(
        &self,
        load: &LoadToSend<'_>,
        tell: &mut dyn FnMut(LoadNews),
        flag: &StopFlag,
    ) -> Result<(), RunFailure> {
        let ready = self.begin_load(load, flag, tell)?;
        let ahead = || ready.begins.duration_since(SystemTime::now()).unwrap_or_default();
        while ahead() > SETUP && !flag.is_stopped() {
            thread::sleep(LOOK.min(ahead().saturating_sub(SETUP)));
        }
        *self.ready.lock().unwrap_or_else(PoisonError::into_inner) = Some(ready);
        Ok(())
    }

    fn send(
        &self,
        load: &LoadToSend<'_>,
        tell: &mut dyn FnMut(LoadNews),
        flag: &StopFlag,
    ) -> Result<SentLoad, RunFailure> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ReadyLoad { name, members, begins } = match (ready, &self.attach) {
            (Some(ready), _) => ready,
            (None, Some(name)) => {
                let LoadDescription { members, begins, .. } = self.described(name)?;
                ReadyLoad { name: name.clone(), members, begins }
            }
            (None, None) => self.begin_load(load, flag, tell)?,
        };
        self.set_members(&members);
        let board = self.fleet.board(&name)?;
        let sent = Follower::new(self, &name, &board, members, begins).follow(&load.options.commands, tell, flag);
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(name);
        sent
    }

    fn agents(&self) -> u32 {
        self.wanted()
    }

    fn lost_at_most(&self) -> f64 {
        self.lost_at_most
    }

    fn listen(&self) -> Option<SocketAddr> {
        self.listen
    }

    fn kept(&self) {
        for load in self.sent.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // What a server does not do now, it does in a week.
            let _ = self.fleet.board(&load).and_then(|board| board.clear());
        }
    }

    fn facts(&self) -> Vec<(&'static str, Value)> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        vec![("agents", json!(*members)), ("approximations", json!(APPROXIMATIONS))]
    }
}

impl AgentCrew {
    /// Has agents begin; what is checked is checked before any of them sends.
    fn begin_load(
        &self,
        load: &LoadToSend<'_>,
        flag: &StopFlag,
        tell: &mut dyn FnMut(LoadNews),
    ) -> Result<ReadyLoad, RunFailure> {
        // The server is there now, and may be away when agents begin.
        let name = self.name_of_load(&load.experiment.name);
        let board = self.fleet.board(&name)?;
        let refused = RunFailure::Agents;
        if load.plan.replays() && !self.send_recording {
            let why = "a recording may say what people did: agents get it with --send-recording";
            return Err(refused(why.to_owned()));
        }
        let plan = LoadPlan { shard: None, ..load.plan.clone() };
        let whole = LoadPlan { shard: Some(shard_of(0, self.wanted() as usize)), ..plan.clone() };
        whole.check().map_err(|problem| refused(problem.to_string()))?;
        OrderedOptions::of(load.options).map_err(refused)?;
        let digest = digest_of(&plan)?;
        let trace = load.experiment.users.trace.as_ref().filter(|_| plan.replays());
        let recording = trace.map(|trace| Ok::<_, RunFailure>(self.fleet.store_file(&run_file::read(&trace.file)?)?));
        let recording = recording.transpose()?;
        let mut experiment = load.experiment.clone();
        experiment.arms = vec![load.experiment.arms[load.arm].clone()];
        let names = self.choose(flag, tell)?;
        let order = |shard| LoadOrder {
            load: name.clone(),
            shard,
            version: version(),
            machine: this_machine(),
            digest: digest.clone(),
            experiment: experiment.clone(),
            plan: plan.clone(),
            recording: recording.clone(),
            options: OrderedOptions::of(load.options).unwrap_or_else(|_| unreachable!("it was checked")),
            flat_out: load.flat_out,
            in_parts: load.in_parts,
        };
        let begun = self.prepare(&names, order).and_then(|()| {
            let clocks = self.clocks(&names)?;
            let member = |(number, name): (usize, &String)| CrewMember {
                name: name.clone(),
                shard: shard_of(number, names.len()),
                offset_ms: clocks[number].ahead_ns as f64 / 1e6,
                clock_error_ms: clocks[number].error.as_secs_f64() * 1e3,
            };
            let members: Vec<CrewMember> = names.iter().enumerate().map(member).collect();
            let lead = load.options.begins.map_or(LEAD, |start| start.ahead().max(LEAD));
            let at = self.moment(lead);
            let described = LoadDescription {
                begins: at.wall,
                experiment: experiment.clone(),
                plan: concealed_of(&plan),
                members: members.clone(),
                flat_out: load.flat_out,
                in_parts: load.in_parts,
                lost_at_most: self.lost_at_most,
            };
            board.describe(&serde_json::to_vec(&described)?)?;
            self.begin(&name, (&names, &clocks), at)?;
            Ok((members, at.wall))
        });
        let (members, begins) = begun.inspect_err(|_| self.stop(&name, &names, true))?;
        // A service of this coordinator's ends with it.
        if load.experiment.arms[load.arm].direct {
            tell(LoadNews::Note(format!(
                "{} begin in {:.0} s; should this end before them: lab load --attach {name} --nats {}",
                named(&names),
                begins.duration_since(SystemTime::now()).unwrap_or_default().as_secs_f64(),
                self.nats
            )));
        }
        tell(LoadNews::Begins(begins));
        Ok(ReadyLoad { name, members, begins })
    }
}

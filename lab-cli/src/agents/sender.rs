//! A load that agents send, from the choice of agents to their records.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::PoisonError,
    time::{Duration, Instant, SystemTime},
};

use analysis::{live::AgentSecond, record::ArmRecord, run_file, text::counted, whole_arm::APPROXIMATIONS};
use experiment::plan_digest::{concealed_of, digest_of};
use fleet::{BoardPosts, Contact, LoadBoard};
use measure::RecordSum;
use serde_json::{Value, json};
use workloads::{StopFlag, UserCommand, UserCommands, plan::LoadPlan};

use super::{
    clock::ClockOffset,
    crew::{AgentCrew, shard_of},
    description::{CrewMember, LoadDescription},
    host::LEASE,
    order::{AgentAnswer, AgentQuestion, END, LoadOrder, LoadStage, OrderedOptions, PartEnd},
    seconds::{SecondOfAll, SecondsOfParts},
};
use crate::{
    run::{LoadNews, LoadSender, LoadToSend, RunFailure, SentLoad, SentSecond},
    workers::version,
};

/// Between two signs that somebody waits for the load.
const SIGN: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(100);
/// An agent that was told to begin does within this time.
const UNTIL_BEGUN: Duration = Duration::from_secs(10);
/// From the orders to begin until the beginning, at least.
const LEAD: Duration = Duration::from_secs(2);
/// An agent that is not heard of for so long is told of.
const SILENT: Duration = Duration::from_secs(3);
/// A record that cannot be stored for so long is given up.
const UNTIL_STORED: Duration = Duration::from_secs(60);

impl LoadSender for AgentCrew {
    fn send(
        &self,
        load: &LoadToSend<'_>,
        tell: &mut dyn FnMut(LoadNews),
        flag: &StopFlag,
    ) -> Result<SentLoad, RunFailure> {
        let name = self.attach.clone().unwrap_or_else(|| self.name_of_load(&load.experiment.name));
        // The server is there now, and may be away when agents begin.
        let board = self.fleet.board(&name)?;
        let (members, begins) = match &self.attach {
            Some(_) => {
                let LoadDescription { members, begins, .. } = self.described(&name)?;
                (members, begins)
            }
            None => self.begin_load(load, (&name, &board), flag, tell)?,
        };
        self.set_members(&members);
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
        (name, board): (&str, &LoadBoard<'_>),
        flag: &StopFlag,
        tell: &mut dyn FnMut(LoadNews),
    ) -> Result<(Vec<CrewMember>, SystemTime), RunFailure> {
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
            load: name.to_owned(),
            shard,
            version: version(),
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
            self.begin(name, (&names, &clocks), at)?;
            Ok((members, at.wall))
        });
        let (members, begins) = begun.inspect_err(|_| self.stop(name, &names, true))?;
        let agents = counted(members.len(), "agent");
        let all: Vec<&str> = members.iter().take(8).map(|member| &*member.name).collect();
        let more = if members.len() > all.len() { ", ..." } else { "" };
        tell(LoadNews::Note(format!(
            "{agents} ({}{more}) begin in {:.0} s; should this end before them: lab load --attach {name} --nats {}",
            all.join(", "),
            begins.duration_since(SystemTime::now()).unwrap_or_default().as_secs_f64(),
            self.nats
        )));
        tell(LoadNews::Begins(begins));
        Ok((members, begins))
    }
}

/// A coordinator that follows a load.
struct Follower<'a> {
    crew: &'a AgentCrew,
    load: &'a str,
    posts: BoardPosts<'a>,
    contact: Contact,
    names: Vec<String>,
    parts: Vec<FollowedPart>,
    seconds: SecondsOfParts,
    begins: SystemTime,
    /// How much of it was told to end: nothing, arrivals, all.
    told_to_stop: u8,
    /// The first time that records could not be stored, or the server did not answer.
    trouble: Option<(String, Instant)>,
}

/// An agent's part, as a coordinator sees it.
struct FollowedPart {
    member: CrewMember,
    /// As the last answer tells it.
    clock: ClockOffset,
    heard: Instant,
    stage: LoadStage,
    /// Since when its record cannot be stored.
    unstored: Option<(String, Instant)>,
    end: Option<PartEnd>,
    lost: Option<String>,
    /// What was told of it, where something is wrong.
    told: Option<String>,
}

impl FollowedPart {
    /// What is wrong with it.
    fn in_words(&self) -> Option<String> {
        let CrewMember { name, shard, .. } = &self.member;
        match (&self.end, &self.lost) {
            (Some(PartEnd::Record(_)), _) => None,
            (Some(PartEnd::Failed(why)), _) => Some(format!("agent {name}, part {shard}: {why}")),
            (None, Some(why)) => Some(format!("agent {name} is lost, and part {shard} with it: {why}")),
            (None, None) => {
                let silent = self.heard.elapsed() > SILENT;
                silent.then(|| format!("agent {name}, part {shard}: no sign of it for 3 s; after 10 s it is lost"))
            }
        }
    }
}

impl<'a> Follower<'a> {
    fn new(
        crew: &'a AgentCrew,
        load: &'a str,
        board: &'a LoadBoard<'a>,
        members: Vec<CrewMember>,
        begins: SystemTime,
    ) -> Self {
        let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
        let hello = AgentQuestion::Hello { load: Some(load.to_owned()) };
        let contact = crew.fleet.keep_contact(&names, serde_json::to_vec(&hello).unwrap_or_default(), SIGN);
        let part = |member| FollowedPart {
            clock: ClockOffset::default(),
            member,
            heard: Instant::now(),
            stage: LoadStage::Ready,
            unstored: None,
            end: None,
            lost: None,
            told: None,
        };
        let seconds = SecondsOfParts::of(members.len());
        let parts = members.into_iter().map(part).collect();
        let posts = board.posts();
        Self { crew, load, posts, contact, names, parts, seconds, begins, told_to_stop: 0, trouble: None }
    }

    fn follow(
        mut self,
        commands: &UserCommands,
        tell: &mut dyn FnMut(LoadNews),
        flag: &StopFlag,
    ) -> Result<SentLoad, RunFailure> {
        while self.parts.iter().any(|part| part.end.is_none() && part.lost.is_none()) {
            self.hear_posts(tell)?;
            self.look();
            commands.take().into_iter().for_each(|command| self.command(&command, tell));
            self.tell_parts(tell);
            self.tell_seconds(tell);
            let wanted = if flag.cuts_off() { 2 } else { u8::from(flag.is_stopped() || self.has_lost_too_much()) };
            if wanted > self.told_to_stop {
                self.told_to_stop = wanted;
                self.crew.stop(self.load, &self.names, wanted > 1);
            }
        }
        self.hear_posts(tell)?;
        self.tell_parts(tell);
        self.tell_seconds(tell);
        // A load that was given up while its records are stored.
        self.crew.stop(self.load, &self.names, true);
        self.records()
    }

    /// Has all change their users.
    fn command(&self, command: &UserCommand, tell: &mut dyn FnMut(LoadNews)) {
        let of_part = |part: &FollowedPart| command.clone().for_part(part.member.shard);
        let commands: Vec<Option<UserCommand>> = match self.parts.iter().map(of_part).collect() {
            Ok(commands) => commands,
            Err(error) => return tell(LoadNews::Note(format!("not done: {error}"))),
        };
        let (names, commands): (Vec<String>, Vec<UserCommand>) =
            self.names.iter().cloned().zip(commands).filter_map(|(name, command)| Some((name, command?))).unzip();
        let question = |number: usize| {
            let (load, command) = (self.load.to_owned(), commands[number].clone());
            serde_json::to_vec(&AgentQuestion::Command { load, command }).unwrap_or_default()
        };
        for error in self.crew.fleet.call(&names, &question, SIGN).into_iter().filter_map(Result::err) {
            tell(LoadNews::Note(format!("not done everywhere: {error}")));
        }
    }

    /// What agents have posted until now; waits a moment for the first.
    fn hear_posts(&mut self, tell: &mut dyn FnMut(LoadNews)) -> Result<(), RunFailure> {
        let mut wait = LOOK;
        loop {
            let post = match self.posts.next(wait) {
                Ok(None) => return Ok(()),
                Ok(Some(post)) => post,
                Err(error) => {
                    self.say_trouble(error.to_string(), tell);
                    std::thread::sleep(LOOK);
                    return Ok(());
                }
            };
            self.trouble = None;
            wait = Duration::ZERO;
            let (name, bytes) = post;
            let Some((agent, what)) = name.split_once('.') else { continue };
            let Some(number) = self.names.iter().position(|name| name == agent) else { continue };
            if what == END {
                // What is no end is a part that is lost.
                let end = serde_json::from_slice(&bytes)
                    .map_or_else(|error| PartEnd::Failed(error.to_string()), PartEnd::believed);
                self.parts[number].end = Some(end);
                self.seconds.is_over(number, true);
            } else if let Ok(second) = serde_json::from_slice(&bytes) {
                self.seconds.add(number, second);
            }
        }
    }

    fn say_trouble(&mut self, why: String, tell: &mut dyn FnMut(LoadNews)) {
        if self.trouble.is_none() {
            tell(LoadNews::Note(format!("{why}; it is tried again")));
            self.trouble = Some((why, Instant::now()));
        }
    }

    /// Who is there, and what it does.
    fn look(&mut self) {
        for (number, part) in self.parts.iter_mut().enumerate().filter(|(_, part)| part.end.is_none()) {
            let answer = self.contact.last(number);
            let told = answer.and_then(|answer| {
                let told: AgentAnswer = serde_json::from_slice(&answer.bytes).ok()?;
                (answer.heard > part.heard).then_some((answer, told))
            });
            if let Some((answer, told)) = told {
                part.heard = answer.heard;
                part.clock = ClockOffset::of(self.crew.reading(&answer)).unwrap_or(part.clock);
                part.lost = None;
                match told.load.filter(|state| state.load == self.load) {
                    None => part.lost = Some("it was started again, and knows nothing of it".to_owned()),
                    Some(state) => {
                        part.stage = state.stage;
                        let since = part.unstored.take().map_or_else(Instant::now, |(_, since)| since);
                        part.unstored = state.trouble.map(|why| (why, since));
                    }
                }
            }
            let late = self.begins.elapsed().unwrap_or_default();
            if part.stage == LoadStage::Ready && late > UNTIL_BEGUN {
                part.lost = Some("it does not begin".to_owned());
            }
            let unstored = part.unstored.as_ref().filter(|_| part.stage == LoadStage::Storing);
            if part.heard.elapsed() > LEASE {
                part.lost = Some("no sign of it for 10 s".to_owned());
            } else if let Some((why, _)) = unstored.filter(|(_, since)| since.elapsed() > UNTIL_STORED) {
                part.lost = Some(format!("its record cannot be stored ({why}), and stays in its folder"));
            }
            self.seconds.is_over(number, part.lost.is_some());
        }
    }

    fn has_lost_too_much(&self) -> bool {
        let is_lost = |part: &&FollowedPart| match &part.end {
            Some(PartEnd::Failed(_)) => true,
            Some(PartEnd::Record(_)) => false,
            None => part.lost.is_some(),
        };
        let lost = self.parts.iter().filter(is_lost).count();
        lost as f64 > self.crew.lost_at_most * self.parts.len() as f64
    }

    /// What has become of parts since that was told.
    fn tell_parts(&mut self, tell: &mut dyn FnMut(LoadNews)) {
        for part in &mut self.parts {
            let state = part.in_words();
            if state != part.told {
                let (name, shard) = (&part.member.name, part.member.shard);
                let again = || format!("agent {name} is there again, with part {shard}");
                tell(LoadNews::Note(state.clone().unwrap_or_else(again)));
                part.told = state;
            }
        }
    }

    /// Seconds that are whole.
    fn tell_seconds(&mut self, tell: &mut dyn FnMut(LoadNews)) {
        while let Some(SecondOfAll { window, busiest, parts: told }) = self.seconds.next() {
            let agent = |(part, told): (&FollowedPart, &Option<super::order::PostedSecond>)| AgentSecond {
                name: part.member.name.clone(),
                shard: part.member.shard,
                sent: told.as_ref().map_or(0, |second| second.window.sent),
                send_lag_p99_ms: told.as_ref().map_or(0.0, |second| second.generator.send_lag_p99_ms),
                cpu: told.as_ref().map_or(0.0, |second| second.generator.cpu),
                offset_ms: part.clock.ahead_ns as f64 / 1e6,
                clock_error_ms: part.clock.error.as_secs_f64() * 1e3,
                silent_ms: part.heard.elapsed().as_secs_f64() * 1e3,
                lost: part.lost.clone(),
            };
            let agents = self.parts.iter().zip(&told).map(agent).collect();
            tell(LoadNews::Second(Box::new(SentSecond { window, agents: Some((busiest, agents)) })));
        }
    }

    /// What all have measured.
    fn records(self) -> Result<SentLoad, RunFailure> {
        let (mut sum, mut parts, mut failures) = (RecordSum::default(), Vec::<ArmRecord>::new(), BTreeMap::new());
        for part in self.parts {
            match part.end {
                Some(PartEnd::Record(record)) => {
                    let measured = record.measured.as_ref().map_or(Ok(()), |measured| sum.add(measured));
                    let agent = part.member.name;
                    measured.map_err(|error| RunFailure::AgentsFailed(format!("agent {agent}: {error}")))?;
                    parts.push(*record);
                }
                Some(PartEnd::Failed(why)) => _ = failures.insert(part.member.name, why),
                None => _ = failures.insert(part.member.name, part.lost.unwrap_or_default()),
            }
        }
        if parts.is_empty() {
            let said: Vec<String> = failures.iter().map(|(name, why)| format!("agent {name}: {why}")).collect();
            return Err(RunFailure::AgentsFailed(said.join("\n")));
        }
        let measured = sum.of_those_added().map_err(|error| RunFailure::AgentsFailed(error.to_string()))?;
        let report = measured.report().map_err(|error| RunFailure::AgentsFailed(error.to_string()))?;
        Ok(SentLoad { report, agents: self.names, parts })
    }
}

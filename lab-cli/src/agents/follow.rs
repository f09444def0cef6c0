//! A coordinator that follows a load: who is there, what they post, and what they have measured in the end.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant, SystemTime},
};

use analysis::{live::AgentSecond, record::ArmRecord};
use fleet::{BoardPosts, Contact, LoadBoard};
use measure::RecordSum;
use workloads::{StopFlag, UserCommand, UserCommands};

use super::{
    clock::ClockOffset,
    crew::AgentCrew,
    description::CrewMember,
    host::LEASE,
    order::{AgentAnswer, AgentQuestion, END, LoadStage, PartEnd},
    seconds::{SecondOfAll, SecondsOfParts},
};
use crate::run::{LoadNews, RunFailure, SentLoad, SentSecond};

/// Between two signs that somebody waits for the load.
const SIGN: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(100);
/// An agent that was told to begin does within this time.
const UNTIL_BEGUN: Duration = Duration::from_secs(10);
/// An agent that is not heard of for so long is told of.
const SILENT: Duration = Duration::from_secs(3);
/// A record that cannot be stored for so long is given up.
const UNTIL_STORED: Duration = Duration::from_secs(60);

/// A coordinator that follows a load.
pub(super) struct Follower<'a> {
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
    pub(super) fn new(
        crew: &'a AgentCrew,
        load: &'a str,
        board: &'a LoadBoard<'a>,
        members: Vec<CrewMember>,
        begins: SystemTime,
    ) -> Self {
        let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
        let hello = AgentQuestion::Hello { load: Some(load.to_owned()) };
        let contact = crew.fleet.keep_contact(&names, serde_json::to_vec(&hello).unwrap_or_default(), SIGN);
        let part = |member: CrewMember| FollowedPart {
            clock: member.clock(),
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

    pub(super) fn follow(
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

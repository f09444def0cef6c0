//! An agent's part of a load: it is sent, posted second by second, and its record stored.

use std::{
    fs,
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

use analysis::{
    record::{self, ArmRecord},
    run_file,
};
use fleet::{Fleet, FleetError, LoadBoard};
use health::clock::Start;
use senders::RunOptions;

use super::{
    host::LoadHost,
    order::{Beginning, END, LoadOrder, LoadStage, PartEnd, PostedSecond},
};
use crate::{
    exit::complain,
    run::{
        LoadEvent, LoadFolder, LoadRequest, OwnGenerator, RunFailure, RunShare, ShareOf, StopSignal, UsersShare,
        run_load,
    },
};

/// Seconds that wait for a server that is away.
const MOST_WAIT: usize = 600;
const LOOK: Duration = Duration::from_millis(100);

/// A part that an agent was told to send.
#[derive(Debug)]
pub struct AgentPart<'a> {
    pub fleet: &'a Fleet,
    pub host: &'a LoadHost,
    pub order: &'a LoadOrder,
    /// Folder for its own, which is left where the server does not take it.
    pub folder: &'a Path,
    pub stop: &'a StopSignal,
}

impl AgentPart<'_> {
    /// Sends it, from the wait for its beginning to its stored record.
    pub fn carry_out(&self) {
        let load = &*self.order.load;
        // The server was there a moment ago, and may be away when it begins.
        let board = match self.fleet.board(load) {
            Ok(board) => board,
            Err(error) => {
                complain(&format!("{load}: {error}"));
                return self.host.forget();
            }
        };
        let Some((begins, flag)) = self.host.wait_for_beginning(load) else {
            complain(&format!("{load} did not begin"));
            return self.host.forget();
        };
        complain(&format!("sends part {} of {load} to {}", self.order.shard, self.order.plan.target.url));
        self.host.stage(load, LoadStage::Running);
        let (over, (seconds, to_post)) = (AtomicBool::new(false), mpsc::sync_channel(MOST_WAIT));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    thread::sleep(LOOK);
                    self.host.watch(load, self.stop.is_asked());
                }
            });
            scope.spawn(|| self.post_seconds(&board, to_post));
            let sent = self.send(&begins, &flag, |second| _ = seconds.try_send(second));
            self.host.stage(load, LoadStage::Storing);
            over.store(true, Ordering::Relaxed);
            drop(seconds);
            sent
        })
        .map_or_else(
            |failure| self.store(&board, &PartEnd::Failed(failure.to_string())),
            |record| self.store(&board, &PartEnd::Record(Box::new(record))),
        );
        self.host.stage(load, LoadStage::Done);
    }

    fn send(
        &self,
        begins: &Beginning,
        flag: &workloads::StopFlag,
        post: impl Fn(PostedSecond),
    ) -> Result<ArmRecord, RunFailure> {
        let LoadOrder { load, shard, experiment, plan, options, flat_out, in_parts, .. } = self.order;
        let users = UsersShare { began: Some(begins.start.clone()), ..UsersShare::default() };
        let share = RunShare { shard: *shard, of: ShareOf::Users(users) };
        let start = Start::at(self.host.instant(begins.at_ns));
        let request = LoadRequest {
            experiment,
            options: RunOptions { begins: Some(start), commands: self.host.commands(load), ..options.options() },
            flat_out: *flat_out,
            out: Some(LoadFolder::At(self.folder)),
            share: Some(&share),
            recorded: None,
            in_parts: *in_parts,
            sender: &OwnGenerator,
        };
        let seen = |event: LoadEvent<'_>| {
            let Some((window, second)) = event.second() else { return };
            self.host.second(load, window);
            post(PostedSecond { window: window.clone(), generator: second.generator });
        };
        run_load(&request, plan.clone(), seen, flag, || flag.is_stopped())?;
        let path = self.folder.join(record::file_name(&experiment.arms[0].label, 1));
        let mut record: ArmRecord = run_file::json(&path)?;
        if let Some(part) = &mut record.part {
            (part.agent, part.stopped) = (Some(self.fleet.name().to_owned()), self.host.stopped(load));
        }
        Ok(record)
    }

    fn post_seconds(&self, board: &LoadBoard<'_>, seconds: Receiver<PostedSecond>) {
        for second in seconds {
            let name = second.window.second.to_string();
            // A second that is not posted is missed by whoever watches; the record has it.
            let _ = serde_json::to_vec(&second).map(|bytes| self.post(board, &name, &bytes));
        }
    }

    fn store(&self, board: &LoadBoard<'_>, end: &PartEnd) {
        let load = &self.order.load;
        let stored = serde_json::to_vec(end)
            .map_err(|error| FleetError::Unfit(error.to_string()))
            .and_then(|bytes| self.post(board, END, &bytes));
        match stored {
            Ok(()) => {
                complain(&format!("part {} of {load} is stored", self.order.shard));
                // What is stored is not needed here.
                let _ = fs::remove_dir_all(self.folder);
            }
            Err(error) => complain(&format!("{load}: {error}; the part is in {}", self.folder.display())),
        }
    }

    fn post(&self, board: &LoadBoard<'_>, name: &str, bytes: &[u8]) -> Result<(), FleetError> {
        let load = &self.order.load;
        let in_vain = |error: &FleetError| {
            self.host.trouble(load, Some(error.to_string()));
            self.stop.is_asked() || self.host.is_in_vain(load)
        };
        board.post(&format!("{}.{name}", self.fleet.name()), bytes, &in_vain)?;
        self.host.trouble(load, None);
        Ok(())
    }
}

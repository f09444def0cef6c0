//! An agent's side: from a piece of work to its result, in virtual time.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::Arc,
};

use experiment::Experiment;
use fleet::{Fleet, StoredFiles};

use super::{
    bundle,
    item::{ItemAnswer, ItemTask, WorkItem},
};
use crate::{
    exit::Failure,
    run::{Cpus, RunFailure, RunRequest, Sinks, StopSignal, conduct},
    store::put_in_place,
    sweep::{Seed, SweepRun, SweepWorld},
};

/// One thread of an agent. It starts no program, sends nothing to anybody but the server, and writes into its own folder alone.
#[derive(Debug)]
pub struct Computer<'a> {
    fleet: &'a Fleet,
    /// Folder for what it needs while it works.
    folder: &'a Path,
    cpus: Cpus,
    stop: StopSignal,
    /// The world of the last run.
    world: Option<Arc<SweepWorld>>,
}

/// A result.
#[derive(Debug)]
pub struct ComputedItem {
    pub bytes: Vec<u8>,
    /// The part of it that every machine must come to.
    pub same: Vec<u8>,
}

impl<'a> Computer<'a> {
    /// `stop` is of this thread alone.
    pub fn new(fleet: &'a Fleet, folder: &'a Path, stop: StopSignal) -> Self {
        Self { fleet, folder, cpus: Cpus { jobs: Some(1), ..Cpus::choose() }, stop, world: None }
    }

    /// Computes a piece of work; `None`: it was stopped.
    ///
    /// # Errors
    /// This machine cannot do it; another one may.
    pub fn compute(&mut self, work: &[u8]) -> Result<Option<ComputedItem>, Failure> {
        let mut item: WorkItem<'_> = match serde_json::from_slice(work) {
            Ok(item) => item,
            Err(error) => return failed(&format!("the work cannot be read: {error}")),
        };
        if let Some(why) = item.experiment.live_only() {
            return failed(&format!("{} has no virtual time: {why}", item.name));
        }
        if let Some(trace) = &item.experiment.users.trace {
            let Some(file) = item.recording.as_ref().filter(|file| **file == trace.sha256).cloned() else {
                return failed(&format!("{} replays a recording, which was not sent (--send-recording)", item.name));
            };
            let path = stored_recording(&self.fleet.files(), self.folder, &file)?;
            let mut with_file = item.experiment.into_owned();
            with_file.users.trace.iter_mut().for_each(|trace| trace.file.clone_from(&path));
            item.experiment = Cow::Owned(with_file);
        }
        let found = match item.task {
            ItemTask::Arm { .. } => self.arm(&item),
            ItemTask::Folder => self.whole_run(&item.experiment),
        };
        match found {
            Ok(found) => Ok(found),
            Err(_) if self.stop.is_asked() => Ok(None),
            Err(failure @ (RunFailure::Folder(_) | RunFailure::Machine { .. })) => Err(failure.into()),
            Err(failure) => failed(&failure.to_string()),
        }
    }

    fn arm(&mut self, item: &WorkItem<'_>) -> Result<Option<ComputedItem>, RunFailure> {
        let ItemTask::Arm { arm, block, seed, capacity } = &item.task else { return Ok(None) };
        let experiment = Arc::new(item.experiment.clone().into_owned());
        let fits = |world: &&Arc<SweepWorld>| world.capacity == *capacity && world.is_of(&experiment);
        let world = match self.world.as_ref().filter(fits) {
            Some(world) => Arc::clone(world),
            None => Arc::new(SweepWorld::with(&experiment, capacity.clone())),
        };
        self.world = Some(Arc::clone(&world));
        let Some(planned) = experiment.arms.get(*arm) else {
            return Err(RunFailure::Capacity(format!("{} has no arm {arm}", item.name)));
        };
        world.setup.can_start(&experiment, planned)?;
        let (name, seed) = (item.name.clone().into_owned(), Seed { block: *block, seed: *seed });
        let run = SweepRun { name, experiment, world, arm: *arm, seed };
        let Some(found) = run.compute(&self.stop.fresh_flag())? else { return Ok(None) };
        let bytes = serde_json::to_vec(&ItemAnswer::Arm(Box::new(found)))?;
        Ok(Some(ComputedItem { same: bytes.clone(), bytes }))
    }

    fn whole_run(&self, experiment: &Experiment) -> Result<Option<ComputedItem>, RunFailure> {
        let folder = tempfile::tempdir_in(self.folder).map_err(RunFailure::machine("a folder for a run"))?;
        let out = folder.path().join("run");
        let request = RunRequest::unattended(experiment, Some(&out), &self.cpus, true);
        conduct(request, &mut Sinks::default(), &self.stop)?;
        if self.stop.is_asked() {
            return Ok(None);
        }
        let (bytes, same) = bundle::packed(&out)?;
        Ok(Some(ComputedItem { bytes, same }))
    }
}

/// The path of a recording in a folder of the agent's own, which is fetched once.
///
/// # Errors
/// The server does not have it.
pub fn stored_recording(files: &StoredFiles, folder: &Path, digest: &str) -> Result<PathBuf, Failure> {
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_digest {
        return Err(Failure::because("a file has a name that is no digest"));
    }
    let path = folder.join(digest);
    if !path.exists() {
        put_in_place(&path, &files.file(digest)?).map_err(Failure::at(&path))?;
    }
    Ok(path)
}

/// Work that no machine can do.
fn failed(why: &str) -> Result<Option<ComputedItem>, Failure> {
    let bytes = serde_json::to_vec(&ItemAnswer::Failed(why.to_owned())).map_err(Failure::because)?;
    Ok(Some(ComputedItem { same: bytes.clone(), bytes }))
}

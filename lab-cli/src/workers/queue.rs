//! A coordinator's side: runs and scenarios, each a piece of work.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use analysis::{run_file, sha256};
use experiment::Experiment;
use fleet::{Fleet, FleetError, WorkNews, WorkOrder};

use super::{
    access::connect,
    bundle,
    item::{ItemAnswer, ItemTask, WorkItem, check_sent, version},
    told::Told,
};
use crate::{
    args::WorkersArgs,
    exit::{Failure, complain},
    run::StopSignal,
    sweep::{BenchError, HearPool, PoolNews, RunPool, SweepRun},
};

/// Agents that take work from a queue.
#[derive(Debug)]
pub struct AgentPool {
    fleet: Fleet,
    send_recording: bool,
}

/// What becomes of an item.
enum ItemNews {
    Waiting,
    /// With the bytes behind the answer.
    Answer(usize, ItemAnswer, Vec<u8>),
    Lost(usize, String),
}

impl AgentPool {
    /// Connects to the server that agents take work from.
    pub fn connect(args: &WorkersArgs) -> Result<Self, Failure> {
        Ok(Self { fleet: connect(&args.nats, None)?, send_recording: args.send_recording })
    }

    /// Has items computed, and hears of them in their order.
    fn all<'i>(
        &self,
        items: (usize, &'i dyn Fn(usize) -> WorkItem<'i>),
        stop: &StopSignal,
        heard: &mut dyn FnMut(ItemNews) -> Result<(), BenchError>,
    ) -> Result<(), BenchError> {
        let (count, item) = items;
        if count == 0 {
            return Ok(());
        }
        // What was checked can be written.
        let bytes = |number: usize| item(number).bytes().unwrap_or_default();
        let order = |number: usize| {
            let bytes = bytes(number);
            WorkOrder { key: WorkItem::key(&bytes), bytes }
        };
        let group = sha256::of(item(0).experiment.name.as_bytes());
        let orders = self.fleet.orders(&version(), &group[..12])?;
        let (mut told, mut next) = (Told::default(), 0);
        let done = orders.all(count, &order, &|| stop.is_asked(), &mut |news| {
            let news = match news {
                WorkNews::Waiting => ItemNews::Waiting,
                WorkNews::Quiet(agents) => {
                    told.quiet(&agents);
                    return Ok::<_, BenchError>(());
                }
                WorkNews::Trouble(why) => {
                    told.trouble(&why);
                    return Ok(());
                }
                WorkNews::GaveUp(times) => ItemNews::Lost(
                    next,
                    format!("given up: it went to agents {times} times, and none came to a result"),
                ),
                WorkNews::Done(bytes) => {
                    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
                    let answer = serde_json::from_slice(&bytes[..end]).map_err(Failure::because)?;
                    ItemNews::Answer(next, answer, bytes.get(end + 1..).unwrap_or_default().to_vec())
                }
            };
            next += usize::from(!matches!(news, ItemNews::Waiting));
            heard(news)
        });
        let Err(BenchError::Said(failure)) = done else { return done };
        let name = |key: &str| {
            let number = (0..count).find(|number| WorkItem::key(&bytes(*number)) == key);
            number.map_or_else(String::new, |number| item(number).name.into_owned())
        };
        // A key says nothing to people.
        Err(BenchError::Said(match failure {
            Failure::Cause(text) => match text.rsplit_once(" results of ") {
                Some((said, key)) if key.len() == 64 => Failure::Cause(format!("{said} results of {}", name(key))),
                _ => Failure::Cause(text),
            },
            other => other,
        }))
    }

    /// Stores the recording that an experiment replays.
    fn recording(&self, experiment: &Experiment) -> Result<Option<String>, Failure> {
        let Some(trace) = &experiment.users.trace else { return Ok(None) };
        if !self.send_recording {
            let why = "replays a recording, which may say what people did: agents get it with --send-recording";
            return Err(Failure::usage(format!("{} {why}", experiment.name)));
        }
        Ok(Some(self.fleet.store_file(&run_file::read(&trace.file)?)?))
    }
}

impl RunPool for AgentPool {
    fn compute(&self, runs: &[SweepRun], stop: &StopSignal, heard: &mut HearPool<'_>) -> Result<(), BenchError> {
        let mut recordings: Vec<Option<String>> = Vec::new();
        for (number, run) in runs.iter().enumerate() {
            let same = |before: &SweepRun| Arc::ptr_eq(&before.experiment, &run.experiment);
            let known = number.checked_sub(1).filter(|before| same(&runs[*before]));
            recordings.push(match known {
                Some(before) => recordings[before].clone(),
                None => {
                    check_sent(&run.experiment)?;
                    self.recording(&run.experiment)?
                }
            });
        }
        let item = |number: usize| {
            let run = &runs[number];
            let capacity = run.world.capacity.clone();
            WorkItem {
                name: Cow::Borrowed(&*run.name),
                experiment: Cow::Borrowed(&*run.experiment),
                recording: recordings[number].clone(),
                task: ItemTask::Arm { arm: run.arm, block: run.seed.block, seed: run.seed.seed, capacity },
            }
        };
        self.all((runs.len(), &item), stop, &mut |news| {
            heard(match news {
                ItemNews::Waiting => PoolNews::Waiting,
                ItemNews::Lost(number, why) => PoolNews::Lost(number, why),
                ItemNews::Answer(number, ItemAnswer::Arm(arm), _) => PoolNews::Found(number, arm),
                ItemNews::Answer(_, answer, _) => return Err(unwanted(answer).into()),
            })?;
            Ok(())
        })
    }
}

/// Has scenarios run, and writes their folders; gives the number of those that nobody came to a result of.
///
/// # Errors
/// It was stopped, a run failed, or the server will not do.
pub fn scenario_folders(
    args: &WorkersArgs,
    scenarios: &[(&Experiment, PathBuf)],
    stop: &StopSignal,
) -> Result<usize, BenchError> {
    let pool = AgentPool::connect(args)?;
    let recordings = scenarios.iter().map(|(experiment, _)| {
        check_sent(experiment)?;
        pool.recording(experiment)
    });
    let recordings: Vec<Option<String>> = recordings.collect::<Result<_, _>>()?;
    let item = |number: usize| WorkItem {
        name: Cow::Borrowed(&*scenarios[number].0.name),
        experiment: Cow::Borrowed(scenarios[number].0),
        recording: recordings[number].clone(),
        task: ItemTask::Folder,
    };
    let mut lost = 0;
    pool.all((scenarios.len(), &item), stop, &mut |news| {
        match news {
            ItemNews::Waiting => {}
            ItemNews::Lost(number, why) => {
                complain(&format!("{}: {why}", scenarios[number].0.name));
                lost += 1;
            }
            ItemNews::Answer(number, ItemAnswer::Folder(index), bytes) => {
                bundle::unpack(&index, &bytes, &scenarios[number].1)?;
                complain(&format!("{} of {} scenarios, {}", number + 1, scenarios.len(), scenarios[number].0.name));
            }
            ItemNews::Answer(_, answer, _) => return Err(unwanted(answer).into()),
        }
        Ok(())
    })?;
    Ok(lost)
}

fn unwanted(answer: ItemAnswer) -> Failure {
    match answer {
        ItemAnswer::Failed(why) => Failure::because(why),
        ItemAnswer::Arm(_) | ItemAnswer::Folder(_) => {
            Failure::because("an agent sent something else than was asked for")
        }
    }
}

impl From<FleetError> for BenchError {
    fn from(error: FleetError) -> Self {
        match error {
            FleetError::Stopped => Self::Stopped,
            error => Self::Said(error.into()),
        }
    }
}

impl From<Failure> for BenchError {
    fn from(failure: Failure) -> Self {
        Self::Said(failure)
    }
}

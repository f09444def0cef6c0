//! Carries reports between the tasks of several services and the machines of the tree, which run in this process.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use controllers::{PeerReport, Timestamp};
use target_app::{
    control::{client::ControlClient, wire::StageGauges},
    tree::{TreeMachines, TreeSpec, addressee, global},
};

use crate::run::RunFailure;

/// What can be seen of the machines.
pub type SharedGauges = Arc<Mutex<Vec<StageGauges>>>;

/// The longest time between two looks at the clock.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Begins to carry, on threads that end with the tasks. `tasks`: their control ports in the order of the services.
pub fn carry(spec: &TreeSpec, tasks: Vec<ControlClient>) -> Result<SharedGauges, RunFailure> {
    let beside = TreeMachines::new(spec).map_err(|error| RunFailure::Target(error.to_string()))?;
    let shown = SharedGauges::default();
    let (tell, reports) = mpsc::channel::<(usize, PeerReport)>();
    for (number, task) in tasks.iter().cloned().enumerate() {
        // Asked for before the first request, so that none is missed.
        let lines = task.reports()?;
        let tell = tell.clone();
        let read = move || {
            for report in lines.map_while(Result::ok) {
                if tell.send((number, report)).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("reports".to_owned())
            .spawn(read)
            .map_err(RunFailure::machine("a thread that reads reports"))?;
    }
    let show = Arc::clone(&shown);
    let divide = move || divide(beside, &tasks, &reports, &show);
    thread::Builder::new()
        .name("beside".to_owned())
        .spawn(divide)
        .map_err(RunFailure::machine("the thread beside all services"))?;
    Ok(shown)
}

fn divide(
    mut beside: TreeMachines,
    tasks: &[ControlClient],
    reports: &mpsc::Receiver<(usize, PeerReport)>,
    show: &SharedGauges,
) {
    let began = Instant::now();
    let now = || Timestamp::from_nanos(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let mut wake = None;
    loop {
        let wait = wake.map_or(LONGEST_WAIT, |at: Timestamp| at.since(now()).min(LONGEST_WAIT));
        match reports.recv_timeout(wait) {
            Ok((task, report)) => beside.hear(now(), global(task, report)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let turn = beside.turn(now());
        wake = turn.wake;
        for (task, _, report) in turn.told.into_iter().filter_map(addressee) {
            // A task that does not answer keeps the quota that it has: it is told again within a period.
            let _ = tasks.get(task).map(|task| task.hear(&report));
        }
        *show.lock().unwrap_or_else(PoisonError::into_inner) = beside.gauges();
    }
}

//! One arm: a fresh target on a fresh copy of the mail, the load, both ledgers.

use std::time::Duration;

use analysis::{
    figures,
    judge::threshold::{self, Abort, abort_at},
    live::{LiveEvent, Second},
    summary,
};
use experiment::plan::{Arm, Phase};
use measure::Report;
use target_app::control::wire::{Gauges, ReadRequests};
use workloads::{
    Options, UserCommands,
    plan::{Load, LoadPlan, Target},
};

use super::{
    Cpus, RunFailure, Sinks, Stop, assemble, balancers,
    folder::Folder,
    join::join,
    kernel::Counters,
    policy_events::PolicyEvents,
    renew::Renewals,
    seconds_log::SecondsLog,
    site::{Controls, Site, SiteSpec},
    speed,
    surroundings::Surroundings,
    target::log_in,
    touches::{Hands, Reach, Touches},
    watch::{Seconds, Watch},
};

/// What an arm left.
#[derive(Debug)]
pub struct Ended {
    /// For the summary; not judged yet.
    pub arm: summary::Arm,
    /// With its histograms.
    pub report: Report,
    /// Second by second.
    pub timeline: Vec<Second>,
    /// A threshold ended it.
    pub abort: Option<Abort>,
}

/// What to run.
#[derive(Debug)]
pub struct Turn<'a> {
    /// Which arm.
    pub arm: &'a Arm,
    /// Which repetition.
    pub block: u32,
    /// What it runs against.
    pub site: SiteSpec,
    /// What the load consists of.
    pub phases: &'a [Phase],
    /// Thresholds that end the run.
    pub watches: &'a [(usize, threshold::Watch)],
    /// What a person may do to it.
    pub touches: &'a Touches,
    /// Where generator and target run.
    pub cpus: &'a Cpus,
}

/// Runs it. `plan` makes the load plan once it is known where users go.
pub fn run(
    turn: &Turn<'_>,
    plan: impl FnOnce(Target) -> LoadPlan,
    folder: &mut Folder,
    sinks: &mut Sinks,
    stop: &Stop,
) -> Result<Ended, RunFailure> {
    let policy = Some(turn.arm.policy.clone());
    tell(&LiveEvent::ArmStarted { arm: turn.arm.label.clone(), block: turn.block, policy }, folder, sinks)?;
    let mut site = Site::start(&turn.site, &log_in(folder.path()))?;
    let controls = site.controls().clone();
    let plan = plan(site.users_go_to.clone());
    let first = controls.gauges()?;
    let before = Counters::read();
    let watch = Watch::begin(&controls).map_err(super::snapshot::machine("the thread that reads gauges"))?;

    let policy_events = PolicyEvents::begin(&controls)?;

    let names = plan.phases.iter().map(|phase| phase.name.clone()).collect();
    let mut seconds = Seconds::new(&turn.arm.label, turn.block, names);
    let mut times = SecondsLog::create(folder.path(), &turn.arm.label, turn.block)?;
    let mut timeline = Vec::new();
    let mut phase = None;
    let mut stopping = false;
    let mut failed = None;
    let mut died = None;
    let mut watches = turn.watches.to_vec();
    let mut abort = None;
    let flag = stop.fresh_flag();
    let renewals =
        Renewals::begin(&controls, turn.phases).map_err(super::snapshot::machine("the thread that renews policies"))?;
    let commands = UserCommands::default();
    let class =
        plan.phases.iter().flat_map(|phase| &phase.loads).flat_map(Load::classes).copied().next().unwrap_or_default();
    let reach = Reach { controls: controls.clone(), commands: commands.clone(), class };
    let hands =
        Hands::begin(turn.touches, reach).map_err(super::snapshot::machine("the thread that carries out touches"))?;
    let mut touches = Vec::new();
    let surroundings = Surroundings::begin(turn.cpus);
    let speed = speed::begin(turn.cpus).map_err(super::snapshot::machine("the thread that times the processors"))?;
    let report = workloads::run(
        &plan,
        &Options { numbered: true, second_times: true, commands, ..Options::default() },
        |window| {
            let mut events = Vec::new();
            if phase != Some(window.phase) {
                phase = Some(window.phase);
                let name = seconds.phase(window.phase).to_owned();
                let second = u32::try_from(window.second).unwrap_or(u32::MAX);
                events.push(LiveEvent::PhaseStarted { phase: name, second });
            }
            if stop.is_asked() && !stopping {
                stopping = true;
                events.push(LiveEvent::Stopping);
            }
            if died.is_none() {
                died = site.has_died();
                if died.is_some() {
                    flag.stop_now();
                }
            }
            events.extend(policy_events.take());
            events.extend(hands.take());
            touches.extend(events.iter().filter_map(LiveEvent::touched));
            if let Err(failure) = times.add(&window) {
                failed.get_or_insert(failure);
                flag.stop();
            }
            let second = Second { speed: speed.take(), ..seconds.next(&window, watch.take()) };
            timeline.push(second.clone());
            if abort.is_none() {
                abort = abort_at(&mut watches, &second);
                if let Some(abort) = &abort {
                    events.push(LiveEvent::Note { text: abort.found.clone() });
                    flag.stop();
                }
            }
            events.push(LiveEvent::Second(Box::new(second)));
            for event in &events {
                // A full disk must not cost what was measured so far: the arm ends, and the failure is told after it.
                if let Err(failure) = tell(event, folder, sinks) {
                    failed.get_or_insert(failure);
                    flag.stop();
                }
            }
        },
        &flag,
    )?;
    let conditions = surroundings.end(&report, &site.pids(), &watch);
    if let Some(failure) = failed {
        return Err(failure);
    }
    // Several services without one of them are another experiment: what is left of it is ended as it is dropped.
    if let Some(died) = died.or_else(|| site.has_died()) {
        return Err(RunFailure::Target(format!("{died} during the run")));
    }
    for event in hands.end() {
        touches.extend(event.touched());
        tell(&event, folder, sinks)?;
    }
    let renewal_failed = renewals.end();
    if let Some(failure) = &renewal_failed {
        let text = format!("a phase did not begin with a fresh policy: {failure}");
        tell(&LiveEvent::Note { text }, folder, sinks)?;
    }
    drop(speed);
    drop(watch);
    // A target that has died leaves the arm without its ledger, which makes it INVALID: what clients saw is kept.
    let seen = settled(&controls);
    if let Err(failure) = &seen {
        tell(&LiveEvent::Note { text: failure.to_string() }, folder, sinks)?;
    }
    let seen = seen.ok();
    let joined = report.numbers.as_ref().zip(seen.as_ref()).and_then(|(numbers, (_, read, _))| join(numbers, read));
    let (seen, joined) = balancers::with(&report.turned_back, seen, joined);
    let kernel = Counters::read().since(&before);
    let arm = summary::Arm {
        name: turn.arm.label.clone(),
        policy: turn.arm.policy.name.clone(),
        parameters: assemble::parameters_of(turn.arm),
        client: plan.client.as_ref().map(assemble::client),
        block: turn.block,
        generator: figures::generator(&report),
        conditions,
        server: seen.map(|(last, read, services)| summary::Server {
            services,
            ..assemble::server(Some(&first), &last, &read.ledger, joined.as_ref())
        }),
        requests: joined,
        renewal_failed,
        touches,
        kernel,
        phases: report.phases.iter().map(figures::phase).collect(),
        walk: figures::walk(&report, assemble::model_of(&plan)),
        offered: report.offered.clone(),
        replayed: report.replayed,
        ..summary::Arm::default()
    };
    // What was measured is worth more than how the target ended.
    if let Err(failure) = site.stop() {
        tell(&LiveEvent::Note { text: failure.to_string() }, folder, sinks)?;
    }
    Ok(Ended { arm, report, timeline, abort })
}

/// The target's last look at itself, once what clients wrote has been read, which requests that were, and the books of
/// several services.
fn settled(controls: &Controls) -> Result<(Gauges, ReadRequests, Vec<summary::Service>), RunFailure> {
    let mut last = controls.gauges()?;
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(100));
        let now = controls.gauges()?;
        let quiet = read_in_all(&now) == read_in_all(&last);
        last = now;
        if quiet {
            break;
        }
    }
    Ok((last, controls.requests()?, controls.services()?))
}

/// Requests of users, and of services, where there are several.
fn read_in_all(gauges: &Gauges) -> u64 {
    let read = |name: &str| name == "read" || name.ends_with("/read");
    gauges.stages.iter().filter(|stage| read(&stage.name)).map(|stage| stage.completed).sum()
}

/// Records first, then shows.
pub fn tell(event: &LiveEvent, folder: &mut Folder, sinks: &mut Sinks) -> Result<(), RunFailure> {
    let recorded = folder.event(event);
    sinks.tell(event);
    recorded
}

//! One arm: a fresh target on a fresh copy of the mail, the load, both ledgers.

use std::{path::Path, time::Duration};

use analysis::{
    judge::threshold,
    live::{CoreSpeeds, LiveEvent, TimelineSecond},
    summary::{self, CarriedOver, Conditions, Touched},
};
use controllers::{Objective, Settings};
use experiment::{
    Experiment,
    plan::{ArmPlan, PhasePlan},
    plan_digest::digest_of,
};
use health::clock::Start;
use measure::{Report, Shard};
use senders::RunOptions;
use spec::wire::{Gauges, ReadRequests};
use workloads::{
    StopFlag, UserCommands,
    plan::{ClientScope, ClientSpec, Load, LoadPlan, Target},
};

use super::{
    balancers,
    carry_over::CarryOver,
    controls::Controls,
    gauge_watch::GaugeWatch,
    interventions::{InterventionTargets, InterventionThread, Interventions},
    listen_queues::ListenQueues,
    policy_streams::{PolicyEvents, PolicyResets},
    service::MetricsReader,
    site::{LiveSite, SiteSpec, Used},
    target::log_in,
};
use crate::{
    run::{
        Cpus, LoadNews, LoadSender, LoadToSend, RunFailure, SentLoad, SentSecond, Sinks, StopSignal,
        arm_recorder::{ArmRecorder, Ended, tell},
        arm_summary,
        environment::{host_noise::HostNoise, kernel::Counters, speed},
        part::{AgentParts, UsersShare, beginning, facts},
        sampler::Sampler,
        seconds::Seconds,
        unread_requests::join,
    },
    store::{folder::ResultsFolder, rfc3339, seconds_log::SecondsLog},
};

/// The inputs of one arm in one block.
#[derive(Debug)]
pub struct ArmTurn<'a> {
    pub arm: &'a ArmPlan,
    /// The number of the repetition.
    pub block: u32,
    /// The site under load.
    pub site: SiteSpec,
    /// Phases of the load.
    pub phases: &'a [PhasePlan],
    /// Thresholds that end the run.
    pub watches: &'a [(usize, threshold::Watch)],
    /// Interventions of a person.
    pub touches: &'a Interventions,
    /// The promise, for policies that a person switches to.
    pub objective: Objective,
    /// Processors of generator and target.
    pub cpus: &'a Cpus,
    /// The check of a service that runs on from arm to arm.
    pub carry_over: Option<&'a CarryOver>,
    /// The part of the users that is sent from here.
    pub users: Option<(Shard, &'a UsersShare)>,
    /// Who sends the load, and of which arm of an experiment.
    pub sender: (&'a dyn LoadSender, &'a Experiment, usize),
    /// Twentieths of phases are asked for.
    pub in_parts: bool,
}

impl ArmTurn<'_> {
    /// No books are read: what users go to is not the lab's, or another part's.
    fn is_alone(&self) -> bool {
        self.arm.direct || self.users.is_some_and(|(_, users)| users.target_at.is_some())
    }
}

/// Runs it. `plan` makes the load plan once it is known where users go.
pub fn run(
    turn: &ArmTurn<'_>,
    plan: impl FnOnce(Target) -> LoadPlan,
    folder: &mut ResultsFolder,
    sinks: &mut Sinks,
    stop: &StopSignal,
) -> Result<Ended, RunFailure> {
    tell(&ArmRecorder::started(turn.arm, turn.block), folder, sinks)?;
    let mut site = LiveSite::start(&turn.site, &log_in(folder.path()))?;
    let shard = turn.users.map(|(shard, _)| shard);
    let plan = LoadPlan { shard, ..plan(site.users_go_to.clone()) };
    let options = site.users_go_by.clone();
    if let Some(missing) = site.metrics().filter(|_| turn.block == 1).and_then(|read| read.missing_at_first.clone()) {
        tell(&LiveEvent::Note { text: missing }, folder, sinks)?;
    }
    let carried = site.own_service().zip(turn.carry_over).and_then(|(service, carry_over)| {
        // A folder that cannot be written is told with the next event.
        carry_over.wait(&service.door, stop, |text| _ = tell(&LiveEvent::Note { text }, folder, sinks))
    });
    site.read_metrics(&turn.site)?;
    let flag = stop.fresh_flag();
    let (sender, experiment, number) = turn.sender;
    let to_send = LoadToSend {
        experiment,
        arm: number,
        plan: &plan,
        options: &options,
        flat_out: false,
        in_parts: turn.in_parts,
    };
    let mut failed = None;
    let hear = &mut |news| failed = tell_early(news, folder, sinks).err().or(failed.take());
    sender.prepare(&to_send, hear, &flag)?;
    failed.map_or(Ok(()), Err)?;
    // What is observed from here on is the load, and no wait for it.
    let begins = waited_for(turn, &plan.target.url, folder, sinks, stop)?;
    let began = begins.map(beginning);
    let before = Before {
        carried,
        gauges: site.controls().gauges()?,
        kernel: Counters::read(),
        queues: ListenQueues::of(&site.pids_of_lab()),
        used: Used::now(&site),
    };
    let commands = UserCommands::default();
    let observers = Observers::begin(turn, &site, &plan, folder.path(), &commands)?;
    let seconds = Seconds::new(&turn.arm.label, turn.block, &plan);
    let recorder = ArmRecorder::new(turn.arm, turn.block, &plan, seconds, turn.watches);
    let mut recording = Recording {
        turn,
        site,
        observers,
        recorder,
        folder,
        sinks,
        cut: EarlyEnd { stop, load: &flag, is_announced: false, failure: None, died: None },
        timeline: Vec::new(),
        touches: Vec::new(),
    };
    // Numbers of several generators are joined with the service's by nobody.
    let numbered = shard.is_none() && sender.agents() == 0;
    let observed = RunOptions { numbered, second_times: true, commands, begins, ..options.clone() };
    recording.site.load_begins();
    let to_send = LoadToSend { options: &observed, ..to_send };
    let SentLoad { report, agents, parts } = sender.send(&to_send, &mut |news| recording.hear(news), &flag)?;
    let digest = digest_of(&plan)?;
    let part = shard.map(|_| facts(digest.clone(), began));
    let sent = (sender.agents() > 0).then_some(AgentParts {
        agents,
        plan: digest,
        model: arm_summary::model_of(&plan).cloned(),
        records: parts,
    });
    Ok(Ended { part, sent, ..recording.end(report, &before)? })
}

/// Tells what happens before the load begins.
fn tell_early(news: LoadNews, folder: &mut ResultsFolder, sinks: &mut Sinks) -> Result<(), RunFailure> {
    match news {
        LoadNews::Note(text) => tell(&LiveEvent::Note { text }, folder, sinks),
        LoadNews::Begins(at) => tell(&LiveEvent::LoadStarted { at: rfc3339(at) }, folder, sinks),
        LoadNews::Second(_) => Ok(()),
    }
}

/// Waits for the beginning of a part of the users, once all is ready but what takes a moment; `None`: they are all of them.
fn waited_for(
    turn: &ArmTurn<'_>,
    url: &str,
    folder: &mut ResultsFolder,
    sinks: &mut Sinks,
    stop: &StopSignal,
) -> Result<Option<Start>, RunFailure> {
    let Some((_, users)) = turn.users else { return Ok(None) };
    if users.target_at.is_none() {
        tell(&LiveEvent::Note { text: format!("users of other parts go to {url} (--target-at)") }, folder, sinks)?;
    }
    let start = users.start.unwrap_or_else(Start::soon);
    if start.has_passed() {
        let cause = "its time to start passed while it was made ready: choose a later --start-at".to_owned();
        return Err(RunFailure::CannotStart { arm: turn.arm.label.clone(), cause });
    }
    start.wait_for_setup(|| stop.is_asked());
    Ok(Some(start))
}

/// Readings at the start of the arm.
struct Before {
    /// The state of the service that the arm before had left.
    carried: Option<CarriedOver>,
    gauges: Gauges,
    kernel: Counters,
    queues: Option<ListenQueues>,
    used: Used,
}

/// Observers of an arm, and what changes it; each on a thread of its own, or once a second.
struct Observers {
    gauges: GaugeWatch,
    policy_events: PolicyEvents,
    times: SecondsLog,
    resets: PolicyResets,
    hands: InterventionThread,
    noise: HostNoise,
    speed: Sampler<CoreSpeeds>,
}

impl Observers {
    fn begin(
        turn: &ArmTurn<'_>,
        site: &LiveSite,
        plan: &LoadPlan,
        folder: &Path,
        commands: &UserCommands,
    ) -> Result<Self, RunFailure> {
        let controls = site.controls();
        let classes = plan.phases.iter().flat_map(|phase| &phase.loads).flat_map(Load::classes);
        let class = classes.copied().next().unwrap_or_default();
        let client = plan.client.clone().unwrap_or_else(|| ClientSpec {
            policy: "none".to_owned(),
            settings: Settings::new(),
            scope: ClientScope::default(),
            objective: turn.objective,
            renewed_in: Vec::new(),
        });
        let reach = InterventionTargets { controls: controls.clone(), commands: commands.clone(), class, client };
        Ok(Self {
            gauges: GaugeWatch::begin(controls).map_err(RunFailure::machine("the thread that reads gauges"))?,
            policy_events: PolicyEvents::begin(controls)?,
            times: SecondsLog::create(folder, &turn.arm.label, turn.block)?,
            resets: PolicyResets::begin(controls, turn.phases)
                .map_err(RunFailure::machine("the thread that renews policies"))?,
            hands: InterventionThread::begin(turn.touches, reach)
                .map_err(RunFailure::machine("the thread that carries out touches"))?,
            noise: HostNoise::begin(turn.cpus, site.service())
                .map_err(RunFailure::machine("the thread that follows the processors"))?,
            speed: speed::begin(turn.cpus).map_err(RunFailure::machine("the thread that times the processors"))?,
        })
    }
}

/// An arm that is under way.
struct Recording<'a> {
    turn: &'a ArmTurn<'a>,
    site: LiveSite,
    observers: Observers,
    recorder: ArmRecorder<'a>,
    folder: &'a mut ResultsFolder,
    sinks: &'a mut Sinks,
    cut: EarlyEnd<'a>,
    timeline: Vec<TimelineSecond>,
    touches: Vec<Touched>,
}

/// Reasons to end an arm before its load does.
struct EarlyEnd<'a> {
    /// A person or a signal ends the run.
    stop: &'a StopSignal,
    /// Ends this arm's load.
    load: &'a StopFlag,
    /// The events say that the run was asked to stop.
    is_announced: bool,
    /// The first thing that could not be recorded.
    failure: Option<RunFailure>,
    /// A target that ended by itself, and the second in which that was seen.
    died: Option<(String, u32)>,
}

impl EarlyEnd<'_> {
    fn fail(&mut self, failure: RunFailure) {
        self.failure.get_or_insert(failure);
        self.load.stop();
    }

    /// True once: when the run was asked to stop.
    fn announces(&mut self) -> bool {
        self.stop.is_asked() && !std::mem::replace(&mut self.is_announced, true)
    }

    /// Ends the load if a task could not be started, and at once if the target has ended by itself.
    fn watch(&mut self, site: &mut LiveSite, second: u32) {
        if let Some(failure) = site.failed() {
            self.fail(failure);
        }
        if self.died.is_none() {
            self.died = site.has_died().map(|how| (how, second));
            if self.died.is_some() {
                self.load.stop_now();
            }
        }
    }
}

impl Recording<'_> {
    fn hear(&mut self, news: LoadNews) {
        match news {
            LoadNews::Note(text) => self.tell(&LiveEvent::Note { text }),
            LoadNews::Begins(at) => self.tell(&LiveEvent::LoadStarted { at: rfc3339(at) }),
            LoadNews::Second(second) => self.second(&second),
        }
    }

    /// Tells it. A full disk must not cost what was measured so far: the arm ends, and the failure is told after it.
    fn tell(&mut self, event: &LiveEvent) {
        if let Err(failure) = tell(event, self.folder, self.sinks) {
            self.cut.fail(failure);
        }
    }

    fn second(&mut self, SentSecond { window, agents }: &SentSecond) {
        let happened = self.happened(u32::try_from(window.second).unwrap_or(u32::MAX));
        self.touches.extend(happened.iter().filter_map(LiveEvent::touched));
        if let Err(failure) = self.observers.times.add(window) {
            self.cut.fail(failure.into());
        }
        let (gauges, speed) = (self.observers.gauges.take(), self.observers.speed.take());
        let events = self.recorder.on_second((window, agents.as_ref()), gauges, speed, happened);
        if self.recorder.is_aborted() {
            self.cut.load.stop();
        }
        for event in &events {
            if let LiveEvent::Second(second) = event {
                self.timeline.push(TimelineSecond { agents: Vec::new(), ..(**second).clone() });
            }
            self.tell(event);
        }
    }

    /// Events since the last second, beside its requests.
    fn happened(&mut self, second: u32) -> Vec<LiveEvent> {
        let mut events = Vec::new();
        if self.cut.announces() {
            events.push(LiveEvent::Stopping);
        }
        self.cut.watch(&mut self.site, second);
        events.extend(self.site.happened());
        events.extend(self.observers.policy_events.take());
        events.extend(self.observers.hands.take());
        events
    }

    /// The load is over: what both sides counted, and the end of the target.
    fn end(self, report: Report, before: &Before) -> Result<Ended, RunFailure> {
        let Self { turn, mut site, observers, recorder, folder, sinks, cut, timeline, mut touches } = self;
        let Observers { gauges, resets, hands, noise, speed, .. } = observers;
        site.load_ends();
        let conditions = noise.end(&report, &site.pids(), gauges.longest_silence());
        let conditions = Conditions { carried: before.carried, ..conditions };
        if let Some(failure) = cut.failure {
            return Err(failure);
        }
        // Several services without one of them are another experiment: what is left of it is ended as it is dropped.
        let lasts: Duration = turn.phases.iter().map(|phase| phase.duration).sum();
        let lasts = lasts.as_secs_f64().ceil() as u32;
        if let Some((how, second)) = cut.died.or_else(|| Some((site.has_died()?, lasts.saturating_sub(1)))) {
            let when = format!(
                "in arm {}, block {}, second {} of {lasts}",
                turn.arm.label,
                turn.block,
                (second + 1).min(lasts)
            );
            return Err(site.failure_of(&how, &when, folder.path()));
        }
        for event in site.happened().into_iter().chain(hands.end()) {
            touches.extend(event.touched());
            tell(&event, folder, sinks)?;
        }
        if let Some(text) = site.metrics().filter(|_| turn.block == 1).and_then(MetricsReader::never_seen) {
            tell(&LiveEvent::Note { text }, folder, sinks)?;
        }
        let renewal_failed = resets.end();
        if let Some(failure) = &renewal_failed {
            let text = format!("a phase did not begin with a fresh policy: {failure}");
            tell(&LiveEvent::Note { text }, folder, sinks)?;
        }
        drop((speed, gauges));
        // A target that has died leaves the arm without its ledger, which makes it INVALID: what clients saw is kept.
        let seen = if turn.is_alone() { None } else { Some(settled(site.controls())) };
        if let Some(Err(failure)) = &seen {
            tell(&LiveEvent::Note { text: failure.to_string() }, folder, sinks)?;
        }
        let service = before.used.until_now(&site, turn.cpus);
        let seen = seen.and_then(Result::ok);
        let joined = report.numbers.as_ref().zip(seen.as_ref()).and_then(|(numbers, (_, read, _))| join(numbers, read));
        let (seen, joined) = balancers::with(&report.turned_back, seen, joined);
        let server = seen.map(|(last, read, services)| summary::Server {
            services,
            ..arm_summary::server(Some(&before.gauges), &last, &read.ledger, joined.as_ref())
        });
        let queues = before.queues.as_ref().zip(ListenQueues::of(&site.pids_of_lab()));
        let kernel = summary::Kernel {
            own_drops: queues.map(|(before, now)| now.dropped_since(before)),
            ..Counters::read().since(&before.kernel)
        };
        let known = summary::Arm {
            conditions,
            server,
            service,
            requests: joined,
            renewal_failed,
            touches,
            kernel,
            ..summary::Arm::default()
        };
        let ended = Ended { timeline, ..recorder.finish(report, known) };
        // What was measured is worth more than how the target ended.
        if let Err(failure) = site.stop() {
            tell(&LiveEvent::Note { text: failure.to_string() }, folder, sinks)?;
        }
        Ok(ended)
    }
}

/// The target's last look at itself, once what clients wrote has been read, which requests that were, and the books of
/// several services.
fn settled(controls: &Controls) -> Result<(Gauges, ReadRequests, Vec<summary::ServiceTotals>), RunFailure> {
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

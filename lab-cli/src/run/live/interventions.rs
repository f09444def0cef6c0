//! Interventions of a person in a live run: from the screen to the target's control port and to the users.
//! Carried out on a thread of its own, since a target under load may take its time to answer.

use std::{
    collections::{BTreeSet, VecDeque},
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use analysis::live::{LiveEvent, NOT_DONE, Touch};
use controllers::{Class, Place, catalogue::PolicySpec};
use live_service::control::client::ControlError;
use service_core::policies::Resolved;
use spec::wire::{InjectFault, SetMachines, SetPolicy};
use workloads::{UserCommand, UserCommands, plan::ClientSpec};

use super::controls::{Controls, Port};

/// Most that wait to be carried out: a key that is held down must not go on for minutes.
const MOST: usize = 32;
/// The thread looks so often whether the arm is over.
const LOOK: Duration = Duration::from_millis(100);

/// A person's interventions that wait to be carried out. Cloning gives another handle on the same.
#[derive(Debug, Clone, Default)]
pub struct Interventions(Arc<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    asked: Mutex<Asked>,
    came: Condvar,
}

#[derive(Debug, Default)]
struct Asked {
    touches: VecDeque<Touch>,
    /// Interventions that came while too many waited.
    left_out: usize,
}

impl Interventions {
    /// Requests an intervention. The run's events say whether it was carried out.
    pub fn ask(&self, touch: Touch) {
        let mut asked = self.lock();
        if asked.touches.len() < MOST {
            asked.touches.push_back(touch);
        } else {
            asked.left_out += 1;
        }
        drop(asked);
        self.0.came.notify_one();
    }

    /// The next one, if it comes soon, and how many were left out since the last call.
    fn next(&self) -> (Option<Touch>, usize) {
        let nothing = |asked: &mut Asked| asked.touches.is_empty() && asked.left_out == 0;
        let waited = self.0.came.wait_timeout_while(self.lock(), LOOK, nothing);
        let mut asked = waited.unwrap_or_else(PoisonError::into_inner).0;
        (asked.touches.pop_front(), std::mem::take(&mut asked.left_out))
    }

    /// Takes the interventions that no arm was there for.
    fn too_late(&self) -> VecDeque<Touch> {
        std::mem::take(&mut self.lock().touches)
    }

    fn lock(&self) -> MutexGuard<'_, Asked> {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Targets of interventions during one arm.
#[derive(Debug, Clone)]
pub struct InterventionTargets {
    /// The target's control ports.
    pub controls: Controls,
    /// The users of the run.
    pub commands: UserCommands,
    /// The class of additional users.
    pub class: Class,
    /// The users' own policy at the start; `none` where they have none.
    pub client: ClientSpec,
}

/// A control port, and the stage that is meant there; `None`: all.
struct Spot {
    port: Port,
    stage: Option<String>,
}

/// Carries touches out during one arm, which begins now.
#[derive(Debug)]
pub struct InterventionThread {
    over: Arc<AtomicBool>,
    done: Receiver<LiveEvent>,
    thread: Option<JoinHandle<()>>,
}

impl InterventionThread {
    /// Begins.
    ///
    /// # Errors
    /// The machine has no thread left.
    pub fn begin(touches: &Interventions, reach: InterventionTargets) -> io::Result<Self> {
        let (tell, done) = mpsc::channel();
        for touch in touches.too_late() {
            let _ = tell.send(not_done(&touch, "no arm was running")); // the receiver is here
        }
        let over = Arc::new(AtomicBool::new(false));
        let (touches, until, began) = (touches.clone(), Arc::clone(&over), Instant::now());
        let thread = thread::Builder::new().name("touches".to_owned()).spawn(move || {
            while !until.load(Ordering::Relaxed) {
                let (touch, left_out) = touches.next();
                let second = began.elapsed().as_secs_f64();
                let done = touch.map(|touch| outcome(second, touch, |touch| reach.carry_out(touch)));
                let text = format!("{NOT_DONE}{left_out} more, which came while {MOST} waited");
                let more = (left_out > 0).then_some(LiveEvent::Note { text });
                for event in done.into_iter().flatten().chain(more) {
                    if tell.send(event).is_err() {
                        return;
                    }
                }
            }
        })?;
        Ok(Self { over, done, thread: Some(thread) })
    }

    /// Interventions since the last call: carried out, or failed.
    pub fn take(&self) -> Vec<LiveEvent> {
        self.done.try_iter().collect()
    }

    /// The arm is over: the last of it.
    pub fn end(mut self) -> Vec<LiveEvent> {
        self.stop();
        self.take()
    }

    fn stop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic there has been printed; what was done is told
        }
    }
}

impl Drop for InterventionThread {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The result of a touch. One that may have been carried out counts as carried out, so that no touched run counts as untouched.
fn outcome(second: f64, touch: Touch, carry_out: impl FnOnce(&Touch) -> Result<(), NotDone>) -> Vec<LiveEvent> {
    match carry_out(&touch) {
        Ok(()) => vec![LiveEvent::Touched { second, touch }],
        Err(NotDone { why, perhaps: false }) => vec![not_done(&touch, &why)],
        Err(NotDone { why, perhaps: true }) => {
            let why = format!("not everywhere, or not for certain: {why}");
            vec![not_done(&touch, &why), LiveEvent::Touched { second, touch }]
        }
    }
}

fn not_done(touch: &Touch, why: &str) -> LiveEvent {
    LiveEvent::Note { text: format!("{NOT_DONE}{}: {why}", touch.in_words()) }
}

/// The reason why something was not done.
#[derive(Debug)]
struct NotDone {
    why: String,
    /// It may have been done all the same, or in part.
    perhaps: bool,
}

impl NotDone {
    fn at_all(why: &(impl ToString + ?Sized)) -> Self {
        Self { why: why.to_string(), perhaps: false }
    }

    /// A target that was asked and did not answer may have done it.
    fn at(prefix: &str, error: &ControlError) -> Self {
        let unheard = match error {
            ControlError::Address(_) | ControlError::Refused(_) => true,
            ControlError::Io(error) => error.kind() == io::ErrorKind::ConnectionRefused,
            _ => false,
        };
        Self { why: format!("{prefix}{error}"), perhaps: !unheard }
    }
}

impl InterventionTargets {
    fn carry_out(&self, touch: &Touch) -> Result<(), NotDone> {
        match touch {
            Touch::Policy { name, settings, at } => {
                let policy = PolicySpec::written(name, settings.clone());
                self.policy(policy, at.as_deref())
            }
            Touch::Machines { machines, at } => everywhere(self.spots(at.as_deref())?.into_iter().map(|spot| {
                let change = SetMachines { stage: spot.stage, machines: machines.clone() };
                spot.port.control.set_machines(&change).map_err(|error| NotDone::at(&spot.port.prefix, &error))
            })),
            Touch::Capacity { share, seconds } => {
                self.hinder(&InjectFault::Capacity { share: *share, for_ms: seconds * 1e3 })
            }
            Touch::Latency { by_ms, seconds } => {
                self.hinder(&InjectFault::Delay { by_ms: *by_ms, for_ms: seconds * 1e3 })
            }
            Touch::Spike { users, seconds } => {
                let stay = Duration::try_from_secs_f64(*seconds).map_err(|error| NotDone::at_all(&error))?;
                self.command(UserCommand::Spike { users: *users, stay, class: self.class })
            }
            Touch::Impatience { share } => self.command(UserCommand::Patience(*share)),
            Touch::Pause => self.command(UserCommand::Pause),
            Touch::Resume => self.command(UserCommand::Resume),
        }
    }

    fn policy(&self, mut policy: PolicySpec, at: Option<&str>) -> Result<(), NotDone> {
        let named = |at: &str| Place::ALL.into_iter().find(|place| place.scope() == at);
        let place = at.and_then(named);
        policy.place = place.or(policy.place);
        let at = at.filter(|_| place.is_none());
        // What sits before a service of one's own sits in the lab's proxy.
        let in_proxy = || self.controls.ports().iter().any(|port| port.policy.place == Some(Place::Proxy));
        let is_for_senders = place == Some(Place::Client) || Resolved::is_for_senders(&policy) && !in_proxy();
        if at.is_none() && is_for_senders {
            let PolicySpec { name: policy, settings, .. } = policy;
            return self.command(UserCommand::Client(ClientSpec { policy, settings, ..self.client.clone() }));
        }
        everywhere(self.spots(at)?.into_iter().map(|Spot { port, mut stage }| {
            let mut policy = policy.clone();
            if let Some(place) = stage.as_deref().and_then(named) {
                (policy.place, stage) = (Some(place), None);
            }
            port.control.set_policy(&SetPolicy { stage, policy }).map_err(|error| NotDone::at(&port.prefix, &error))
        }))
    }

    /// The control ports that a person means, with the stage at each: of one target the stage `at`, of several services those of
    /// `service`, `service.task`, `service/stage` or `service.task/stage`.
    fn spots(&self, at: Option<&str>) -> Result<Vec<Spot>, NotDone> {
        let ports = self.controls.ports();
        if ports.is_empty() {
            return Err(NotDone::at_all(
                "this service has no control port of the lab's: what decides in it is its own",
            ));
        }
        let (mut spots, mut services) = (Vec::new(), BTreeSet::new());
        for port in ports {
            match meant(&port.service, port.prefix.trim_end_matches('/'), at) {
                Some(stage) => spots.push(Spot { stage: stage.map(str::to_owned), port }),
                None => _ = services.insert(port.service),
            }
        }
        if spots.is_empty() {
            let services: Vec<_> = services.into_iter().collect();
            let which = at.map_or_else(|| "which service?".to_owned(), |at| format!("no service is named {at}."));
            return Err(NotDone::at_all(&format!("{which} There are: {}", services.join(", "))));
        }
        Ok(spots)
    }

    /// Injects the fault at every task of every service.
    fn hinder(&self, hinder: &InjectFault) -> Result<(), NotDone> {
        let ports = self.controls.ports();
        everywhere(
            ports.iter().map(|port| port.control.hinder(hinder).map_err(|error| NotDone::at(&port.prefix, &error))),
        )
    }

    fn command(&self, command: UserCommand) -> Result<(), NotDone> {
        self.commands.give(command).map_err(|error| NotDone::at_all(&error))
    }
}

/// The stage that is meant at a task of a service, `None` being all of them; nothing: another service is meant.
fn meant<'a>(service: &str, task: &str, at: Option<&'a str>) -> Option<Option<&'a str>> {
    if service.is_empty() {
        return Some(at); // the one target
    }
    let (node, stage) = at?.split_once('/').map_or((at?, None), |(node, stage)| (node, Some(stage)));
    [service, task].contains(&node).then_some(stage)
}

/// All are tried, even after a failure.
fn everywhere(tried: impl Iterator<Item = Result<(), NotDone>>) -> Result<(), NotDone> {
    let (mut done, mut failed) = (0, Vec::new());
    for each in tried {
        match each {
            Ok(()) => done += 1,
            Err(not_done) => failed.push(not_done),
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    let perhaps = done > 0 || failed.iter().any(|failed| failed.perhaps);
    let why: Vec<String> = failed.into_iter().map(|failed| failed.why).collect();
    Err(NotDone { why: why.join("; "), perhaps })
}

#[cfg(test)]
mod tests {
    use workloads::plan::ClientScope;

    use super::*;

    fn reach(commands: &UserCommands) -> InterventionTargets {
        let client = ClientSpec {
            policy: "none".to_owned(),
            settings: controllers::Settings::new(),
            scope: ClientScope::default(),
            objective: controllers::Objective { percentile: 90.0, response_time: Duration::from_secs(1) },
            renewed_in: Vec::new(),
        };
        InterventionTargets { controls: Controls::default(), commands: commands.clone(), class: Class(0), client }
    }

    /// Waits for the first event.
    fn first(hands: &InterventionThread) -> LiveEvent {
        let begun = Instant::now();
        loop {
            if let Some(event) = hands.take().into_iter().next() {
                return event;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "nothing was told");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_was_done_is_told_with_its_second_and_what_was_not_with_the_reason() {
        let (touches, commands) = (Interventions::default(), UserCommands::default());
        touches.ask(Touch::Pause); // before any arm
        let hands = InterventionThread::begin(&touches, reach(&commands)).expect("a thread");
        let LiveEvent::Note { text } = first(&hands) else { panic!("a note") };
        assert!(text.contains("arrivals paused") && text.contains("no arm was running"), "{text}");
        touches.ask(Touch::Impatience { share: 0.5 });
        let LiveEvent::Touched { second, touch } = first(&hands) else { panic!("it was done") };
        assert!((0.0..10.0).contains(&second) && touch == Touch::Impatience { share: 0.5 });
        touches.ask(Touch::Spike { users: 0, seconds: 1.0 });
        let LiveEvent::Note { text } = first(&hands) else { panic!("a note") };
        assert!(text.contains("1 to 10000"), "{text}");
        let policy = |name: &str, at: Option<&str>| Touch::Policy {
            name: name.to_owned(),
            settings: controllers::Settings::new(),
            at: at.map(str::to_owned),
        };
        touches.ask(policy("none", None));
        let LiveEvent::Note { text } = first(&hands) else { panic!("a note") };
        assert!(text.contains("no control port"), "{text}");
        // Users have no control port.
        for touch in [policy("throttle", None), policy("none", Some("client"))] {
            touches.ask(touch.clone());
            let LiveEvent::Touched { touch: done, .. } = first(&hands) else { panic!("it was done") };
            assert_eq!(done, touch);
        }
        touches.ask(policy("seda", Some("client")));
        let LiveEvent::Note { text } = first(&hands) else { panic!("a note") };
        assert!(text.contains("client's side"), "{text}");
        assert_eq!(hands.end(), []);
    }

    #[test]
    fn what_was_done_at_one_task_and_not_at_the_next_has_touched_the_run() {
        let refused = || Err(NotDone::at("back/1: ", &ControlError::Refused(vec!["no such share".to_owned()])));
        let silent = || Err(NotDone::at("back/2: ", &ControlError::Io(io::ErrorKind::TimedOut.into())));
        let gone = || Err(NotDone::at("", &ControlError::Io(io::ErrorKind::ConnectionRefused.into())));
        let told = |results: Vec<Result<(), NotDone>>| {
            let touch = Touch::Latency { by_ms: 5.0, seconds: 1.0 };
            outcome(2.0, touch, |_| everywhere(results.into_iter()))
        };
        let touched = |events: &[LiveEvent]| events.iter().any(|event| matches!(event, LiveEvent::Touched { .. }));
        let words = |events: &[LiveEvent]| match events {
            [LiveEvent::Note { text }, ..] => text.clone(),
            _ => String::new(),
        };
        let all = told(vec![Ok(()), Ok(())]);
        assert!(all.len() == 1 && touched(&all));
        let none = told(vec![refused(), gone()]);
        assert!(none.len() == 1 && !touched(&none), "{none:?}");
        assert!(words(&none).contains("back/1: the target refused: no such share; "), "{none:?}");
        for in_part in [vec![Ok(()), refused()], vec![refused(), Ok(())], vec![silent()]] {
            let in_part = told(in_part);
            assert!(in_part.len() == 2 && touched(&in_part), "{in_part:?}");
            assert!(words(&in_part).contains("not for certain: back/"), "{in_part:?}");
        }
    }

    #[test]
    fn of_several_services_the_named_one_is_meant_or_one_task_or_stage_of_it() {
        assert_eq!(meant("", "", None), Some(None));
        assert_eq!(meant("", "", Some("read/mail")), Some(Some("read/mail")));
        for (at, stage) in
            [("back", None), ("back.1", None), ("back/work", Some("work")), ("back.1/client", Some("client"))]
        {
            assert_eq!(meant("back", "back.1", Some(at)), Some(stage), "{at}");
        }
        for at in [None, Some("front"), Some("back.2"), Some("work")] {
            assert_eq!(meant("back", "back.1", at), None, "{at:?}");
        }
    }

    #[test]
    fn not_more_than_a_few_wait() {
        let touches = Interventions::default();
        (0..MOST + 5).for_each(|_| touches.ask(Touch::Pause));
        assert!(matches!(touches.next(), (Some(Touch::Pause), 5)));
        assert_eq!(touches.too_late().len(), MOST - 1);
    }
}

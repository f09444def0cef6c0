//! What a person does to a live run while it goes on: from the screen to the target's control port and to the users.
//! Carried out on a thread of its own, since a target under load may take its time to answer.

use std::{
    collections::VecDeque,
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
use controllers::{Class, catalogue::PolicySpec};
use target_app::control::{
    client::ControlError,
    wire::{InjectFault, SetPolicy},
};
use workloads::{UserCommand, UserCommands};

use super::controls::Controls;

/// Most that wait to be carried out: a key that is held down must not go on for minutes.
const MOST: usize = 32;
/// The thread looks so often whether the arm is over.
const LOOK: Duration = Duration::from_millis(100);

/// What a person has asked for. Cloning gives another handle on the same.
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
    /// That came while too many waited.
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

    /// Those that no arm was there for.
    fn too_late(&self) -> VecDeque<Touch> {
        std::mem::take(&mut self.lock().touches)
    }

    fn lock(&self) -> MutexGuard<'_, Asked> {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where touches go during one arm.
#[derive(Debug, Clone)]
pub struct InterventionTargets {
    /// The target's control ports.
    pub controls: Controls,
    /// The users of the run.
    pub commands: UserCommands,
    /// The class of additional users.
    pub class: Class,
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
                let done = touch.map(|touch| told(second, touch, |touch| reach.carry_out(touch)));
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

    /// What was done since the last call, or could not be done.
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
fn told(second: f64, touch: Touch, carry_out: impl FnOnce(&Touch) -> Result<(), NotDone>) -> Vec<LiveEvent> {
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

/// Why something was not done.
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
            Touch::Policy { name, settings } => self.policy(name, settings),
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

    fn policy(&self, name: &str, settings: &controllers::Settings) -> Result<(), NotDone> {
        let ports = self.controls.ports();
        let [port] = &ports[..] else {
            return Err(NotDone::at_all("of several services, which one? Name an arm for it in the experiment file"));
        };
        let policy = PolicySpec { name: name.to_owned(), place: None, settings: settings.clone() };
        port.control.set_policy(&SetPolicy { stage: None, policy }).map_err(|error| NotDone::at("", &error))
    }

    /// At every task of every service.
    fn hinder(&self, hinder: &InjectFault) -> Result<(), NotDone> {
        let ports = self.controls.ports();
        everywhere(
            ports
                .iter()
                .map(|port| port.control.hinder(hinder).map_err(|error| NotDone::at(&port.prefix.to_string(), &error))),
        )
    }

    fn command(&self, command: UserCommand) -> Result<(), NotDone> {
        self.commands.give(command).map_err(|error| NotDone::at_all(&error))
    }
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
    use super::*;

    fn reach(commands: &UserCommands) -> InterventionTargets {
        InterventionTargets { controls: Controls::default(), commands: commands.clone(), class: Class(0) }
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
        touches.ask(Touch::Policy { name: "none".to_owned(), settings: controllers::Settings::new() });
        let LiveEvent::Note { text } = first(&hands) else { panic!("a note") };
        assert!(text.contains("which one"), "{text}");
        assert_eq!(hands.end(), []);
    }

    #[test]
    fn what_was_done_at_one_task_and_not_at_the_next_has_touched_the_run() {
        let refused = || Err(NotDone::at("back/1: ", &ControlError::Refused(vec!["no such share".to_owned()])));
        let silent = || Err(NotDone::at("back/2: ", &ControlError::Io(io::ErrorKind::TimedOut.into())));
        let gone = || Err(NotDone::at("", &ControlError::Io(io::ErrorKind::ConnectionRefused.into())));
        let told = |results: Vec<Result<(), NotDone>>| {
            let touch = Touch::Latency { by_ms: 5.0, seconds: 1.0 };
            told(2.0, touch, |_| everywhere(results.into_iter()))
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
    fn not_more_than_a_few_wait() {
        let touches = Interventions::default();
        (0..MOST + 5).for_each(|_| touches.ask(Touch::Pause));
        assert!(matches!(touches.next(), (Some(Touch::Pause), 5)));
        assert_eq!(touches.too_late().len(), MOST - 1);
    }
}

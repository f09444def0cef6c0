//! Previews for the list of experiments, on a thread of their own: one at a time, the newest that is wanted.

use std::{
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use analysis::series::value::Value;
use workloads::StopFlag;

use crate::{
    command::input::read_text,
    run::{preview, previewed},
    screens::{PreviewNews, PreviewPoint, PreviewStep, RunOrder, ScreenMessage, Teller},
};

/// A cursor that moves on sooner looks at nothing.
const REST: Duration = Duration::from_millis(120);
/// Seconds of an arm are told together that come within this time: the screen has no use for more.
const TOGETHER: Duration = Duration::from_millis(50);

/// An order, with the flag that ends it.
type Wanted = (Box<RunOrder>, StopFlag);

/// The thread, and what it does.
pub struct Previews {
    wanted: Option<Sender<Wanted>>,
    /// Ends the one that was wanted last.
    stop: StopFlag,
    thread: Option<JoinHandle<()>>,
    teller: Teller,
}

impl Previews {
    pub fn new(teller: Teller) -> Self {
        Self { wanted: None, stop: StopFlag::new(), thread: None, teller }
    }

    /// Another one in place of what is computed; `None`: nothing.
    pub fn want(&mut self, order: Option<Box<RunOrder>>) {
        self.stop.stop_now();
        let Some(order) = order else { return };
        if self.wanted.is_none() {
            let (wanted, orders) = mpsc::channel();
            let teller = self.teller.clone();
            // Without a thread there are no previews.
            self.thread = thread::Builder::new().name("previews".to_owned()).spawn(move || work(&orders, &teller)).ok();
            self.wanted = Some(wanted);
        }
        self.stop = StopFlag::new();
        if let Some(wanted) = &self.wanted {
            let _ = wanted.send((order, self.stop.clone()));
        }
    }

    /// Nothing is computed any more, from here on.
    pub fn end(&mut self) {
        self.stop.stop_now();
        self.wanted = None;
        if let Some(thread) = self.thread.take() {
            // What panicked has told nobody anything.
            let _ = thread.join();
        }
    }
}

fn work(orders: &Receiver<Wanted>, teller: &Teller) {
    let mut next = orders.recv().ok();
    while let Some((order, stop)) = next.take() {
        match orders.recv_timeout(REST) {
            Ok(newer) => next = Some(newer),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                if !stop.is_stopped() {
                    compute(&order, &stop, teller);
                }
                next = orders.recv().ok();
            }
        }
    }
}

fn compute(order: &RunOrder, stop: &StopFlag, teller: &Teller) {
    let tell = |step| _ = teller.tell(ScreenMessage::Preview(Box::new(PreviewNews { id: order.name.clone(), step })));
    let experiment = match read_text(&order.text, &order.name, &order.changes) {
        Ok(experiment) => experiment,
        Err(failure) => return tell(PreviewStep::Refused(failure.in_words())),
    };
    let arms = previewed(&experiment);
    let label = |arm: usize| experiment.arms[arm].label.clone();
    let left_out = (0..experiment.arms.len()).filter(|arm| !arms.contains(arm)).map(label).collect();
    tell(PreviewStep::Begins { arms: arms.iter().copied().map(label).collect(), left_out });
    let mut waiting: (usize, Vec<PreviewPoint>) = (0, Vec::new());
    let mut told = Instant::now();
    let result = preview(&experiment, stop, |arm, second| {
        let number = arms.iter().position(|known| *known == arm).unwrap_or(0);
        if number != waiting.0 || told.elapsed() >= TOGETHER {
            tell(PreviewStep::Points(waiting.0, std::mem::take(&mut waiting.1)));
            (waiting.0, told) = (number, Instant::now());
        }
        let p90 = Value::of(second.p90_ms, second.p90_at_least_ms);
        waiting.1.push(PreviewPoint { second: second.second, goodput: second.served as f64, p90 });
    });
    if stop.is_stopped() {
        return;
    }
    tell(PreviewStep::Points(waiting.0, waiting.1));
    tell(match result {
        Ok(()) => PreviewStep::Ended,
        Err(failure) => PreviewStep::Refused(failure.to_string()),
    });
}

use std::cmp::Ordering;

use controllers::Timestamp;
use dary_heap::QuaternaryHeap;

use super::user::UserTask;
use crate::persona::Pause;

/// Quiet users, and the time at which each is due.
#[derive(Debug)]
pub(super) struct Timers<C> {
    heap: QuaternaryHeap<TimerEntry<C>>,
    /// During an operator's pause: its start, and the users whose timers it has stopped.
    paused: Option<(Timestamp, Vec<TimerEntry<C>>)>,
    /// Users whose timers the end of the run has stopped. They and their connections are dropped after it: ten thousand
    /// connections take a tenth of a second to close, which would delay the requests still in flight.
    stopped: Vec<TimerEntry<C>>,
    quiet: QuietUsers,
}

/// The number of quiet users by reason.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct QuietUsers {
    pub(super) thinking: u64,
    pub(super) waiting: u64,
    pub(super) backing_off: u64,
}

/// A user in the heap: the one that is due first is on top. What is asked of all users is stored here as well as in the user, since
/// each access to a box is a cache miss: a heap of 100 000 makes 17 comparisons for each entry removed, and the end of a run with a
/// million users took a tenth of a second, in which no answer was read.
#[derive(Debug)]
struct TimerEntry<C> {
    at: Timestamp,
    number: u64,
    /// True between two hops of a request, which is under way.
    is_open: bool,
    /// See [`UserTask::pause`].
    pause: Option<Pause>,
    user: Box<UserTask<C>>,
}

impl<C> TimerEntry<C> {
    fn new(user: Box<UserTask<C>>, at: Timestamp) -> Self {
        Self { at, number: user.number, is_open: user.open.is_some(), pause: user.pause(), user }
    }
}

impl<C> Default for Timers<C> {
    fn default() -> Self {
        Self { heap: QuaternaryHeap::new(), paused: None, stopped: Vec::new(), quiet: QuietUsers::default() }
    }
}

impl<C> Timers<C> {
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.heap.peek().map(|entry| entry.at)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub(super) fn quiet(&self) -> QuietUsers {
        self.quiet
    }

    /// Makes the user quiet until it is due.
    pub(super) fn sleep(&mut self, user: Box<UserTask<C>>) {
        let at = user.at;
        let entry = TimerEntry::new(user, at);
        self.quiet.count(entry.pause, 1);
        match &mut self.paused {
            Some((_, resting)) if !entry.is_open => resting.push(entry),
            _ => self.heap.push(entry),
        }
    }

    /// Makes the user quiet without a timer while the client gate holds it.
    pub(super) fn keep_at_gate(&mut self, user: &UserTask<C>) {
        self.quiet.count(user.pause(), 1);
    }

    /// Sets the time at which a user is due that the client gate has released.
    pub(super) fn wake_from_gate(&mut self, user: Box<UserTask<C>>, at: Timestamp) {
        self.heap.push(TimerEntry::new(user, at));
    }

    /// Removes the user that is due first.
    pub(super) fn wake(&mut self) -> Option<Box<UserTask<C>>> {
        let entry = self.heap.pop()?;
        self.quiet.count(entry.pause, -1);
        Some(entry.user)
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Stops all timers except those of users between two hops of a request, which is under way.
    pub(super) fn pause(&mut self, now: Timestamp) {
        if self.paused.is_none() {
            self.paused = Some((now, self.take_without_open_request()));
        }
    }

    /// Restarts the timers: each pause continues with its remaining time.
    pub(super) fn resume(&mut self, now: Timestamp) {
        let Some((since, resting)) = self.paused.take() else { return };
        let paused_for = now.since(since);
        for mut entry in resting {
            entry.at = (entry.at + paused_for).max(now);
            // The intended start of the next request moves too: the operator's pause is no lateness.
            entry.user.at = entry.at;
            self.heap.push(entry);
        }
    }

    /// Ends the run: users leave unless they have an open request.
    pub(super) fn stop(&mut self) {
        let resting = self.paused.take().map(|(_, resting)| resting);
        self.stopped = self.take_without_open_request();
        self.stopped.extend(resting.into_iter().flatten());
        for entry in &self.stopped {
            self.quiet.count(entry.pause, -1);
        }
    }

    /// Removes all users with a timer.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Box<UserTask<C>>> + use<C> {
        std::mem::take(&mut self.heap).into_iter().map(|entry| entry.user)
    }

    fn take_without_open_request(&mut self) -> Vec<TimerEntry<C>> {
        let mut all = std::mem::take(&mut self.heap).into_vec();
        self.heap = all.extract_if(.., |entry| entry.is_open).collect::<Vec<_>>().into();
        all
    }
}

impl QuietUsers {
    fn count(&mut self, pause: Option<Pause>, change: i64) {
        let counter = match pause {
            Some(Pause::Thinking) => &mut self.thinking,
            Some(Pause::Waiting) => &mut self.waiting,
            Some(Pause::BackingOff) => &mut self.backing_off,
            None => return,
        };
        *counter = counter.saturating_add_signed(change);
    }
}

impl<C> Ord for TimerEntry<C> {
    /// By time, then by number, so that the order of a run does not depend on the heap's.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<C> PartialOrd for TimerEntry<C> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<C> PartialEq for TimerEntry<C> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<C> Eq for TimerEntry<C> {}

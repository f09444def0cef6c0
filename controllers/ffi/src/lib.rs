//! A policy of the catalogue behind a C ABI: `include/admission.h`.
//!
//! The host passes the time in nanoseconds from its own monotonic clock; nothing here reads a clock, starts a thread or does I/O. Each
//! function may be called from any thread; calls on one seat are done one after the other, and time does not go back for it. A null
//! pointer, a number that is not known, and a panic are answers, never undefined behaviour.

#![expect(unsafe_code, reason = "a C ABI is made of raw pointers; nothing else in this crate, and no policy, has any")]

mod door;

use std::{
    ffi::{CStr, c_char, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use controllers::{Class, Criticality, JobId, Offer, Outcome, RetryHint, Tags, Timestamp, site::TurnedAway};

pub use door::{AdmissionConfig, AdmissionDecision, AdmissionDoor, AdmissionStep};

/// A policy with the jobs that it has admitted and holds.
#[derive(Debug)]
pub struct AdmissionSeat(Mutex<AdmissionDoor>);

/// A job that asks to be let in. Zeros are a first attempt of nobody in particular.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct AdmissionJob {
    /// Its number, of which there is one at a time.
    pub id: u64,
    /// The user, session or address that asks; 0: unknown.
    pub user: u64,
    /// When its sender stops waiting, nanoseconds of the host's clock; 0: unknown.
    pub deadline_ns: u64,
    /// The customer that is charged.
    pub customer: u32,
    /// The type of request.
    pub kind: u16,
    /// The class of its user.
    pub user_class: u8,
    /// 1 to 4: SHEDDABLE, SHEDDABLE_PLUS, CRITICAL, CRITICAL_PLUS; 0: unknown, which is CRITICAL.
    pub criticality: u8,
    /// 0 for the first attempt, then the number of the retry.
    pub attempt: u8,
}

/// How a job ended.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionOutcome {
    /// Answered as asked.
    Served = 0,
    /// Refused by the service because of load.
    Overloaded = 1,
    /// Not answered in time.
    TimedOut = 2,
    /// Answered with an error.
    Failed = 3,
    /// The sender has left.
    Abandoned = 4,
    /// Nothing that a policy should learn from.
    Ignored = 5,
}

/// What becomes of a job, or what the host does next.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionKind {
    /// The job is in: report its end.
    Admit = 0,
    /// The job is refused.
    Refuse = 1,
    /// The job is held: `admission_poll` tells what becomes of it, unless it leaves.
    Hold = 2,
    /// Poll again at `at_ns`.
    WakeAt = 3,
    /// Nothing to do until the next call.
    Idle = 4,
    /// A null pointer, a number in use, or a seat that has failed: the job is not counted.
    Invalid = 5,
}

/// An answer of a seat.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AdmissionAnswer {
    pub kind: AdmissionKind,
    /// Advice with a refusal: 1 if a retry is of no use.
    pub never_retry: u8,
    /// The job of an admission or refusal.
    pub id: u64,
    /// The time of the next poll, nanoseconds.
    pub at_ns: u64,
    /// Advice with a refusal: time before a retry, nanoseconds; 0: unsaid.
    pub retry_after_ns: u64,
    /// The reason of a refusal, a static string; null otherwise.
    pub reason: *const c_char,
}

/// Receives a count or gauge: `context` as passed, its name (valid during the call), its value.
pub type AdmissionVisit = Option<unsafe extern "C" fn(context: *mut c_void, name: *const c_char, value: f64)>;

const NOTHING: AdmissionAnswer = AdmissionAnswer {
    kind: AdmissionKind::Invalid,
    never_retry: 0,
    id: 0,
    at_ns: 0,
    retry_after_ns: 0,
    reason: std::ptr::null(),
};

/// Reasons as C strings; `own` for those of a policy outside of the catalogue.
fn reason(name: &str) -> *const c_char {
    const NAMES: [&CStr; 13] = [
        c"rate",
        c"concurrency",
        c"queue-full",
        c"waited",
        c"connections",
        c"pressure",
        c"class",
        c"throttled",
        c"retry-budget",
        c"quota",
        c"utilization",
        c"callee",
        c"draining",
    ];
    let found = NAMES.into_iter().find(|known| known.to_bytes() == name.as_bytes());
    found.unwrap_or(c"own").as_ptr()
}

fn refused(id: JobId, turned: TurnedAway) -> AdmissionAnswer {
    let (never_retry, after) = match turned.refusal.retry {
        RetryHint::Never => (1, Duration::ZERO),
        RetryHint::After(wait) => (0, wait),
        RetryHint::Unsaid => (0, Duration::ZERO),
    };
    AdmissionAnswer {
        kind: AdmissionKind::Refuse,
        id: id.0,
        never_retry,
        retry_after_ns: u64::try_from(after.as_nanos()).unwrap_or(u64::MAX),
        reason: reason(turned.refusal.reason.name()),
        ..NOTHING
    }
}

fn at(now_ns: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_nanos(now_ns)
}

impl AdmissionJob {
    fn offer(&self, now_ns: u64) -> Offer {
        let levels = Criticality::ALL;
        let level = usize::from(self.criticality).checked_sub(1).and_then(|level| levels.get(level));
        let tags = Tags {
            kind: controllers::Kind(self.kind),
            class: Class(self.user_class),
            user: self.user,
            customer: self.customer,
            criticality: level.copied().unwrap_or_default(),
            attempt: self.attempt,
            told_not_to_retry: false,
            deadline: (self.deadline_ns > 0).then(|| at(self.deadline_ns)),
        };
        Offer { id: JobId(self.id), tags, entered: at(now_ns), note: None }
    }
}

/// The end that a number of [`AdmissionOutcome`] names.
fn outcome_of(number: u32) -> Option<Outcome> {
    const BY_NUMBER: [(AdmissionOutcome, Outcome); 6] = [
        (AdmissionOutcome::Served, Outcome::Served),
        (AdmissionOutcome::Overloaded, Outcome::Overloaded { retry: true }),
        (AdmissionOutcome::TimedOut, Outcome::TimedOut),
        (AdmissionOutcome::Failed, Outcome::Failed),
        (AdmissionOutcome::Abandoned, Outcome::Abandoned),
        (AdmissionOutcome::Ignored, Outcome::Ignored),
    ];
    BY_NUMBER.into_iter().find(|(named, _)| *named as u32 == number).map(|(_, outcome)| outcome)
}

/// Acts on a seat. `None`: there is none, or it has panicked now or before.
///
/// # Safety
/// `seat` is null, or was made by [`admission_new`] and not freed.
unsafe fn with<T>(seat: *const AdmissionSeat, act: impl FnOnce(&mut AdmissionDoor) -> T) -> Option<T> {
    // SAFETY: the caller's promise; the reference lives no longer than this call.
    let seat = unsafe { seat.as_ref() }?;
    // A panic must not unwind into C. It poisons the lock, so that later calls find no state that is half changed.
    catch_unwind(AssertUnwindSafe(|| seat.0.lock().ok().map(|mut door| act(&mut door)))).ok().flatten()
}

/// Makes a seat. `config`: JSON, `{"policy": "gradient2", "settings": {"limit_max": 50}, "objective_ms": 500, "percentile": 99,
/// "capacity": 8, "seed": 1}`, of which the policy alone must be there. Null: it cannot be made, and `error` has the reason, cut to
/// `error_size` bytes with the final zero.
///
/// # Safety
/// `config` is null or a string that ends with a zero byte; `error` is null or has `error_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn admission_new(
    config: *const c_char,
    error: *mut c_char,
    error_size: usize,
) -> *mut AdmissionSeat {
    let made = catch_unwind(|| {
        if config.is_null() {
            return Err("config is null".to_owned());
        }
        // SAFETY: not null, and by the caller's promise it ends with a zero byte.
        let text = unsafe { CStr::from_ptr(config) }.to_str().map_err(|error| error.to_string())?;
        let config: AdmissionConfig = serde_json::from_str(text).map_err(|error| error.to_string())?;
        AdmissionDoor::new(&config)
    });
    match made.unwrap_or_else(|_| Err("the policy could not be made: a fault of this library".to_owned())) {
        Ok(door) => Box::into_raw(Box::new(AdmissionSeat(Mutex::new(door)))),
        Err(why) => {
            // SAFETY: by the caller's promise `error` is null or has so many bytes.
            unsafe { write_text(&why, error, error_size) };
            std::ptr::null_mut()
        }
    }
}

/// Writes as much of a text as there is room for, with a zero behind it.
///
/// # Safety
/// `to` is null or has `size` bytes.
unsafe fn write_text(text: &str, to: *mut c_char, size: usize) {
    let Some(room) = size.checked_sub(1).filter(|_| !to.is_null()) else { return };
    let most = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    // SAFETY: `most` bytes and the zero are at most `size`, and a text of Rust does not overlap the caller's memory.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, most);
        to.add(most).write(0);
    }
}

/// Frees a seat. Null is nothing.
///
/// # Safety
/// `seat` is null, or was made by [`admission_new`]; nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn admission_free(seat: *mut AdmissionSeat) {
    if !seat.is_null() {
        // SAFETY: made by `Box::into_raw`, and by the caller's promise freed once.
        let seat = unsafe { Box::from_raw(seat) };
        drop(seat.0.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Decides on a job: ADMIT, REFUSE, HOLD, or INVALID.
///
/// # Safety
/// `seat` as in [`admission_free`], in use; `job` is null or one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn admission_offer(
    seat: *const AdmissionSeat,
    now_ns: u64,
    job: *const AdmissionJob,
) -> AdmissionAnswer {
    // SAFETY: by the caller's promise it is null or one; it is copied.
    let Some(job) = unsafe { job.as_ref() }.copied() else { return NOTHING };
    let decide = |door: &mut AdmissionDoor| {
        if door.knows(JobId(job.id)) {
            return NOTHING;
        }
        match door.offer(at(now_ns), job.offer(now_ns)) {
            AdmissionDecision::In => AdmissionAnswer { kind: AdmissionKind::Admit, id: job.id, ..NOTHING },
            AdmissionDecision::Refused(turned) => refused(JobId(job.id), turned),
            AdmissionDecision::Held => AdmissionAnswer { kind: AdmissionKind::Hold, id: job.id, ..NOTHING },
        }
    };
    // SAFETY: the caller's promise.
    unsafe { with(seat, decide) }.unwrap_or(NOTHING)
}

/// Reports the start of work on a job, after a queue of the service's own. False: it is not inside.
///
/// # Safety
/// As [`admission_offer`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn admission_started(seat: *const AdmissionSeat, now_ns: u64, id: u64) -> bool {
    // SAFETY: the caller's promise.
    unsafe { with(seat, |door| door.started(at(now_ns), JobId(id))) }.unwrap_or(false)
}

/// Reports the end of an admitted job; `outcome`: an `AdmissionOutcome`. False: it is not inside, or there is no such outcome.
///
/// # Safety
/// As [`admission_offer`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn admission_ended(seat: *const AdmissionSeat, now_ns: u64, id: u64, outcome: u32) -> bool {
    // Not the enumeration itself: C may pass any number.
    let Some(outcome) = outcome_of(outcome) else { return false };
    // SAFETY: the caller's promise.
    unsafe { with(seat, |door| door.ended(at(now_ns), JobId(id), outcome)) }.unwrap_or(false)
}

/// Reports that the sender of a job has left, held or inside. False: it is neither.
///
/// # Safety
/// As [`admission_offer`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn admission_left(seat: *const AdmissionSeat, now_ns: u64, id: u64) -> bool {
    // SAFETY: the caller's promise.
    unsafe { with(seat, |door| door.left(at(now_ns), JobId(id))) }.unwrap_or(false)
}

/// What is to be done now: ADMIT or REFUSE a held job and poll again, WAKE_AT, or IDLE. Call it after every other call, and when it is time.
///
/// # Safety
/// As [`admission_offer`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn admission_poll(seat: *const AdmissionSeat, now_ns: u64) -> AdmissionAnswer {
    let next = |door: &mut AdmissionDoor| match door.poll(at(now_ns)) {
        AdmissionStep::Admit(id) => AdmissionAnswer { kind: AdmissionKind::Admit, id: id.0, ..NOTHING },
        AdmissionStep::Refuse(id, turned) => refused(id, turned),
        AdmissionStep::WakeAt(time) => {
            AdmissionAnswer { kind: AdmissionKind::WakeAt, at_ns: time.as_nanos(), ..NOTHING }
        }
        AdmissionStep::Idle => AdmissionAnswer { kind: AdmissionKind::Idle, ..NOTHING },
    };
    // SAFETY: the caller's promise.
    unsafe { with(seat, next) }.unwrap_or(NOTHING)
}

/// Passes each count and gauge to `visit`, which must not call this seat. Returns how many there were.
///
/// # Safety
/// As [`admission_offer`]; `visit` is null or a function that takes `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn admission_gauges(
    seat: *const AdmissionSeat,
    visit: AdmissionVisit,
    context: *mut c_void,
) -> usize {
    let mut all = Vec::new();
    // SAFETY: the caller's promise.
    let seen = unsafe { with(seat, |door| door.gauges(|name, value| all.push((format!("{name}\0"), value)))) };
    if seen.is_none() {
        return 0;
    }
    if let Some(visit) = visit {
        for (name, value) in &all {
            // SAFETY: the caller's promise; the name ends with a zero byte and lives as long as the call.
            unsafe { visit(context, name.as_ptr().cast(), *value) };
        }
    }
    all.len()
}

#[cfg(test)]
mod tests;

use std::ffi::CString;

use super::*;

struct Seat(*mut AdmissionSeat);

impl Seat {
    fn of(config: &str) -> Result<Self, String> {
        let config = CString::new(config).expect("no zero inside");
        let mut error = [0; 200];
        // SAFETY: a string, and so many bytes.
        let seat = unsafe { admission_new(config.as_ptr(), error.as_mut_ptr(), error.len()) };
        // SAFETY: it is zero, or was written with a zero behind it.
        let why = unsafe { CStr::from_ptr(error.as_ptr()) }.to_string_lossy().into_owned();
        if seat.is_null() { Err(why) } else { Ok(Self(seat)) }
    }

    fn offer(&self, ms: u64, job: AdmissionJob) -> AdmissionAnswer {
        // SAFETY: it is there until it is dropped.
        unsafe { admission_offer(self.0, ms * 1_000_000, &raw const job) }
    }

    fn kind(&self, ms: u64, id: u64) -> AdmissionKind {
        self.offer(ms, AdmissionJob { id, ..AdmissionJob::default() }).kind
    }

    fn ended(&self, ms: u64, id: u64) -> bool {
        // SAFETY: as above.
        unsafe { admission_ended(self.0, ms * 1_000_000, id, AdmissionOutcome::Served as u32) }
    }

    fn poll(&self, ms: u64) -> AdmissionAnswer {
        // SAFETY: as above.
        unsafe { admission_poll(self.0, ms * 1_000_000) }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // SAFETY: once.
        unsafe { admission_free(self.0) };
    }
}

#[test]
fn a_limit_admits_and_refuses_and_counts_what_is_inside() {
    let seat = Seat::of(r#"{"policy": "concurrency", "settings": {"max": 2}}"#).expect("good");
    assert_eq!(
        [1, 2, 3].map(|id| seat.kind(0, id)),
        [AdmissionKind::Admit, AdmissionKind::Admit, AdmissionKind::Refuse]
    );
    let refused = seat.offer(0, AdmissionJob { id: 4, ..AdmissionJob::default() });
    // SAFETY: a static string.
    assert_eq!(unsafe { CStr::from_ptr(refused.reason) }, c"concurrency");
    assert_eq!(seat.kind(0, 1), AdmissionKind::Invalid, "the number is in use");
    // SAFETY: as above; a number that is no outcome is an answer.
    assert!(!unsafe { admission_ended(seat.0, 10_000_000, 1, 77) });
    assert!(seat.ended(10, 1) && !seat.ended(10, 1) && !seat.ended(10, 99));
    assert_eq!(seat.kind(10, 5), AdmissionKind::Admit);
    // SAFETY: as above.
    assert!(unsafe { admission_left(seat.0, 11_000_000, 2) && !admission_left(seat.0, 11_000_000, 2) });
    assert_eq!((seat.kind(12, 6), seat.poll(12).kind), (AdmissionKind::Admit, AdmissionKind::Idle));
}

#[test]
fn a_queue_holds_releases_and_forgets() {
    let config = r#"{"policy": "maxconn-queue", "settings": {"maxconn": 1, "timeout_queue": "100ms"}}"#;
    let seat = Seat::of(config).expect("good");
    assert_eq!([1, 2, 3, 4].map(|id| seat.kind(0, id))[1..], [AdmissionKind::Hold; 3]);
    let wakes = seat.poll(0);
    assert_eq!((wakes.kind, wakes.at_ns), (AdmissionKind::WakeAt, 100_000_000));
    // SAFETY: as above.
    assert!(unsafe { admission_left(seat.0, 5_000_000, 3) });
    assert!(seat.ended(10, 1));
    let released = seat.poll(10);
    assert_eq!((released.kind, released.id, seat.poll(10).kind), (AdmissionKind::Admit, 2, AdmissionKind::WakeAt));
    let late = seat.poll(100);
    assert_eq!((late.kind, late.id, seat.poll(100).kind), (AdmissionKind::Refuse, 4, AdmissionKind::Idle));
    assert!(seat.ended(101, 2));
    assert_eq!((seat.poll(101).kind, seat.kind(102, 4)), (AdmissionKind::Idle, AdmissionKind::Admit));
}

#[test]
fn bad_settings_and_null_pointers_are_answers() {
    for (config, told) in [
        ("", "EOF"),
        (r#"{"policy": "gradint2"}"#, "did you mean gradient2"),
        (r#"{"policy": "concurrency", "settings": {"max": 0}}"#, "max"),
        (r#"{"policy": "codel"}"#, "capacity"),
        (r#"{"policy": "headway"}"#, "objective_ms"),
        (r#"{"policy": "bbr"}"#, "CPU"),
        (r#"{"policy": "thread-pool"}"#, "does not sit"),
        (r#"{"policy": "none", "limit": 3}"#, "unknown field"),
        (r#"{"policy": "headway", "objective_ms": -1}"#, "objective_ms"),
    ] {
        let why = Seat::of(config).err().expect(config);
        assert!(why.contains(told), "{config}: {why}");
    }
    let nobody: *const AdmissionSeat = std::ptr::null();
    let job = AdmissionJob::default();
    // SAFETY: null is allowed everywhere.
    unsafe {
        assert!(admission_new(std::ptr::null(), std::ptr::null_mut(), 0).is_null());
        assert_eq!(admission_offer(nobody, 0, &raw const job).kind, AdmissionKind::Invalid);
        assert_eq!(admission_poll(nobody, 0).kind, AdmissionKind::Invalid);
        assert!(!admission_ended(nobody, 0, 0, 0) && !admission_started(nobody, 0, 0));
        assert_eq!(admission_gauges(nobody, None, std::ptr::null_mut()), 0);
        admission_free(std::ptr::null_mut());
    }
    let seat = Seat::of(r#"{"policy": "none"}"#).expect("good");
    // SAFETY: null is no job.
    assert_eq!(unsafe { admission_offer(seat.0, 0, std::ptr::null()) }.kind, AdmissionKind::Invalid);
}

#[test]
fn a_reason_that_does_not_fit_is_cut_between_letters() {
    let mut room = [1 as c_char; 8];
    // SAFETY: seven bytes of eight.
    unsafe { write_text("größer", room.as_mut_ptr(), 5) };
    // SAFETY: written with a zero behind it.
    assert_eq!(unsafe { CStr::from_ptr(room.as_ptr()) }.to_str(), Ok("gr\u{f6}"));
    assert_eq!(room[5..], [1; 3]);
}

#[test]
fn time_that_goes_back_and_polls_that_are_missing_harm_nothing() {
    let seat = Seat::of(r#"{"policy": "headway", "objective_ms": 100}"#).expect("good");
    for id in 0..2000_u64 {
        let kind = seat.kind(if id % 7 == 0 { 0 } else { id }, id);
        if kind == AdmissionKind::Admit && id % 3 == 0 {
            seat.ended(id, id);
        }
    }
    let mut polled = 0;
    while matches!(seat.poll(3000).kind, AdmissionKind::Admit | AdmissionKind::Refuse) {
        polled += 1;
    }
    assert!(polled < 2000);
}

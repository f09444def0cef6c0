//! Users who begin anew at once after a request that came to nothing at once.

use std::time::Duration;

use super::*;
use crate::{
    host::End,
    plan::{ArrivalLaw, Behaviour},
};

const MS: Duration = Duration::from_millis(1);

/// For 100 s, users of one URL who begin anew at once, whatever went wrong.
fn restless(seed: u64, load: Load) -> LoadPlan {
    let mut plan = url_plan(&[("all", 100, 1)]);
    plan.seed = seed;
    plan.phases[0].loads = vec![load];
    let Users::Url(users) = &mut plan.users else { panic!("users of a URL") };
    users.think = traces::Think::Constant(Duration::ZERO);
    users.behaviour = Behaviour::in_trouble(OnTrouble::Login { wait: Duration::ZERO });
    plan
}

fn crew(plan: &LoadPlan) -> Crew<()> {
    Crew::new(plan, Crowd::new(plan).expect("users can be made"), None, false)
}

/// The next user's request ends so, at once. How long after that somebody is due.
fn ends(crew: &mut Crew<()>, now: Timestamp, end: End) -> Option<Duration> {
    let mut guest = crew.take(now).expect("a user has a request");
    guest.begins(now);
    if end != End::ConnectFailed {
        crew.sends(&mut guest, now);
    }
    assert!(crew.settle(guest, end.without_answer(), now).is_none(), "it does not begin anew at one moment");
    crew.next_due().map(|due| due.since(now))
}

/// The pauses after so many requests in a row, each of which ended so.
fn pauses(seed: u64, end: End, count: usize) -> Vec<Duration> {
    let mut crew = crew(&restless(seed, Load::users(1)));
    let mut now = Timestamp::ZERO;
    crew.advance(now);
    let mut next = || {
        let pause = ends(&mut crew, now, end).expect("it comes again");
        now = now + pause;
        crew.advance(now);
        pause
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn the_bound_of_the_pause_doubles_from_10_ms_to_a_second_and_the_pause_is_drawn_below_it() {
    for end in [End::ConnectFailed, End::Broken] {
        let runs: Vec<_> = (0..200).map(|seed| pauses(seed, end, 10)).collect();
        for nth in 0..10 {
            let bound = (10 * MS * (1 << nth)).min(1000 * MS);
            let of_all: Vec<_> = runs.iter().map(|pauses| pauses[nth]).collect();
            assert!(of_all.iter().all(|pause| (MS..=bound).contains(pause)), "{nth}: {of_all:?}");
            // Evenly: the mean of 200 is within a tenth of the bound from its half.
            let mean = of_all.iter().sum::<Duration>() / 200;
            assert!(mean > bound.mul_f64(0.4) && mean < bound.mul_f64(0.6), "{nth}: {mean:?} of {bound:?}");
        }
        assert_eq!(pauses(7, end, 10), runs[7], "drawn from the seed");
    }
}

#[test]
fn an_answer_ends_the_row_and_a_time_out_is_no_setback() {
    let mut crew = crew(&restless(1, Load::users(1)));
    let mut now = Timestamp::ZERO;
    crew.advance(now);
    for _ in 0..8 {
        now = now + ends(&mut crew, now, End::ConnectFailed).expect("it comes again");
        crew.advance(now);
    }
    let mut guest = crew.take(now).expect("it is due");
    crew.sends(&mut guest, now);
    let ok = Answer { status: 200, headers: &[], body: b"" };
    let again = crew.settle(guest, Outcome::answered(ok), now).expect("it begins anew at once");
    let again = crew.settle(again, End::TimedOut.without_answer(), now).expect("and after a time-out, too");
    assert!(crew.settle(again, End::ConnectFailed.without_answer(), now).is_none());
    let pause = crew.next_due().expect("it comes again").since(now);
    assert!(pause <= 10 * MS, "{pause:?}");
    let statuses = crew.finish(now, Health::default()).total.replies;
    assert_eq!((statuses.statuses, statuses.errors), ([(200, 1)].into(), [("no connection".to_owned(), 9)].into()));
}

#[test]
fn what_the_pause_takes_is_no_part_of_the_response_time() {
    let mut crew = crew(&restless(1, Load::users(1)));
    let mut now = Timestamp::ZERO;
    crew.advance(now);
    for _ in 0..8 {
        now = now + ends(&mut crew, now, End::ConnectFailed).expect("it comes again");
        crew.advance(now);
    }
    let mut guest = crew.take(now).expect("it is due");
    crew.sends(&mut guest, now);
    let ok = Answer { status: 200, headers: &[], body: b"" };
    crew.settle(guest, Outcome::answered(ok), now + 5 * MS);
    let report = crew.finish(now + 5 * MS, Health::default());
    let longest = report.total.response_time_ms.max.expect("one was served");
    assert!((longest - 5.0).abs() < 0.01, "{longest}");
    assert_eq!(report.total.ledger.served_intents, 1, "and it was wanted only then");
}

#[test]
fn in_an_open_load_every_request_tries_at_its_time() {
    let law = ArrivalLaw::Constant;
    let plan = restless(1, Load::Requests { from_per_s: 100.0, to_per_s: 100.0, law, class: Class(0) });
    let mut crew = crew(&plan);
    let mut tried = 0;
    while let Some(now) = crew.next_due().filter(|due| *due < Timestamp::from_secs(1)) {
        crew.advance(now);
        while crew.ready() > 0 {
            ends(&mut crew, now, End::ConnectFailed);
            tried += 1;
        }
    }
    assert_eq!(tried, 100);
    assert_eq!(crew.states().backing_off, 0);
}

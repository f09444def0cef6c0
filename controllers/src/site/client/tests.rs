//! Senders' policies by hand: held requests, ends, the wall clock, another policy.

use super::*;
use crate::{Ctx, Effect, Gauge, Machine, Settings, catalogue::EntryKind, testing};

/// Holds everything, and lets the oldest go each second.
#[derive(Debug, Default)]
struct OneASecond {
    held: Vec<JobId>,
    next: Timestamp,
}

impl Machine for OneASecond {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        if let Seen::Left(gone) = seen {
            self.held.retain(|id| id != gone);
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        Some(self.next)
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.next = cx.now + Duration::from_secs(1);
        if !self.held.is_empty() {
            cx.effects.push(Effect::Release(self.held.remove(0), Grant::default()));
        }
    }

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for OneASecond {
    fn offer(&mut self, job: &Offer, _: &mut Ctx<'_>) -> Verdict {
        self.held.push(job.id);
        Verdict::Hold
    }
}

static ONE_A_SECOND: Entry =
    testing::entry(EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::<OneASecond>::default())));

fn clients<J>(entry: &'static Entry, scope: ClientScope) -> Clients<J> {
    let objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
    Clients::new(entry, entry.check(&Settings::new()).unwrap(), scope, objective, 1)
}

#[test]
fn a_held_request_comes_back_with_what_its_host_gave() {
    let mut clients = clients(&ONE_A_SECOND, ClientScope::All);
    let member = clients.join(0);
    let second = Timestamp::from_secs;
    let mut held = Vec::new();
    for job in ["first", "second", "third"] {
        match clients.ask(member, Tags::default(), second(1), None, second(1), |_| job) {
            Asked::Held(id) => held.push(id),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(clients.left(member, held[0], second(1)), Some("first"));
    assert_eq!(clients.left(member, held[0], second(1)), None, "it has left");
    assert!(matches!(clients.poll(second(1)), Some(Decided::Go("second", _))));
    assert!(clients.poll(second(1)).is_none());
    assert_eq!((clients.next_wake(), clients.gauges().held), (Some(second(2)), 1));
    // A late host lets it do its work once.
    let Some(Decided::Go("third", pass)) = clients.poll(second(5)) else { panic!("it is due") };
    assert!(clients.poll(second(5)).is_none());
    clients.ended(pass, Outcome::Served, None, second(6));
    let gauges = clients.gauges();
    assert_eq!((gauges.offered, gauges.let_go, gauges.refused, gauges.held), (3, 2, 0, 0));
    assert_eq!(gauges.contradictions, 0);
}

#[test]
fn the_end_of_a_request_that_another_policy_let_go_is_counted() {
    let none = crate::Catalogue::built_in().find("none").unwrap();
    let (mut clients, now) = (clients(none, ClientScope::User), Timestamp::ZERO);
    let ask = |clients: &mut Clients<()>| {
        let member = clients.join(0);
        let Asked::Go(pass) = clients.ask(member, Tags::default(), now, None, now, |_| ()) else { panic!("none") };
        (member, pass)
    };
    let (member, open) = ask(&mut clients);
    // Its sender leaves with the request open, and the next one takes its place with a policy of its own.
    clients.leave(member);
    let (_, other) = ask(&mut clients);
    clients.ended(other, Outcome::Served, None, now);
    // A panic with debug assertions, which tests have.
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        clients.ended(open, Outcome::Served, None, now);
    }));
    assert_eq!((ended.is_err(), clients.gauges().contradictions), (cfg!(debug_assertions), 1));
}

/// Writes down the wall clock of each call.
#[derive(Debug, Default)]
struct Clock {
    seen: Vec<u64>,
    woken: bool,
}

impl Machine for Clock {
    fn observe(&mut self, _: &Seen, cx: &mut Ctx<'_>) {
        self.seen.push(cx.wall.0);
    }

    fn next_wake(&self) -> Option<Timestamp> {
        (!self.woken).then_some(Timestamp::from_secs(2))
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.woken = true;
        self.seen.push(cx.wall.0);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        let all = self.seen.iter().fold(0, |all, seen| all * 10 + seen);
        visit(Gauge::of("walls"), all as f64);
    }
}

impl Policy for Clock {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        self.seen.push(cx.wall.0);
        Verdict::Admit(Grant::default())
    }
}

static CLOCK: Entry = testing::entry(EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::<Clock>::default())));

#[test]
fn a_policy_sees_the_wall_clock_in_every_call() {
    let mut clients = clients(&CLOCK, ClientScope::All);
    let (member, second) = (clients.join(0), Timestamp::from_secs);
    clients.set_wall(UnixSeconds(1));
    let Asked::Go(pass) = clients.ask(member, Tags::default(), second(1), None, second(1), |_| ()) else {
        panic!("it lets everything go")
    };
    clients.set_wall(UnixSeconds(2));
    assert!(clients.poll(second(2)).is_none());
    clients.set_wall(UnixSeconds(3));
    clients.ended(pass, Outcome::Served, None, second(3));
    assert!((clients.gauges().policy["walls"] - 123.0).abs() < 0.5, "asked, woken, told");
}

#[test]
fn another_policy_is_offered_what_the_one_before_held_and_learns_nothing_from_its_requests() {
    let none = crate::Catalogue::built_in().find("none").unwrap();
    let mut clients = clients(&ONE_A_SECOND, ClientScope::All);
    let (member, second) = (clients.join(0), Timestamp::from_secs);
    for job in ["first", "second", "third"] {
        assert!(matches!(clients.ask(member, Tags::default(), second(1), None, second(1), |_| job), Asked::Held(_)));
    }
    let Some(Decided::Go("first", before)) = clients.poll(second(1)) else { panic!("it is due") };
    clients.replace(second(1), none, none.check(&Settings::new()).unwrap());
    let mut let_go = Vec::new();
    while let Some(decided) = clients.poll(second(1)) {
        let Decided::Go(job, pass) = decided else { panic!("{decided:?}") };
        let_go.push((job, pass));
    }
    assert_eq!(let_go.iter().map(|(job, _)| *job).collect::<Vec<_>>(), ["second", "third"]);
    assert_eq!(clients.next_wake(), None, "the one before was due in a second");
    clients.ended(before, Outcome::Served, None, second(2));
    let_go.into_iter().for_each(|(_, pass)| clients.ended(pass, Outcome::Served, None, second(2)));
    let gauges = clients.gauges();
    assert_eq!((gauges.offered, gauges.let_go, gauges.held, gauges.contradictions), (3, 3, 0, 0));
}

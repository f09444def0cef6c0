//! All laws in one machine.

use std::time::Duration;

use crate::{Seeded, UnixSeconds};

use super::{
    super::{
        BookingParams, CapacityState, CmaEs, EpochSample, EstimateParams, NotYet, ReplicaId, ReplicaParams,
        ReportRefused, Subunits, TokenGen, TokenGenAction, TokenGenEvent, TokenGenNext, TokenGenParams, estimate,
    },
    at,
    synthetic::Formula,
};

type Gen = TokenGen<&'static str>;
type Action = TokenGenAction<&'static str>;

fn actions(machine: &mut Gen, now: UnixSeconds) -> Vec<Action> {
    std::iter::from_fn(|| match machine.poll(now) {
        TokenGenNext::Do(action) => Some(action),
        TokenGenNext::WakeAt(_) => None,
    })
    .collect()
}

fn tell(machine: &mut Gen, now: UnixSeconds, event: TokenGenEvent<&'static str>) -> Vec<Action> {
    machine.tell(now, event);
    actions(machine, now)
}

fn given(capacity: u64) -> TokenGenEvent<&'static str> {
    TokenGenEvent::Given { capacity: Some(Subunits::whole(capacity)), hardness: vec![] }
}

/// The wait of a request that asks.
fn wait(machine: &mut Gen, now: UnixSeconds, kind: usize) -> Option<u32> {
    match &tell(machine, now, TokenGenEvent::Asked { job: "request", kind })[..] {
        [TokenGenAction::Promise("request", booked)] => Some(booked.wait_s),
        [TokenGenAction::TurnAway("request", _)] => None,
        other => panic!("one answer for a request: {other:?}"),
    }
}

#[test]
fn requests_come_back_with_their_turn() {
    let mut machine = Gen::new(&TokenGenParams::alone()).expect("good params");
    assert_eq!(machine.poll(at(0)), TokenGenNext::WakeAt(at(1)));
    assert_eq!((machine.capacity(), wait(&mut machine, at(0), 0)), (CapacityState::Unknown, Some(0)));
    let two = CapacityState::Given(Subunits::whole(2));
    assert_eq!(tell(&mut machine, at(1), given(2)), [TokenGenAction::Capacity(two)]);
    assert_eq!([(); 5].map(|()| wait(&mut machine, at(1), 0)), [0, 0, 1, 1, 2].map(Some));
    assert_eq!((machine.longest_wait_s(at(1)), machine.counts().booked), (2, 6));
    assert_eq!(tell(&mut machine, at(1), given(2)), [], "nothing has changed");
}

#[test]
fn types_are_booked_by_their_hardness() {
    let mut machine = Gen::new(&TokenGenParams { hardness: vec![Subunits::whole(1); 2], ..TokenGenParams::alone() })
        .expect("good params");
    let hardness = vec![Subunits::whole(1), Subunits::whole(4)];
    let capacity = Some(Subunits::whole(8));
    tell(&mut machine, at(0), TokenGenEvent::Given { capacity, hardness: hardness.clone() });
    // 4 + 1 + 1 + 1 + 1 fill the first second; a type that is not known counts as the last.
    assert_eq!(
        [1, 0, 0, 0, 0, 0, 7, 1].map(|kind| wait(&mut machine, at(0), kind)),
        [0, 0, 0, 0, 0, 1, 1, 1].map(Some)
    );
    // A list of another length is not for this service.
    tell(&mut machine, at(0), TokenGenEvent::Given { capacity, hardness: vec![Subunits::whole(9)] });
    assert_eq!(machine.hardness(), hardness);
}

#[test]
fn replicas_report_once_a_second_and_hear_each_other() {
    let replica = |me: u16, peer: u16| {
        let replica = ReplicaParams::among(ReplicaId(me), &[ReplicaId(peer)]);
        let booking = BookingParams { replica, started: at(0), ..BookingParams::alone() };
        Gen::new(&TokenGenParams { booking, ..TokenGenParams::alone() }).expect("good params")
    };
    let (mut first, mut second) = (replica(0, 1), replica(1, 0));
    for machine in [&mut first, &mut second] {
        assert!(matches!(
            &tell(machine, at(0), given(200))[..],
            [TokenGenAction::Report(_), TokenGenAction::Capacity(_)]
        ));
    }
    let report = |machine: &mut Gen| match actions(machine, at(1)).pop() {
        Some(TokenGenAction::Report(report)) => report,
        other => panic!("a report: {other:?}"),
    };
    let (of_first, of_second) = (report(&mut first), report(&mut second));
    assert_eq!(actions(&mut first, at(1)), [], "once a second");
    assert_eq!(tell(&mut first, at(1), TokenGenEvent::Heard(of_second.clone())), []);
    assert_eq!(tell(&mut second, at(1), TokenGenEvent::Heard(of_first)), []);
    assert_eq!([first.share(), second.share()], [Some(Subunits::whole(100)); 2]);
    let again = tell(&mut first, at(1), TokenGenEvent::Heard(of_second));
    assert_eq!((again, first.replica_counts().old), (vec![TokenGenAction::Ignored(ReportRefused::Old)], 1));
}

/// Shows an epoch of a server to the machine, and returns what it wants at its end.
fn show(machine: &mut Gen, epoch: u64, sample: &EpochSample) -> Vec<Action> {
    let now = at(epoch * 10);
    let mut all = actions(machine, now);
    for kind in 0..sample.arrived.len() {
        for _ in 0..sample.arrived[kind] {
            machine.tell(now, TokenGenEvent::Reached { kind });
        }
        for _ in 0..sample.served[kind] {
            let response = Duration::from_secs_f64(sample.response_s[kind] / sample.served[kind] as f64);
            machine.tell(now, TokenGenEvent::Ended { kind, response, served: true });
        }
        machine.tell(now, TokenGenEvent::Ended { kind, response: Duration::from_secs(60), served: false });
    }
    all.extend(actions(machine, at(epoch * 10 + 10)));
    all
}

/// Runs a server through the machine until it wants an estimate.
fn train(
    machine: &mut Gen,
    epoch: &mut u64,
    server: &Formula,
    loads: (f64, f64),
    seed: u64,
) -> (u64, Vec<EpochSample>) {
    for (n, sample) in (1..).zip(server.training(300, loads, seed)) {
        *epoch += 1;
        let wanted = show(machine, *epoch, &sample);
        if let Some(samples) = wanted.into_iter().find_map(|action| match action {
            TokenGenAction::Estimate(samples) => Some(samples),
            _ => None,
        }) {
            return (n, samples);
        }
    }
    panic!("300 epochs without an estimate");
}

#[test]
fn a_server_is_measured_watched_and_measured_again_when_it_has_changed() {
    let mut machine =
        Gen::new(&TokenGenParams { hardness: vec![Subunits::whole(1); 2], estimates: true, ..TokenGenParams::alone() })
            .expect("good params");
    let (server, mut epoch) = (Formula::new(100.0, &[1.0, 4.0], 0.02), 0);
    let compute =
        |samples: &[EpochSample]| estimate(samples, &EstimateParams::default(), &CmaEs::default(), &mut Seeded::new(1));
    machine.tell(at(0), TokenGenEvent::Reached { kind: 0 }); // the first epoch is not whole

    // 84 epochs of training: nothing waits.
    let (epochs, samples) = train(&mut machine, &mut epoch, &server, (0.3, 1.4), 1);
    assert_eq!((epochs, samples.len(), machine.capacity()), (84, 84, CapacityState::Unknown));
    assert!((0..500).all(|_| wait(&mut machine, at(epoch * 10 + 10), 1) == Some(0)));
    let told = tell(&mut machine, at(epoch * 10 + 10), TokenGenEvent::Estimated(compute(&samples)));
    let [TokenGenAction::Capacity(CapacityState::Estimated(before))] = told[..] else { panic!("{told:?}") };
    assert!((81.0..=99.0).contains(&before.as_f64()), "{before:?}");
    assert!((3.6..=4.4).contains(&machine.hardness()[1].as_f64()), "{:?}", machine.hardness());

    // The same server: no change.
    let mut random = Seeded::new(7);
    for _ in 0..20 {
        epoch += 1;
        assert_eq!(show(&mut machine, epoch, &server.epoch(0.8, &[1.0, 1.0], &mut random)), []);
    }
    // Half of it: noticed within three epochs; the old capacity stays until the new one is known.
    let half = Formula::new(50.0, &[1.0, 4.0], 0.02);
    let noticed = (1..=5).find(|_| {
        epoch += 1;
        !show(&mut machine, epoch, &half.epoch(1.5, &[1.0, 1.0], &mut random)).is_empty()
    });
    assert!(noticed.is_some_and(|epochs| epochs <= 3), "{noticed:?}");
    assert_eq!(machine.capacity(), CapacityState::Outdated(before));
    let (_, samples) = train(&mut machine, &mut epoch, &half, (0.3, 1.4), 2);
    tell(&mut machine, at(epoch * 10 + 10), TokenGenEvent::Estimated(compute(&samples)));
    let CapacityState::Estimated(after) = machine.capacity() else { panic!("{:?}", machine.capacity()) };
    assert!((45.0 * 0.85..=45.0 * 1.15).contains(&after.as_f64()), "{after:?}");
}

#[test]
fn an_estimate_that_is_not_there_yet_is_tried_again_and_the_load_may_rise() {
    let params = TokenGenParams { estimates: true, training_epochs: 20, ..TokenGenParams::alone() };
    let (mut machine, server, mut epoch) =
        (Gen::new(&params).expect("good params"), Formula::new(100.0, &[1.0], 0.02), 0);
    machine.tell(at(0), TokenGenEvent::Reached { kind: 0 });
    train(&mut machine, &mut epoch, &server, (0.1, 0.5), 1);
    assert_eq!(tell(&mut machine, at(epoch * 10 + 10), TokenGenEvent::Estimated(Err(NotYet::NoPeak))), []);
    assert_eq!(machine.capacity(), CapacityState::Unknown, "no capacity is better than a wrong one");
    // A tenth of the epochs is dropped: two more, and it tries again.
    let (epochs, samples) = train(&mut machine, &mut epoch, &server, (0.3, 1.4), 2);
    assert_eq!((epochs, samples.len()), (2, 20));
    // While a changed server is measured, a load that did not reach its peak may rise by 15 %.
    let training = server.training(84, (0.3, 1.4), 3);
    let found =
        estimate(&training, &EstimateParams::default(), &CmaEs::default(), &mut Seeded::new(1)).expect("a peak");
    tell(&mut machine, at(epoch * 10 + 10), TokenGenEvent::Estimated(Ok(found.clone())));
    let (slow, mut random) = (Formula { service_s: 0.1, ..Formula::new(100.0, &[1.0], 0.02) }, Seeded::new(4));
    while machine.capacity() == CapacityState::Estimated(Subunits::of(found.capacity)) {
        epoch += 1;
        show(&mut machine, epoch, &slow.epoch(0.8, &[1.0], &mut random));
        assert!(epoch < 200, "a fifth of the speed is noticed");
    }
    train(&mut machine, &mut epoch, &slow, (0.3, 0.6), 5);
    tell(&mut machine, at(epoch * 10 + 10), TokenGenEvent::Estimated(Err(NotYet::NoPeak)));
    let CapacityState::Outdated(capacity) = machine.capacity() else { panic!("{:?}", machine.capacity()) };
    assert!((capacity.as_f64() / found.capacity - 1.15).abs() < 1e-3, "{capacity:?}");
}

#[test]
fn as_published_nothing_waits_while_a_changed_server_is_measured() {
    let params =
        TokenGenParams { estimates: true, training_epochs: 30, shape_in_training: false, ..TokenGenParams::alone() };
    let (mut machine, server, mut epoch) =
        (Gen::new(&params).expect("good params"), Formula::new(100.0, &[1.0], 0.02), 0);
    machine.tell(at(0), TokenGenEvent::Reached { kind: 0 });
    let (_, samples) = train(&mut machine, &mut epoch, &server, (0.3, 1.4), 1);
    let found = estimate(&samples, &EstimateParams::default(), &CmaEs::default(), &mut Seeded::new(1));
    tell(&mut machine, at(epoch * 10 + 10), TokenGenEvent::Estimated(found));
    assert!(matches!(machine.capacity(), CapacityState::Estimated(_)));
    let (slow, mut random) = (Formula { service_s: 0.1, ..Formula::new(100.0, &[1.0], 0.02) }, Seeded::new(4));
    for _ in 0..5 {
        epoch += 1;
        show(&mut machine, epoch, &slow.epoch(0.8, &[1.0], &mut random));
    }
    assert_eq!(machine.capacity(), CapacityState::Unknown);
}

//! The ledger's two equations, whatever a host does.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Operation {
    Plan { user: u64, kind: u16, class: u8, attempt: u8 },
    Begin(usize),
    Send(usize),
    Hop(usize),
    End(usize, Fate),
    Wait(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    let fate = prop::sample::select(vec![
        Fate::Served,
        Fate::Rejected,
        Fate::TimedOut,
        Fate::Failed,
        Fate::Broken,
        Fate::Elsewhere,
        Fate::Abandoned,
        Fate::InFlight,
        Fate::ConnectTimedOut,
        Fate::ConnectFailed,
        Fate::RefusedLocally,
        Fate::Unsent,
    ]);
    prop_oneof![
        (0..9u64, 0..3u16, 0..3u8, 0..2u8).prop_map(|(user, kind, class, attempt)| Operation::Plan {
            user,
            kind,
            class,
            attempt
        }),
        (0..9usize).prop_map(Operation::Begin),
        (0..9usize).prop_map(Operation::Send),
        (0..9usize).prop_map(Operation::Hop),
        (0..9usize, fate).prop_map(|(at, fate)| Operation::End(at, fate)),
        (0..3000u64).prop_map(Operation::Wait),
    ]
}

fn counts(of: &Measured) -> [[u64; 6]; 3] {
    [
        [of.planned, of.unsent, of.refused_locally, of.connect_failed, of.connect_timed_out, of.sent],
        [of.served, of.served_late, of.rejected, of.timed_out, of.failed, of.abandoned],
        [of.in_flight, of.retries, of.resent, of.elsewhere, of.hops, 0],
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever a host does, the two equations hold at every moment, windows and the second under way at the end add up to
    /// the total, and types and classes add up to their phase.
    #[test]
    fn the_ledger_balances(operations in prop::collection::vec(operation(), 0..200), closes in any::<bool>()) {
        let mut recorder = recorder();
        let mut open: Vec<Ticket> = Vec::new();
        let (mut now, mut planned) = (Timestamp::ZERO, 0);
        let mut windows: Vec<Window> = Vec::new();
        for operation in operations {
            match operation {
                Operation::Plan { user, kind, class, attempt } => {
                    open.push(recorder.plan(user, intent(kind, class, now, attempt), now));
                    planned += 1;
                }
                Operation::Begin(at) => if let Some(ticket) = open.get_mut(at) { recorder.begin(ticket, now) },
                Operation::Send(at) => if let Some(ticket) = open.get_mut(at) { recorder.sent(ticket, now) },
                Operation::Hop(at) => if let Some(ticket) = open.get(at).filter(|t| t.sent().is_some()) {
                    recorder.hop(ticket);
                },
                Operation::End(at, fate) => if at < open.len() {
                    let mut ticket = open.swap_remove(at);
                    if fate.implies_sent() {
                        recorder.sent(&mut ticket, now);
                    }
                    recorder.end(ticket, fate, now);
                },
                Operation::Wait(millis) => {
                    now = now + ms(millis);
                    windows.extend(std::iter::from_fn(|| recorder.next_window(now, UserStates::default())));
                }
            }
            prop_assert_eq!(Measured::from(recorder.ledger()).imbalance(), None);
        }
        if closes {
            now = now + Duration::from_secs(1);
            windows.extend(std::iter::from_fn(|| recorder.next_window(now, UserStates::default())));
        }
        for ticket in open.drain(..open.len() / 2) {
            recorder.end(ticket, Fate::InFlight, now);
        }
        let in_flight = recorder.in_flight();
        let report = recorder.finish(now, Health::default());
        let ledger = &report.total.measured;
        prop_assert_eq!(ledger.planned, planned);
        prop_assert_eq!(ledger.imbalance(), None);
        prop_assert_eq!(in_flight, ledger.in_flight);
        prop_assert_eq!(&report.faults, &Vec::<String>::new());
        let sum = |field: fn(&Window) -> u64| windows.iter().map(field).sum::<u64>();
        let last = report.last_second().expect("a recorder knows it");
        prop_assert_eq!(sum(|w| w.offered + w.retries) + last.planned, ledger.planned);
        prop_assert_eq!(sum(|w| w.sent) + last.sent, ledger.sent);
        if closes {
            prop_assert_eq!(sum(|w| w.served + w.late), ledger.served + ledger.served_late);
            prop_assert_eq!(sum(|w| w.rejected), ledger.rejected);
            prop_assert_eq!(sum(|w| w.connect_failed), ledger.connect_failed);
            prop_assert_eq!(last, LastSecond::default());
        }
        for phase in &report.phases {
            for groups in [&phase.by_type, &phase.by_class] {
                let mut sum = [[0; 6]; 3];
                for group in groups.values() {
                    sum.iter_mut().flatten().zip(counts(group).iter().flatten()).for_each(|(sum, count)| *sum += count);
                }
                prop_assert_eq!(sum, counts(&phase.measured));
            }
        }
    }
}

//! Section III-B: figures 6 to 8 and 12, silence, cuts and returns.

use super::{
    super::{ExcessRule, ReplicaId, ReplicaReport, ReportRefused, Subunits},
    ONE, at,
    cluster::Cluster,
};

const ALL: [Option<u8>; 3] = [Some(0); 3];

/// Figures 6 to 8.
fn load(second: u64) -> [usize; 3] {
    match second {
        0..10 => [800, 1200, 400],
        50..60 => [800, 400, 1200],
        _ => [4, 3, 3],
    }
}

#[test]
fn the_papers_three_replicas_are_as_one() {
    for rule in [ExcessRule::AsPublished, ExcessRule::Split] {
        let mut cluster = Cluster::new(3, 720, rule);
        let mut longest = 0;
        for second in 0..100 {
            cluster.exchange(second, &ALL);
            if (1..=10).contains(&second) {
                // 720 in the ratio 800 : 1200 : 400.
                assert_eq!(cluster.shares(), [240.0, 360.0, 120.0], "{rule:?} at {second}");
            }
            if (51..=60).contains(&second) {
                assert_eq!(cluster.shares(), [240.0, 120.0, 360.0], "{rule:?} at {second}");
            }
            let waits = cluster.ask_all(second, &load(second), ONE);
            let waits: Vec<u32> = waits.into_iter().map(|wait| wait.expect("room")).collect();
            longest = longest.max(*waits.iter().max().expect("three"));
            if (1..10).contains(&second) || (51..60).contains(&second) {
                let apart = waits.iter().max().expect("three") - waits.iter().min().expect("three");
                // In the first second of a burst all have a third of the capacity, and the one with 1200 requests books
                // 1200/216 = 5.6 seconds, the one with 400 1.9: from then on shares are right, and they stay apart.
                assert!(apart <= 3, "{rule:?} at {second}: {waits:?}");
            }
        }
        // Figure 12: 10·(2400 − 720)/720 = 23.3 s, within a fifth.
        assert!((23..=28).contains(&longest), "{rule:?}: {longest}");
        // Never over the capacity by more than 5 %.
        assert!(cluster.most() <= Subunits::whole(756), "{rule:?}: {:?}", cluster.most());
    }
}

/// What is booked between a report and its arrival is not in it. The fullest second of the paper's load, if reports arrive when
/// a tenth, half and nine tenths of each second's requests have come.
#[test]
fn reports_that_arrive_late_in_their_second_overbook_by_up_to_a_fifth() {
    for rule in [ExcessRule::AsPublished, ExcessRule::Split] {
        let fullest = [1, 5, 9].map(|tenths| {
            let mut cluster = Cluster::new(3, 720, rule);
            for second in 0..100 {
                let reports = cluster.reports(second);
                let before = load(second).map(|n| n * tenths / 10);
                cluster.ask_all(second, &before, ONE);
                cluster.deliver(second, &ALL, &reports);
                let load = load(second);
                cluster.ask_all(second, &[0, 1, 2].map(|i| load[i] - before[i]), ONE);
            }
            cluster.most()
        });
        // 107, 117 and 120 % of 720.
        assert_eq!(fullest, [768, 840, 864].map(Subunits::whole), "{rule:?}");
    }
}

#[test]
fn an_idle_replica_keeps_its_minimum() {
    let mut cluster = Cluster::new(3, 300, ExcessRule::Split);
    for second in 0..4 {
        cluster.exchange(second, &ALL);
        cluster.ask_all(second, &[200, 100, 0], ONE);
    }
    // 0.3 of an equal share of 100 are 30; the other 270 are divided 2 : 1.
    assert_eq!(cluster.shares(), [180.0, 90.0, 30.0]);
}

#[test]
fn who_is_alone_has_its_minimum_until_it_hears_a_majority() {
    let mut cluster = Cluster::new(3, 300, ExcessRule::Split);
    assert_eq!(cluster.replicas[0].share(), Some(Subunits::whole(30)), "nothing was heard yet");
    cluster.exchange(0, &ALL);
    assert_eq!(cluster.shares(), [100.0; 3], "no load: equal shares");
}

#[test]
fn a_replica_that_is_cut_off_shrinks_before_the_others_grow() {
    let mut cluster = Cluster::new(3, 300, ExcessRule::Split);
    let cut = [Some(0), Some(0), Some(1)];
    let mut shares = Vec::new();
    for second in 0..12 {
        // Heard of last at second 2.
        cluster.exchange(second, if second <= 2 { &ALL } else { &cut });
        cluster.ask_all(second, &[100; 3], ONE);
        shares.push(cluster.shares());
    }
    // Silent for up to 2 s: as before. From 3 s on the one that is cut off has its 30, and from 5 s on the others have the
    // 270 that are left.
    assert_eq!(shares[1..=4], vec![vec![100.0; 3]; 4]);
    assert_eq!(shares[5..=6], vec![vec![100.0, 100.0, 30.0]; 2]);
    assert_eq!(shares[7..], vec![vec![135.0, 135.0, 30.0]; 5]);
    assert!(shares.iter().all(|shares| shares.iter().sum::<f64>() <= 300.0));
    // It comes back, and has its share by load at once.
    cluster.exchange(12, &ALL);
    assert_eq!(cluster.shares(), [100.0; 3]);
}

#[test]
fn of_two_the_one_with_the_lower_number_goes_on() {
    let mut cluster = Cluster::new(2, 200, ExcessRule::Split);
    for second in 0..10 {
        cluster.exchange(second, if second < 2 { &[Some(0), Some(0)] } else { &[Some(0), Some(1)] });
        cluster.ask_all(second, &[10, 10], ONE);
    }
    assert_eq!(cluster.shares(), [170.0, 30.0]);
}

#[test]
fn promises_of_a_process_that_has_ended_are_honoured_when_it_is_back() {
    let mut cluster = Cluster::new(3, 300, ExcessRule::Split);
    cluster.exchange(0, &ALL);
    // The third promises 100 a second for 20 seconds, says so, and is killed.
    cluster.ask_all(0, &[0, 0, 2000], ONE);
    cluster.exchange(1, &ALL);
    cluster.replicas[2] = cluster.replica(2, 3, 2);
    cluster.exchange(2, &ALL);
    assert_eq!(cluster.replica_count(2).taken, 2);
    // The others leave room for these 100 in each of the seconds up to 19, although the new process has booked nothing.
    cluster.ask_all(2, &[3000, 3000, 0], ONE);
    let all: Vec<f64> = (2..20).map(|second| cluster.promised[&second].as_f64()).collect();
    assert!(all.iter().all(|sum| (299.0..=303.0).contains(sum)), "{all:?}");
}

impl Cluster {
    fn replica_count(&self, replica: usize) -> super::super::ReplicaCounts {
        self.replicas[replica].replica_counts()
    }
}

#[test]
fn reports_that_do_not_count_are_refused_with_their_reason() {
    let mut cluster = Cluster::new(3, 300, ExcessRule::Split);
    let good = cluster.replicas[1].report(at(0));
    let replica = &mut cluster.replicas[0];
    let mut hear = |report: ReplicaReport| replica.hear(at(0), report);
    assert_eq!(hear(ReplicaReport { version: 2, ..good.clone() }), Err(ReportRefused::Version(2)));
    for stranger in [0, 7] {
        let from = ReplicaId(stranger);
        assert_eq!(hear(ReplicaReport { from, ..good.clone() }), Err(ReportRefused::Unknown(from)));
    }
    assert_eq!(hear(ReplicaReport { second: at(6), ..good.clone() }), Err(ReportRefused::Ahead(6)));
    let long = vec![ONE; 3601];
    assert_eq!(hear(ReplicaReport { booked: long, ..good.clone() }), Err(ReportRefused::TooLong(3601)));
    assert_eq!(hear(good.clone()), Ok(()));
    assert_eq!(hear(good.clone()), Err(ReportRefused::Old), "the same once more");
    assert_eq!(hear(ReplicaReport { sequence: 5, ..good.clone() }), Ok(()), "some were lost on the way");
    assert_eq!(hear(ReplicaReport { sequence: 4, ..good.clone() }), Err(ReportRefused::Old), "overtaken");
    let restarted = ReplicaReport { started: at(1), sequence: 0, ..good };
    assert_eq!(hear(restarted), Ok(()), "a new process begins to count anew");
    let counts = cluster.replica_count(0);
    assert_eq!((counts.taken, counts.old, counts.refused), (3, 2, 5));
}

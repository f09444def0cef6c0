//! The experiment of figure 3 in virtual time: three processor-sharing servers of 60 requests per second each; Bronze,
//! then Silver, then Gold ask for more than there is.

use std::fmt::Write as _;

use super::*;
use crate::Random;

/// The work of a request at a server of 60 per second, nanoseconds.
const WORK_NS: f64 = 1e9 / 60.0;

/// From this second on, arrivals per second of Gold, Silver and Bronze: the changes that section 6.2 names, at its times.
/// It names the peaks of Silver (nearly 120) and Gold (200) alone; the others are ours.
const PROFILE: [(u64, [f64; 3]); 5] = [
    (0, [40.0, 40.0, 40.0]),
    (130, [40.0, 40.0, 120.0]),
    (195, [40.0, 120.0, 120.0]),
    (210, [200.0, 120.0, 120.0]),
    (390, [40.0, 40.0, 120.0]),
];
const SECONDS: u64 = 450;
const ROW_SECONDS: u64 = 15;

/// One processor-sharing server: each of `k` requests proceeds at a `k`th of the speed.
#[derive(Default)]
struct SharingServer {
    /// Service that a request has received if it was there from the start, nanoseconds.
    received_ns: f64,
    updated_ns: f64,
    /// By the value of `received_ns` at which it is complete; equal work, so in order of arrival.
    jobs: std::collections::VecDeque<(f64, Arrived)>,
}

struct Arrived {
    at_ns: u64,
    rank: usize,
    permit: SentryPermit,
}

impl SharingServer {
    fn update(&mut self, now_ns: f64) {
        if !self.jobs.is_empty() {
            self.received_ns += (now_ns - self.updated_ns) / self.jobs.len() as f64;
        }
        self.updated_ns = now_ns;
    }

    fn next_end_ns(&self) -> Option<f64> {
        let (complete_ns, _) = self.jobs.front()?;
        Some(self.updated_ns + (complete_ns - self.received_ns).max(0.0) * self.jobs.len() as f64)
    }
}

/// Counts of a row, by class.
#[derive(Default, Clone)]
struct Row {
    offered: [u32; 3],
    admitted: [u32; 3],
    responses_ms: Vec<u64>,
}

struct Run {
    sentry: Sentry<(u64, usize)>,
    servers: Vec<SharingServer>,
    next_server: usize,
    rows: Vec<Row>,
    random: Seeded,
    arrivals: [Seeded; 3],
}

impl Run {
    fn new(policing: Policing, drains_backlog: bool) -> Self {
        let plan = SentryPlan {
            ranges: ServiceRanges::new(vec![0.016, 0.0174, 0.1]).expect("ascending"),
            policing: PolicingPlan::Always(policing),
            drains_backlog,
            service_times: ServiceTimePlan { initial_s: 1.0 / 60.0, ..ServiceTimePlan::default() },
            ..by_batches()
        };
        Self {
            sentry: Sentry::new(Timestamp::ZERO, plan, &nodes(3)).expect("in range"),
            servers: std::iter::repeat_with(SharingServer::default).take(3).collect(),
            next_server: 0,
            rows: vec![Row::default(); (SECONDS / ROW_SECONDS) as usize],
            random: Seeded::new(1),
            arrivals: [Seeded::new(2), Seeded::new(3), Seeded::new(4)],
        }
    }

    fn row(&mut self, now_ns: u64) -> &mut Row {
        let row = (now_ns / 1_000_000_000 / ROW_SECONDS) as usize;
        let last = self.rows.len() - 1;
        &mut self.rows[row.min(last)]
    }

    /// Arrivals, ends and wake-ups in the order of time, until the end of the profile.
    fn run(mut self) -> Vec<Row> {
        let end_ns = SECONDS * 1_000_000_000;
        let mut next = [0, 1, 2].map(|rank| self.next_arrival(0, rank));
        let mut id = 0;
        loop {
            let wake_ns = self.poll(0.0);
            let (rank, arrival_ns) = (0..3).map(|rank| (rank, next[rank])).min_by_key(|(_, at)| *at).expect("three");
            let ended = (0..3).filter_map(|s| self.servers[s].next_end_ns().map(|at| (s, at)));
            let ended = ended.min_by(|a, b| a.1.total_cmp(&b.1));
            let end_at_ns = ended.map_or(f64::INFINITY, |(_, at)| at);
            let now_ns = (arrival_ns as f64).min(end_at_ns).min(wake_ns as f64);
            if now_ns >= end_ns as f64 {
                return self.rows;
            }
            if end_at_ns <= now_ns {
                self.end(ended.expect("finite").0, end_at_ns);
            } else if arrival_ns as f64 <= now_ns {
                id += 1;
                self.row(arrival_ns).offered[rank] += 1;
                let request = SentryRequest { id: JobId(id), class: Class(2 - rank as u8), url: "/script.php?id=1" };
                self.sentry.offer(Timestamp::from_nanos(arrival_ns), request, (arrival_ns, rank), &mut self.random);
                next[rank] = self.next_arrival(arrival_ns, rank);
            }
            self.poll(now_ns);
        }
    }

    fn next_arrival(&mut self, now_ns: u64, rank: usize) -> u64 {
        let second = now_ns / 1_000_000_000;
        let (_, rates) = PROFILE.iter().rev().find(|(from, _)| *from <= second).expect("it begins at 0");
        now_ns + self.arrivals[rank].exponential(1e9 / rates[rank]) as u64
    }

    /// Carries out what the sentry decides; the time of its next wake-up.
    fn poll(&mut self, now_ns: f64) -> u64 {
        loop {
            match self.sentry.poll(Timestamp::from_nanos(now_ns as u64)) {
                SentryAction::Admit((at_ns, rank), permit) => {
                    self.row(at_ns).admitted[rank] += 1;
                    let server = &mut self.servers[self.next_server];
                    self.next_server = (self.next_server + 1) % 3;
                    server.update(now_ns);
                    let complete_ns = server.received_ns + WORK_NS;
                    server.jobs.push_back((complete_ns, Arrived { at_ns, rank, permit }));
                }
                SentryAction::Refuse(..) => {}
                SentryAction::WakeAt(wake) => return wake.as_nanos(),
            }
        }
    }

    fn end(&mut self, server: usize, now_ns: f64) {
        self.servers[server].update(now_ns);
        let (_, Arrived { at_ns, rank, permit }) = self.servers[server].jobs.pop_front().expect("one ends");
        assert!(rank < 3);
        self.row(at_ns).responses_ms.push((now_ns as u64 - at_ns) / 1_000_000);
        let usage = ResourceUsage { cpu: Duration::from_nanos(WORK_NS as u64), data: Duration::ZERO };
        self.sentry.ended(Timestamp::from_nanos(now_ns as u64), permit, Some(usage), &mut self.random);
    }
}

impl Row {
    fn percent(&self, rank: usize) -> u32 {
        self.admitted[rank] * 100 / self.offered[rank].max(1)
    }

    fn p95_ms(&self) -> u64 {
        let mut sorted = self.responses_ms.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() * 95 / 100).copied().unwrap_or(0)
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from("   s   gold  silver  bronze  p95_ms (admitted/offered)\n");
    for (index, row) in rows.iter().enumerate() {
        let class = |rank: usize| format!("{}/{}", row.admitted[rank], row.offered[rank]);
        let from = index as u64 * ROW_SECONDS;
        let _ = writeln!(text, "{from:4} {:>10} {:>10} {:>10} {:5}", class(0), class(1), class(2), row.p95_ms());
    }
    text
}

/// The rows that begin in these seconds.
fn rows_in(rows: &[Row], seconds: std::ops::Range<u64>) -> impl Iterator<Item = &Row> {
    rows.iter()
        .enumerate()
        .filter(move |(index, _)| seconds.contains(&(*index as u64 * ROW_SECONDS)))
        .map(|(_, row)| row)
}

#[test]
fn bronze_suffers_before_silver_before_gold() {
    let rows = Run::new(Policing::Batch, false).run();
    insta::assert_snapshot!("figure_3_batch", table(&rows));
    // Up to 120 s there is capacity for all; while Bronze peaks only Bronze gives way.
    assert!(rows_in(&rows, 0..120).all(|row| (0..3).all(|rank| row.percent(rank) == 100)));
    assert!(rows_in(&rows, 135..195).all(|row| row.percent(0) == 100 && row.percent(1) == 100 && row.percent(2) < 90));
    // While Silver peaks Bronze loses most of what it had; Silver begins to give way, Gold does not.
    let silver_peaks: Vec<_> = rows_in(&rows, 195..210).map(|row| [0, 1, 2].map(|rank| row.percent(rank))).collect();
    assert!(silver_peaks.iter().all(|[gold, silver, bronze]| *gold == 100 && *silver > 85 && *bronze < 30));
    // While Gold peaks Bronze has nothing, and Silver what Gold leaves by chance.
    assert!(rows_in(&rows, 210..390).all(|row| row.percent(0) > 80 && row.percent(1) < 15 && row.percent(2) == 0));
    assert!(rows_in(&rows, 390..450).all(|row| row.percent(0) == 100 && row.percent(1) > 98));
    assert!(rows.iter().all(|row| row.p95_ms() <= 1000));
}

/// The experiment of figure 5: the same arrivals under threshold policing alone. The threshold knows rates, not the
/// backlog: what the period of a change admits too much is there until the load falls under the capacity again, unless the
/// threshold sets the servers for it aside.
#[test]
fn a_threshold_is_wrong_for_a_period_and_its_backlog_stays() {
    let published = Run::new(Policing::Threshold, false).run();
    insta::assert_snapshot!("figure_5_threshold", table(&published));
    let draining = Run::new(Policing::Threshold, true).run();
    insta::assert_snapshot!("figure_5_threshold_that_drains", table(&draining));
    for rows in [&published, &draining] {
        assert!(rows_in(rows, 0..120).all(|row| (0..3).all(|rank| row.percent(rank) == 100) && row.p95_ms() < 200));
        assert!(rows_in(rows, 195..210).all(|row| row.p95_ms() > 1000), "the period of the change");
        assert!(rows_in(rows, 225..390).all(|row| row.percent(2) == 0), "Bronze while Gold peaks");
    }
    assert!(rows_in(&published, 240..390).all(|row| row.p95_ms() > 10_000));
    assert!(rows_in(&draining, 240..390).all(|row| row.p95_ms() < 2000));
}

//! The experiment of figure 3 in virtual time: three processor-sharing servers of 60 requests per second each; Bronze,
//! then Silver, then Gold ask for more than there is.

use std::fmt::Write as _;

use super::*;
use crate::Random;

/// Scripts that are asked for equally often, with the work of a request, nanoseconds: a server does 60 per second.
type Scripts = &'static [(&'static str, f64)];

const ONE_SIZE: Scripts = &[("/script.php?id=1", 1e9 / 60.0)];

/// 5, 5 and 40 ms: the same 60 per second.
const TWO_SIZES: Scripts = &[("/small.php", 5e6), ("/small.php?id=2", 5e6), ("/large.php", 40e6)];

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
    /// By the value of `received_ns` at which it is complete (bits of numbers over 0 are in their order), and by job.
    jobs: std::collections::BTreeMap<(u64, u64), Arrived>,
}

struct Arrived {
    job: Job,
    permit: SentryPermit,
}

#[derive(Debug, Clone, Copy)]
struct Job {
    id: u64,
    at_ns: u64,
    rank: usize,
    work_ns: f64,
}

impl SharingServer {
    fn update(&mut self, now_ns: f64) {
        if !self.jobs.is_empty() {
            self.received_ns += (now_ns - self.updated_ns) / self.jobs.len() as f64;
        }
        self.updated_ns = now_ns;
    }

    fn next_end_ns(&self) -> Option<f64> {
        let ((complete, _), _) = self.jobs.first_key_value()?;
        Some(self.updated_ns + (f64::from_bits(*complete) - self.received_ns).max(0.0) * self.jobs.len() as f64)
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
    sentry: Sentry<Job>,
    scripts: Scripts,
    servers: Vec<SharingServer>,
    next_server: usize,
    rows: Vec<Row>,
    random: Seeded,
    arrivals: [Seeded; 3],
    choice: Seeded,
}

impl Run {
    fn new(policing: Policing, drains_backlog: bool, scripts: Scripts) -> Self {
        let plan = SentryPlan {
            ranges: ServiceRanges::new(vec![0.0045, 0.0055, 0.016, 0.0174, 0.039, 0.041]).expect("ascending"),
            policing: PolicingPlan::Always(policing),
            drains_backlog,
            service_times: ServiceTimePlan { initial_s: 1.0 / 60.0, ..ServiceTimePlan::default() },
            ..by_batches()
        };
        Self {
            sentry: Sentry::new(Timestamp::ZERO, plan, &nodes(3)).expect("in range"),
            scripts,
            servers: std::iter::repeat_with(SharingServer::default).take(3).collect(),
            next_server: 0,
            rows: vec![Row::default(); (SECONDS / ROW_SECONDS) as usize],
            random: Seeded::new(1),
            arrivals: [Seeded::new(2), Seeded::new(3), Seeded::new(4)],
            choice: Seeded::new(5),
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
                let (url, work_ns) = self.scripts[self.choice.below(self.scripts.len() as u64) as usize];
                let request = SentryRequest { id: JobId(id), class: Class(2 - rank as u8), url: UrlName::Path(url) };
                let job = Job { id, at_ns: arrival_ns, rank, work_ns };
                self.sentry.offer(Timestamp::from_nanos(arrival_ns), request, job, &mut self.random);
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
                SentryAction::Admit(job, permit) => {
                    self.row(job.at_ns).admitted[job.rank] += 1;
                    let server = &mut self.servers[self.next_server];
                    self.next_server = (self.next_server + 1) % 3;
                    server.update(now_ns);
                    let complete_ns = server.received_ns + job.work_ns;
                    server.jobs.insert((complete_ns.to_bits(), job.id), Arrived { job, permit });
                }
                SentryAction::Refuse(..) => {}
                SentryAction::WakeAt(wake) => return wake.as_nanos(),
            }
        }
    }

    fn end(&mut self, server: usize, now_ns: f64) {
        self.servers[server].update(now_ns);
        let (_, Arrived { job, permit }) = self.servers[server].jobs.pop_first().expect("one ends");
        self.row(job.at_ns).responses_ms.push((now_ns as u64 - job.at_ns) / 1_000_000);
        let cpu = Duration::from_nanos(job.work_ns as u64);
        let usage = ResourceUsage { cpu, data: Duration::ZERO, actual: cpu };
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
    let rows = Run::new(Policing::Batch, false, ONE_SIZE).run();
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
    let published = Run::new(Policing::Threshold, false, ONE_SIZE).run();
    insta::assert_snapshot!("figure_5_threshold", table(&published));
    let draining = Run::new(Policing::Threshold, true, ONE_SIZE).run();
    insta::assert_snapshot!("figure_5_threshold_that_drains", table(&draining));
    for rows in [&published, &draining] {
        assert!(rows_in(rows, 0..120).all(|row| (0..3).all(|rank| row.percent(rank) == 100) && row.p95_ms() < 200));
        assert!(rows_in(rows, 195..210).all(|row| row.p95_ms() > 1000), "the period of the change");
        assert!(rows_in(rows, 225..390).all(|row| row.percent(2) == 0), "Bronze while Gold peaks");
    }
    assert!(rows_in(&published, 240..390).all(|row| row.p95_ms() > 10_000));
    assert!(rows_in(&draining, 240..390).all(|row| row.p95_ms() < 2000));
}

/// Small requests are admitted at a load at which a large one is not: they slow down the large ones that are there, and
/// small ones of a less important class pass between the failures of large ones of a more important class. See "What the
/// test does not promise" in the module's documentation.
#[test]
fn requests_of_two_sizes_exceed_the_target_and_mix_the_classes() {
    let rows = Run::new(Policing::Batch, false, TWO_SIZES).run();
    insta::assert_snapshot!("figure_3_two_sizes", table(&rows));
    assert!(rows_in(&rows, 0..120).all(|row| row.p95_ms() < 250), "with capacity for all");
    let gold_peaks: Vec<&Row> = rows_in(&rows, 210..390).collect();
    assert!(gold_peaks.iter().all(|row| row.p95_ms() > 1000));
    // The order of the classes holds, but not that the lower ones have nothing.
    assert!(gold_peaks.iter().all(|row| row.percent(0) > row.percent(1) && row.percent(1) > row.percent(2)));
    assert!(gold_peaks.iter().all(|row| row.percent(1) > 40 && row.percent(2) > 5));
}

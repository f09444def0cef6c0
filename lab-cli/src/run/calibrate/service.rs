//! The costs of a service that is not the lab's, measured from outside: the time of each request type alone, and how
//! many requests a second it serves with one, two, four … under way.

use std::{collections::BTreeMap, fmt::Write as _, path::Path, time::Duration};

use experiment::plan::OwnService;
use measure::{TimeFamily, Window};
use spec::{
    Discipline,
    measured_service::{MeasuredService, RequestCost},
};
use workloads::plan::{Behaviour, FailureRule, Target, UrlRequest, UrlUsers, Users};

use super::{
    busy::{Busy, PHASE},
    figures::{Series, interpolated, unimodal},
    load::TypeTimes,
    verdict::PlantVerdict,
};
use crate::run::{
    Cpus, RunFailure, Sinks, StopSignal,
    live::service::{RunningService, SlowerKept, kept_connections, log_in},
};

/// Numbers of users at once, each of whom asks again as soon as the answer is there.
pub const LEVELS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Factors up to this far from 1 are no slowdown.
const SAME: f64 = 0.08;
/// Most requests without a proper answer, as a share.
const MOST_LOST: f64 = 0.01;

/// The inputs of a measurement.
#[derive(Debug)]
pub struct ServiceRequest<'a> {
    /// The service.
    pub own: &'a OwnService,
    /// Requests that the users make.
    pub requests: &'a [UrlRequest],
    /// Rounds.
    pub repeat: u32,
    /// The length of each load.
    pub lasts: Duration,
    /// The folder for the service's output.
    pub folder: &'a Path,
    /// Processors of generator and service.
    pub cpus: &'a Cpus,
}

/// Figures of all rounds.
#[derive(Debug, Default)]
pub struct ServiceMeasurements {
    /// Mean time alone, milliseconds, and its spread, by request type.
    types: BTreeMap<String, [Series; 2]>,
    /// Requests a second, by the number of users.
    levels: BTreeMap<u32, Series>,
    /// It answers later on kept connections.
    pub slower_kept: Option<SlowerKept>,
    /// Answers that refused, and all.
    refused: [u64; 2],
    /// The gates' findings about the loads.
    pub verdict: PlantVerdict,
}

/// Measures a service.
///
/// # Errors
/// It does not start, or does not answer as it should; or it was interrupted.
pub fn measure_service(
    request: &ServiceRequest<'_>,
    sinks: &mut Sinks,
    stop: &StopSignal,
) -> Result<ServiceMeasurements, RunFailure> {
    let mut service = RunningService::start(request.own, request.cpus.target, &log_in(request.folder))?;
    let target = service.door.target();
    let slower_kept = slower_kept(request, &service);
    let verdict = PlantVerdict::of_rounds(request.repeat);
    let mut found = ServiceMeasurements { slower_kept, verdict, ..ServiceMeasurements::default() };
    for round in 1..=request.repeat {
        // Rare types would be measured too seldom by their weights.
        let even = request.requests.iter().map(|one| UrlRequest { weight: 1.0, ..one.clone() }).collect();
        let alone = load(request, &mut service, &target, (even, 1), &mut found, stop)?;
        for (name, times) in &alone.by_type {
            let series = found.types.entry(name.clone()).or_default();
            series[0].add(times.mean_ms);
            series[1].add(times.spread);
        }
        for level in LEVELS {
            let seen = load(request, &mut service, &target, (request.requests.to_vec(), level), &mut found, stop)?;
            let (rounds, rate) = (request.repeat, seen.per_second);
            sinks.note(format!("{round} of {rounds}: with {level} at once {rate:.1} requests/s"));
            found.levels.entry(level).or_default().add(seen.per_second);
        }
    }
    Ok(found)
}

/// Asks for one of the pages alone: the first that changes nothing, and has one path.
fn slower_kept(request: &ServiceRequest<'_>, service: &RunningService) -> Option<SlowerKept> {
    let plain = |one: &&UrlRequest| one.method == "GET" && one.body.is_none() && !one.path.contains('{');
    let page = request.requests.iter().find(plain)?;
    kept_connections(&service.door, &page.path, &page.headers)
}

/// Results of a load.
struct Seen {
    per_second: f64,
    by_type: BTreeMap<String, TypeTimes>,
}

fn load(
    request: &ServiceRequest<'_>,
    service: &mut RunningService,
    target: &Target,
    (requests, at_once): (Vec<UrlRequest>, u32),
    found: &mut ServiceMeasurements,
    stop: &StopSignal,
) -> Result<Seen, RunFailure> {
    let behaviour = Behaviour::on_any_failure(FailureRule::Login { wait: Duration::ZERO });
    let what = if requests == request.requests { "the mix" } else { "each in turn" };
    let name = format!("{what} with {at_once} at once");
    let users = Users::Url(UrlUsers { requests, behaviour, ..UrlUsers::new("/") });
    let plan = Busy { users, at_once, lasts: request.lasts, seed: u64::from(at_once) }.plan(target.clone());
    // The first second has fresh connections and threads; requests under way at the end are left out too.
    let seconds = request.lasts.as_secs();
    let (first, last) = if seconds > 1 { (1, seconds) } else { (0, seconds.max(1)) };
    let mut served = 0;
    let flag = stop.fresh_flag();
    let count = |window: Window| {
        if (first..last).contains(&window.second) {
            served += window.served + window.late;
        }
    };
    let report = senders::run(&plan, &service.door.options(), count, &flag)?;
    if flag.is_stopped() {
        return Err(RunFailure::Interrupted);
    }
    if let Some(how) = service.has_ended() {
        return Err(service.failed(format!("it ended with {how} while it was measured")));
    }
    let ledger = &report.total.measured;
    let lost = ledger.timed_out + ledger.failed + ledger.connect_failed;
    if lost as f64 > ledger.planned as f64 * MOST_LOST {
        let planned = ledger.planned;
        return Err(RunFailure::Target(format!(
            "{lost} of {planned} requests failed with {at_once} at once: an answer is a status from 200 to 299, 304, or a \
             refusal (429, 503)\n  see what it answers: lab load {} -c {at_once} -d 5s",
            service.door.url
        )));
    }
    if served == 0 {
        return Err(RunFailure::Target(format!(
            "it served nothing with {at_once} at once, and refused {}: there is nothing to measure\n  see what it answers: \
             lab load {} -c {at_once} -d 5s",
            ledger.rejected, service.door.url
        )));
    }
    let per_second = served as f64 / (last - first) as f64;
    found.verdict.judge(&name, &plan, &report, (per_second, (last - first) as f64));
    found.refused = [found.refused[0] + ledger.rejected, found.refused[1] + ledger.sent];
    let by_type = report.total.by_type.keys().filter_map(|kind| {
        let times = report.distribution(PHASE, TimeFamily::Service, Some(kind))?;
        let (mean_ms, spread) = (times.mean_ms()?, times.log_spread().unwrap_or(0.0));
        Some((kind.clone(), TypeTimes { count: times.count() as f64, mean_ms, spread }))
    });
    Ok(Seen { per_second, by_type: by_type.collect() })
}

/// Requests a second, as the law through the medians has them: more at once never serve fewer up to a peak, and never more
/// after it.
struct Law(Vec<(f64, f64)>);

impl Law {
    fn through(levels: &BTreeMap<u32, Series>) -> Self {
        let medians: Vec<f64> = levels.values().map(Series::median).collect();
        Self(levels.keys().map(|level| f64::from(*level)).zip(unimodal(&medians)).collect())
    }

    fn peak(&self) -> f64 {
        self.0.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }

    fn at(&self, at_once: u32) -> f64 {
        interpolated(&self.0, f64::from(at_once))
    }
}

impl ServiceMeasurements {
    /// Makes the service of a plant. Alone a request takes its time; how many times the rate of one after the other
    /// many users get is how many the service works on at once, and what they get less than that is how it slows down.
    pub fn service(&self, requests: &[UrlRequest]) -> MeasuredService {
        let cost = |request: &UrlRequest| {
            let known = self.types.get(&request.name).or(self.types.values().next());
            let of = |at: usize| known.map_or(0.0, |series| series[at].median());
            let (method, path) = (request.method.clone(), request.path.clone());
            RequestCost { method, path, ms: of(0), spread: of(1).min(3.0), weight: request.weight }
        };
        let requests: Vec<RequestCost> = requests.iter().map(cost).collect();
        let discipline = Discipline::ProcessorSharing;
        let one = MeasuredService { servers: 1, discipline, slowdown: Vec::new(), requests };
        let law = Law::through(&self.levels);
        // Times alone are known better than a rate that a second more or less of a phase changes.
        let alone = one.capacity().unwrap_or_else(|| law.at(1));
        let servers = (law.peak() / alone).round().clamp(1.0, 1024.0);
        let (least, most) = (*MeasuredService::FACTORS.start(), *MeasuredService::FACTORS.end());
        let factor = |at_once: u32| (f64::from(at_once).min(servers) * alone / law.at(at_once)).clamp(least, most);
        let mut slowdown: Vec<f64> = (1..=LEVELS[LEVELS.len() - 1]).map(factor).collect();
        if slowdown.iter().all(|factor| (factor - 1.0).abs() <= SAME) {
            slowdown.clear();
        }
        MeasuredService { servers: servers as u32, slowdown, ..one }
    }

    /// The plant file. `how` says where and how it was measured.
    pub fn as_yaml(&self, requests: &[UrlRequest], how: &str) -> String {
        let MeasuredService { servers, slowdown, requests, .. } = self.service(requests);
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut text = String::from(
            "# A service that is not the lab's, as it looks from outside (lab calibrate).\n\
             # servers: requests that it works on at once; slowdown: factors with one request there, two, ...;\n\
             # ms: what a request takes alone; spread: standard deviation of the logarithm of that.\n",
        );
        let _ = writeln!(
            text,
            "measured: {}\n{}service:\n  servers: {servers}",
            quoted(how),
            self.verdict.origin_as_yaml()
        );
        if !slowdown.is_empty() {
            let factors: Vec<String> = slowdown.iter().map(|factor| format!("{factor:.3}")).collect();
            let _ = writeln!(text, "  slowdown: [{}]", factors.join(", "));
        }
        text.push_str("  requests:\n");
        for RequestCost { method, path, ms, spread, weight } in requests {
            let _ = writeln!(
                text,
                "    - {{method: {method}, path: {}, ms: {ms:.3}, spread: {spread:.3}, weight: {weight}}}",
                quoted(&path)
            );
        }
        text
    }

    /// For people.
    pub fn as_table(&self, requests: &[UrlRequest]) -> String {
        let mut text = format!("{:<34} {:>10} {:>10}\n", "request type alone", "mean ms", "spread");
        for (name, [ms, spread]) in &self.types {
            let _ = writeln!(text, "{name:<34} {:>10.2} {:>10.2}", ms.median(), spread.median());
        }
        let found = self.service(requests);
        let _ = writeln!(
            text,
            "\n{:<18} {:>10}   {:<18} {:>10} {:>12}",
            "users at once", "requests/s", "lowest .. highest", "mean ms", "plant's/s"
        );
        for (level, rates) in &self.levels {
            let (rate, (low, high)) = (rates.median(), rates.range());
            let (range, mean_ms) = (format!("{low:.1} .. {high:.1}"), f64::from(*level) * 1e3 / rate);
            let _ =
                writeln!(text, "{level:<18} {rate:>10.1}   {range:<18} {mean_ms:>10.1} {:>12.1}", found.rate(*level));
        }
        let [refused, all] = self.refused;
        if refused > 0 {
            let _ = writeln!(
                text,
                "\nit refused {refused} of {all} requests (429, 503); rates are of those that it served"
            );
        }
        let capacity = found.capacity().unwrap_or(0.0);
        let _ =
            writeln!(text, "\nit serves {capacity:.0} requests/s of this mix at the most, {} at once", found.servers);
        text.push_str(&self.verdict.in_words());
        text
    }
}

#[cfg(test)]
mod tests {
    use experiment::plan::read_plant;

    use super::*;

    fn requests() -> Vec<UrlRequest> {
        let one = |name: &str, path: &str, weight: f64| UrlRequest {
            name: name.to_owned(),
            weight,
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: None,
        };
        vec![one("list", "/items", 3.0), one("report", "/report?\"x", 1.0)]
    }

    fn found(rates: [f64; 7]) -> ServiceMeasurements {
        let series = |value: f64| {
            let mut series = Series::default();
            series.add(value);
            series
        };
        let levels = LEVELS.into_iter().zip(rates.map(series)).collect();
        // Three of list to one of report: 1.25 times list's time.
        let list = 800.0 / rates[0];
        let types = [("list", list), ("report", 2.0 * list)];
        let types = types.map(|(name, ms)| (name.to_owned(), [series(ms), series(0.1)]));
        ServiceMeasurements { types: types.into(), levels, ..ServiceMeasurements::default() }
    }

    #[test]
    fn a_pool_of_four_is_four_servers_without_slowdown() {
        let service = found([25.0, 50.0, 100.0, 101.0, 102.0, 101.0, 100.0]).service(&requests());
        assert_eq!((service.servers, service.slowdown.len(), service.requests[1].ms), (4, 0, 64.0));
        assert!((service.capacity().expect("a rate") - 100.0).abs() < 1e-6);
    }

    #[test]
    fn a_service_that_is_worse_when_it_is_crowded_slows_down() {
        let service = found([100.0, 101.0, 100.0, 100.0, 80.0, 60.0, 50.0]).service(&requests());
        assert_eq!((service.servers, service.slowdown.len()), (1, 64));
        assert!((service.slowdown[63] - 2.0).abs() < 1e-9, "{:?}", service.slowdown);
        // Half-way between 8 and 16 users.
        assert!((service.slowdown[11] - 100.0 / 90.0).abs() < 1e-9);
    }

    #[test]
    fn the_file_is_read_back_as_the_plant() {
        let found = found([100.0, 101.0, 100.0, 100.0, 80.0, 60.0, 50.0]);
        let read = read_plant(&found.as_yaml(&requests(), "a \"day\"")).expect("a plant file");
        let service = read.service.expect("it has one");
        assert_eq!(service.requests, found.service(&requests()).requests);
        assert_eq!((service.servers, service.slowdown.len(), read.measured.as_str()), (1, 64, "a \"day\""));
        assert_eq!(read.measured_by.map(|origin| origin.verdict).as_deref(), Some("VALID"));
        assert!(found.as_table(&requests()).contains("it serves 101 requests/s of this mix at the most, 1 at once"));
    }

    #[test]
    fn the_headline_is_the_peak_of_the_table() {
        // As seen: the highest rate is over four times that of one alone, so that five are at work; at five the line is still
        // on its way from 192 to 248.
        let found = found([50.0, 97.0, 192.0, 248.0, 244.0, 250.0, 246.0]);
        let service = found.service(&requests());
        let peak = Law::through(&found.levels).peak();
        // 248 and 244 pool on the way up to 250.
        assert_eq!((service.servers, peak), (5, 250.0));
        assert!((service.capacity().expect("a rate") - peak).abs() < 1e-6, "{service:?}");
        for (level, rate) in [(1, 50.0), (2, 97.0), (4, 192.0), (8, 246.0), (16, 246.0), (32, 250.0), (64, 246.0)] {
            assert!((service.rate(level) - rate).abs() < 1e-6, "{level}: {}", service.rate(level));
        }
    }

    #[test]
    fn the_file_of_a_service_that_collapses_can_be_read() {
        let found = found([1000.0, 4000.0, 1000.0, 10.0, 1.0, 0.1, 0.01]);
        read_plant(&found.as_yaml(&requests(), "here")).expect("a plant file");
    }
}

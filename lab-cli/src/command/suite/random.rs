//! Scenarios drawn by a seed, on which nobody has tuned anything.
//!
//! A service of 1 to 128 servers, of 1 to 500 ms of work (both by factors), by one of three laws, first come first served (three of five) or
//! sharing its processors; an objective of 3 to 20 times the work; from a cold start .3 to .9 of the capacity, .3 to 4 times as much
//! (by factors), .3 to .9 again; in two of five cases a fault in the middle, servers at .2 to .8 of their speed; a time-out of 1 to 10 times the objective, and
//! in two of five cases users who try 2 to 4 times. It is as long as 60 000 requests at capacity, of 10 min at most.

use controllers::{Random, Seeded, seed_for};

/// Requests at capacity in a scenario, and the bounds of its length in seconds.
const REQUESTS: f64 = 60_000.0;
const LONGEST_S: f64 = 600.0;
const SHORTEST_S: f64 = 8.0;
/// Workers at most, of those that share processors.
const MOST_WORKERS: f64 = 1024.0;
/// Least length in objectives.
const OBJECTIVES: f64 = 20.0;

/// Files and their names. The first of `count` are the same, whatever `count` is.
pub fn scenarios(seed: u64, count: u32) -> Vec<(String, String)> {
    let one = |number: u32| {
        let name = format!("random-{seed}-{number}");
        (file(&name, &mut Seeded::new(seed_for(seed, &format!("scenario {number}")))), name)
    };
    (1..=count).map(one).collect()
}

/// Every value is drawn whether it is used or not: what one says moves no other.
fn file(name: &str, random: &mut Seeded) -> String {
    let servers = by_factors(random, 1.0, 128.0).round().max(1.0);
    let work_ms = by_factors(random, 1.0, 500.0);
    let law = law(random, work_ms);
    let shares = random.uniform() < 0.4;
    let objective_ms = work_ms * by_factors(random, 3.0, 20.0);
    let loads = [between(random, 0.3, 0.9), by_factors(random, 0.3, 4.0), between(random, 0.3, 0.9)];
    let fault = (random.uniform() < 0.4, between(random, 0.2, 0.8));
    let timeout_ms = objective_ms * between(random, 1.0, 10.0);
    let tries = (random.uniform() < 0.4, 2 + random.below(3));
    let capacity = servers / (work_ms / 1e3);
    let length_s = (REQUESTS / capacity).min(LONGEST_S).max(OBJECTIVES * objective_ms / 1e3).max(SHORTEST_S);
    let [calm, over, after] = loads;
    let (workers, discipline) =
        if shares { ((64.0 * servers).min(MOST_WORKERS), ", discipline: processor-sharing") } else { (servers, "") };
    let then = if tries.0 { format!("{{then: backoff, attempts: {}}}", tries.1) } else { "{then: leave}".to_owned() };
    let hindered = if fault.0 { format!(", then servers at {:.2} of their speed", fault.1) } else { String::new() };
    let mut file = format!(
        "name: {name}\n\
         about: {servers} servers of {work_ms:.1} ms, {over:.2} times their capacity{hindered}\n\
         target: {{app: emulated, service: {law}, servers: {servers}, workers: {workers}{discipline}, batch: 1, queue: 100000}}\n\
         objective: {{percentile: 90, response_time: {objective_ms:.1}ms}}\n\
         users:\n  model: url\n  timeout: {timeout_ms:.1}ms\n  on_reject: {then}\n  on_failure: {then}\n  phases:\n"
    );
    for (name, load, part) in [("calm", calm, 0.25), ("over", over, 0.5), ("after", after, 0.25)] {
        file += &format!("    - {{name: {name}, requests: {load:.3}x, for: {:.1}s}}\n", part * length_s);
    }
    file += "arms: [none]\n";
    if fault.0 {
        let (at, lasts) = (0.4 * length_s, 0.2 * length_s);
        file += &format!("virtual: {{faults: [{{at: {at:.1}s, for: {lasts:.1}s, capacity: {:.2}}}]}}\n", fault.1);
    }
    file
}

/// Exponential, lognormal, or one of ten times the work among short ones: with this mean.
fn law(random: &mut Seeded, mean_ms: f64) -> String {
    let (kind, sigma, long_share) = (random.below(3), between(random, 0.5, 1.5), between(random, 0.02, 0.15));
    match kind {
        0 => format!("{{exponential: {mean_ms:.3}ms}}"),
        1 => {
            let median = mean_ms * libm::exp(-sigma * sigma / 2.0);
            format!("{{lognormal: {{median: {median:.3}ms, sigma: {sigma:.2}}}}}")
        }
        _ => {
            let short = mean_ms / (1.0 + 9.0 * long_share);
            let long = 10.0 * short;
            format!("{{bimodal: {{short: {short:.3}ms, long: {long:.3}ms, long_share: {long_share:.3}}}}}")
        }
    }
}

fn between(random: &mut Seeded, low: f64, high: f64) -> f64 {
    low + (high - low) * random.uniform()
}

/// Uniform on a scale of factors.
fn by_factors(random: &mut Seeded, low: f64, high: f64) -> f64 {
    low * libm::pow(high / low, random.uniform())
}

#[cfg(test)]
mod tests {
    use experiment::{Changes, plan::AppPlan, read};

    use super::*;

    #[test]
    fn what_is_drawn_lies_within_the_stated_ranges() {
        for (text, name) in scenarios(7, 200) {
            let file = read(&text, &Changes::default()).unwrap_or_else(|found| panic!("{name}: {found:?}\n{text}"));
            let AppPlan::Emulated(emulated) = &file.target.app else { panic!("{name}: {text}") };
            let work = emulated.service.mean().as_secs_f64() * 1e3;
            let objectives = file.objective.response_time_ms / work;
            assert!((1..=128).contains(&emulated.servers) && (0.99..=505.0).contains(&work), "{text}");
            assert!((2.9..=20.3).contains(&objectives), "{objectives}: {text}");
            let capacity = file.nominal_capacity().expect("it is known");
            assert!((f64::from(emulated.servers) / work * 1e3 / capacity - 1.0).abs() < 0.02, "{capacity}: {text}");
        }
    }

    #[test]
    fn a_longer_draw_begins_with_the_shorter_one() {
        assert_eq!(scenarios(7, 2)[..], scenarios(7, 5)[..2]);
        assert_ne!(scenarios(7, 1)[0].0, scenarios(8, 1)[0].0);
    }
}

//! `docs/reference/metrics.md`.

use std::fmt::Write as _;

use analysis::judge::threshold::reference::{KnownMetric, MetricKind, known};

use super::GENERATED;

/// The place of a kind of names, its heading, what is said of it, and an example.
const PARTS: [(MetricKind, &str, &str, &str); 5] = [
    (
        MetricKind::Number,
        "Counts, rates and shares",
        "Of the requests of a phase, a part of it, a request type or a class. Rates are per second; shares are numbers from 0 to 1 and \
         may be written `5%`.",
        "seda.spike.NAME > 40",
    ),
    (
        MetricKind::Times,
        "Times",
        "Each needs a statistic. Times that requests without an answer hide are bounds: a threshold holds only if it holds for every value that the bound \
         allows.",
        "seda.spike.NAME.p90 <= 2s",
    ),
    (
        MetricKind::Statistic,
        "Statistics of times",
        "A percentile without enough samples has no value, and a threshold about it fails.",
        "seda.spike.response_time.NAME",
    ),
    (
        MetricKind::Measure,
        "Measures of whole phases",
        "They have no parts, types or classes. How they are computed: [validity.md](../validity.md#measures-over-a-run).",
        "seda.after.NAME",
    ),
    (
        MetricKind::OfGauge,
        "Statistics of gauges",
        "A gauge has one value per second: `ARM.PHASE.gauge.STAGE.GAUGE.STATISTIC`. Every stage has `queue`, `workers`, `busy`, `offered`, \
         `admitted`, `refused` and `completed` beside the gauges of its policy. Further rows are `generator`, `target` and `users` \
         ([experiments.md](../experiments.md#gauges)).",
        "seda.spike.gauge.login.queue.NAME",
    ),
];

const HEAD: &str = "\
A threshold compares metrics with constants and with each other. A metric is written `ARM.PHASE.METRIC`:

| written | of |
|---|---|
| `seda.spike.goodput` | a whole phase of an arm |
| `seda.spike[50%..].goodput`, `seda.spike[10s..20s].goodput` | a part of the phase, by the intended start of requests |
| `seda.spike.\"list messages\".response_time.p90` | one request type; quotes where it has a space |
| `seda.spike.class-1.reject_fraction` | one class of users |
| `seda.spike.gauge.login.queue.max` | a gauge of a stage |

Operators: `<`, `<=`, `>`, `>=`, `==`, `between A and B` (both ends allowed), `+`, `-` with spaces around it, `*`, `/`, `min()`, `max()`, `abs()`. \
`share(CONDITION) >= 70%` asks for which share of the phase a condition holds: of its seconds for gauges, of its twentieths for other metrics; \
conditions may be joined by `and`. Times are written with their unit, rates as `40/s`, shares as `5%`. Several blocks: the threshold must hold in each.
";

pub fn page() -> String {
    let mut page = format!("# Metrics of thresholds\n\n{GENERATED}\n{HEAD}");
    for (kind, title, about, example) in PARTS {
        let _ = write!(page, "\n## {title}\n\n{about}\n\n");
        let of_kind: Vec<KnownMetric> = known().into_iter().filter(|known| known.kind == kind).collect();
        let with_samples = of_kind.iter().any(|known| known.needs > 0);
        let (head, line) = if with_samples { ("fewest samples", "---") } else { ("meaning", "---") };
        let _ = writeln!(page, "| metric | unit | {head} | example |\n|---|---|{line}|---|");
        for KnownMetric { name, unit, about, needs, .. } in of_kind {
            let is_time = unit == "time";
            let said = if with_samples { needs.to_string() } else { about.to_owned() };
            let example = example.replace("NAME", name);
            let example = match kind {
                MetricKind::Number => format!("seda.spike.{name} > 0"),
                MetricKind::Measure if is_time => format!("{example} < 5s"),
                MetricKind::Measure => format!("{example} < 0.5"),
                MetricKind::Statistic if is_time => format!("{example} <= 2s"),
                MetricKind::Statistic => format!("{example} > 100"),
                MetricKind::OfGauge => format!("{example} < 100"),
                MetricKind::Times => example,
            };
            let _ = writeln!(page, "| `{name}` | {unit} | {said} | `{example}` |");
        }
    }
    page
}

/// Every example is one that the program understands.
#[test]
fn examples_can_be_read() {
    let page = page();
    let examples: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `") && line.ends_with("` |"))
        .filter_map(|line| line.trim_end_matches("` |").rsplit_once('`').map(|(_, example)| example))
        .collect();
    assert!(examples.len() >= 50, "{}", examples.len());
    for example in examples {
        analysis::judge::threshold::Threshold::parse(example).unwrap_or_else(|error| panic!("{example}: {error}"));
    }
}

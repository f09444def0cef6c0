//! A run as a table of comma-separated values: a row a phase, request type and class of every turn.

use crate::{
    summary::{Arm, Measured, PhaseSummary, RunSummary, Times},
    text::scrubbed,
};

const KEYS: [&str; 9] = ["run", "experiment", "arm", "policy", "block", "verdict", "phase", "group", "name"];

/// A figure of a group of requests.
type Figure = (&'static str, fn(&Measured) -> Option<f64>);

/// A count of one.
type Count = (&'static str, fn(&Measured) -> u64);

const COUNTS: [Count; 13] = [
    ("planned", |m| m.planned),
    ("unsent", |m| m.unsent),
    ("refused_locally", |m| m.refused_locally),
    ("connect_failed", |m| m.connect_failed),
    ("sent", |m| m.sent),
    ("served", |m| m.served),
    ("served_late", |m| m.served_late),
    ("rejected", |m| m.rejected),
    ("timed_out", |m| m.timed_out),
    ("failed", |m| m.failed),
    ("abandoned", |m| m.abandoned),
    ("in_flight", |m| m.in_flight),
    ("resent", |m| m.resent),
];

const FIGURES: [Figure; 3] = [
    ("offered_per_s", |m| Some(m.offered_per_s)),
    ("goodput_per_s", |m| Some(m.goodput_per_s)),
    ("reject_fraction", |m| (m.sent > 0).then_some(m.reject_fraction)),
];

/// A percentile, and the bound that stands for one that time-outs hide.
type Percentile = (&'static str, fn(&Times) -> Option<f64>, fn(&Times) -> Option<f64>);

const PERCENTILES: [Percentile; 4] = [
    ("p50", |t| t.p50, |t| t.p50_at_least),
    ("p90", |t| t.p90, |t| t.p90_at_least),
    ("p99", |t| t.p99, |t| t.p99_at_least),
    ("p999", |t| t.p999, |t| t.p999_at_least),
];

/// The table of a run with this name.
///
/// # Errors
/// Never while there is memory: it is written to memory.
pub fn table(name: &str, summary: &RunSummary) -> Result<Vec<u8>, csv::Error> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let names = |times: &'static str| {
        PERCENTILES.iter().flat_map(move |(name, ..)| [format!("{times}_{name}"), format!("{times}_{name}_at_least")])
    };
    let header: Vec<String> = KEYS
        .iter()
        .map(|key| (*key).to_owned())
        .chain(std::iter::once("seconds".to_owned()))
        .chain(COUNTS.iter().map(|(name, _)| (*name).to_owned()))
        .chain(FIGURES.iter().map(|(name, _)| (*name).to_owned()))
        .chain(names("response_time_ms"))
        .chain(["response_time_count", "cut_off"].map(str::to_owned))
        .chain(names("response_time_all_ms"))
        .collect();
    out.write_record(&header)?;
    for arm in &summary.arms {
        for phase in &arm.phases {
            let types = phase.by_type.iter().map(|(name, measured)| ("type", name.as_str(), measured));
            let classes = phase.by_class.iter().map(|(name, measured)| ("class", name.as_str(), measured));
            let all = std::iter::once(("all", "", &phase.measured));
            for (group, member, measured) in all.chain(types).chain(classes) {
                out.write_record(row((name, &summary.experiment), (arm, phase), (group, member), measured))?;
            }
        }
    }
    out.into_inner().map_err(|error| error.into_error().into())
}

fn row(
    (run, experiment): (&str, &str),
    (arm, phase): (&Arm, &PhaseSummary),
    (group, name): (&str, &str),
    measured: &Measured,
) -> Vec<String> {
    let texts = [run, experiment, arm.shown_name(), arm.policy.as_str()];
    let mut cells: Vec<String> = texts.map(harmless).to_vec();
    cells.push(arm.block.to_string());
    cells.extend([arm.verdict.word(), phase.name.as_str(), group, name].map(harmless));
    cells.push(phase.seconds.to_string());
    cells.extend(COUNTS.iter().map(|(_, read)| read(measured).to_string()));
    let shown = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    cells.extend(FIGURES.iter().map(|(_, read)| shown(read(measured))));
    let percentiles =
        |times: &Times| PERCENTILES.map(|(_, value, bound)| [shown(value(times)), shown(bound(times))]).concat();
    let times = &measured.response_time_ms;
    cells.extend(percentiles(times));
    cells.push(times.count.to_string());
    cells.push(phase.cut_off.to_string());
    cells.extend(percentiles(&measured.response_time_all_ms));
    cells
}

/// Characters that a formula begins with, in the wide forms of East Asian keyboards too.
const FORMULAS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Programs for tables take a cell that begins so for a formula (OWASP ASVS 1.2.10): a quote before it makes text of it.
fn harmless(cell: &str) -> String {
    let cell = scrubbed(cell);
    if cell.trim_start().starts_with(FORMULAS) { format!("'{cell}") } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{
        RunFiles,
        whole::sample::{hostile, run},
    };

    fn rows(run: &RunFiles) -> Vec<Vec<String>> {
        let bytes = table(&run.name, &run.summary).expect("in memory");
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(bytes.as_slice());
        reader.records().map(|row| row.expect("a row").iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn a_row_a_group_with_bounds_apart_from_numbers() {
        let rows = rows(&run());
        let at = |name: &str| rows[0].iter().position(|cell| cell == name).unwrap_or_else(|| panic!("{name}"));
        let of = |arm: &str, phase: &str, group: &str| {
            let key = |row: &&Vec<String>| (&*row[2], &*row[6], &*row[7]) == (arm, phase, group);
            rows.iter().find(key).unwrap_or_else(|| panic!("{arm} {phase} {group}"))
        };
        let none = of("none", "spike", "all");
        assert_eq!((none[at("served")].as_str(), none[at("response_time_ms_p90")].as_str()), ("60", ""));
        assert_eq!(none[at("response_time_ms_p90_at_least")], "60000");
        assert_eq!(of("seda", "spike", "type")[at("name")], "list messages");
        assert_eq!(of("seda", "spike", "all")[at("response_time_ms_p90")], "900");
    }

    #[test]
    fn no_cell_is_a_formula_or_breaks_out_of_its_row() {
        for name in ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "＝1+1", "a\"b,c\nd"] {
            let rows = rows(&hostile(name));
            assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{name}");
            for cell in rows.iter().skip(1).flatten().filter(|cell| cell.parse::<f64>().is_err()) {
                assert!(!cell.trim_start().starts_with(FORMULAS), "{name}: {cell}");
            }
        }
    }
}

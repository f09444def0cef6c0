//! A run as a table of comma-separated values: a row a phase, request type and class of every turn.

use crate::{
    judge::threshold::number,
    summary::{Arm, Measured, PhaseSummary, RunSummary, Times},
    text::scrubbed,
};

const KEYS: [&str; 9] = ["run", "experiment", "arm", "policy", "block", "verdict", "phase", "group", "name"];

/// Counts and ratios of a group of requests, as thresholds know them.
const NUMBERS: [&str; 16] = [
    "planned",
    "unsent",
    "refused_locally",
    "connect_failed",
    "sent",
    "served",
    "served_late",
    "rejected",
    "timed_out",
    "failed",
    "abandoned",
    "in_flight",
    "resent",
    "offered",
    "goodput",
    "reject_fraction",
];

/// Numbers a second.
const RATES: [&str; 2] = ["offered", "goodput"];

const PERCENTILES: [&str; 4] = ["p50", "p90", "p99", "p999"];

/// The table of a run with this name.
///
/// # Errors
/// Never while there is memory: it is written to memory.
pub fn table(name: &str, summary: &RunSummary) -> Result<Vec<u8>, csv::Error> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let names = |times: &'static str| {
        PERCENTILES.iter().flat_map(move |name| [format!("{times}_{name}"), format!("{times}_{name}_at_least")])
    };
    let header: Vec<String> = KEYS
        .iter()
        .map(|key| (*key).to_owned())
        .chain(std::iter::once("seconds".to_owned()))
        .chain(NUMBERS.map(|name| if RATES.contains(&name) { format!("{name}_per_s") } else { name.to_owned() }))
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
    let shown = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    cells.extend(NUMBERS.map(|name| shown(number(name, measured))));
    let percentiles = |times: &Times| {
        PERCENTILES.map(|name| times.percentile(name)).map(|(value, bound)| [shown(value), shown(bound)]).concat()
    };
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
    fn every_number_is_known_of_a_group_that_was_sent() {
        let sent = Measured { sent: 1, ..Measured::default() };
        assert!(NUMBERS.iter().all(|name| number(name, &sent).is_some()));
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

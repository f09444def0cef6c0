//! `*.hlog`: the histograms of an arm as an [interval log](crate::interval_log), tagged `phase/family` or `phase/family/type`. Times of
//! requests that were given up are known only to be longer: they are lines of their own, tagged `…/censored`.

use std::time::Duration;

use hdrhistogram::{Histogram, serialization::Deserializer};
use measure::Report;

use crate::interval_log::{self, Interval, entries};

/// The name of an arm's log.
pub fn file_name(arm: &str, block: u32) -> String {
    format!("{arm}-{block}.hlog")
}

/// The log of a report. Values are microseconds.
///
/// # Errors
/// If a histogram cannot be written.
pub fn log(report: &Report) -> Result<Vec<u8>, String> {
    let mut begins = Duration::ZERO;
    let mut all = Vec::new();
    for phase in &report.phases {
        let lasts = Duration::from_secs_f64(phase.seconds);
        let found = histograms(report, &phase.name, phase.by_type.keys())?;
        all.extend(found.into_iter().map(|(tag, histogram)| Interval { tag, begins, lasts, histogram }));
        begins += lasts;
    }
    interval_log::whole(all)
}

/// The histograms of a phase, of all requests and by type, each with its tag.
fn histograms<'a>(
    report: &Report,
    phase: &str,
    kinds: impl Iterator<Item = &'a String>,
) -> Result<Vec<(String, Histogram<u64>)>, String> {
    let mut found = Vec::new();
    for kind in std::iter::once(None).chain(kinds.map(|kind| Some(kind.as_str()))) {
        for (family, times) in report.distributions(phase, kind) {
            let name = match kind {
                None => format!("{phase}/{}", family.name()),
                Some(kind) => format!("{phase}/{}/{}", family.name(), kind.replace(' ', "-")),
            };
            let censored = times.censored_as_v2()?.map(|bytes| decoded(&bytes)).transpose()?;
            found.push((name.clone(), decoded(&times.known_as_v2()?)?));
            found.extend(censored.map(|censored| (format!("{name}/censored"), censored)));
        }
    }
    Ok(found)
}

fn decoded(bytes: &[u8]) -> Result<Histogram<u64>, String> {
    Deserializer::new().deserialize(&mut &bytes[..]).map_err(|_| "it holds no histogram".to_owned())
}

/// True if a log holds the histograms of this report and no others.
///
/// # Errors
/// If it cannot be read as a log.
pub fn same(report: &Report, found: &[u8]) -> Result<bool, String> {
    Ok(entries(&log(report)?)? == entries(found)?)
}

#[cfg(test)]
mod tests {
    use controllers::{Class, Kind, Timestamp};
    use measure::{Fate, Health, Intent, Recorder, RecorderPhase, RecorderPlan};

    use super::*;
    use crate::interval_log::LEGEND;

    /// One user for ten seconds, a request a second; answers take this long.
    fn report(takes: Duration) -> Report {
        let lasts = Duration::from_secs(10);
        let phase = RecorderPhase { name: "all".to_owned(), duration: lasts, users: Some(1), independent: false };
        let mut recorder = Recorder::new(
            RecorderPlan {
                shard: None,
                phases: vec![phase],
                classes: vec![Class(0)],
                timeout: lasts,
                objective: lasts,
                class_objectives: std::collections::BTreeMap::new(),
                replays: false,
            },
            &["request"],
        );
        for second in 0..10 {
            let at = Timestamp::from_secs(second);
            let intent = Intent { kind: Kind(0), class: Class(0), wanted_at: at, attempt: 0 };
            let mut ticket = recorder.plan(0, intent, at);
            recorder.sent(&mut ticket, at);
            recorder.end(ticket, Fate::Served, at + takes);
        }
        recorder.finish(Timestamp::from_secs(10), Health::default())
    }

    #[test]
    fn the_log_has_the_header_and_the_histograms_that_readers_want() {
        let log = log(&report(Duration::from_millis(20))).expect("a log");
        let text = String::from_utf8(log.clone()).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "#[Histogram log format version 1.3]");
        assert!(lines[1].starts_with("#[StartTime: 0.000 (seconds since epoch)"), "{}", lines[1]);
        let legend = lines.iter().position(|line| line.starts_with('"')).expect("a legend");
        assert_eq!(lines[legend], LEGEND.trim_end());
        assert!(lines[..legend].iter().all(|line| line.starts_with('#')));
        // A histogram of the kind V2, deflated, begins with the bytes 1c 84 93 14: in base 64 "HISTF".
        for line in &lines[legend + 1..] {
            let [tag, begins, lasts, max, histogram] = line.split(',').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            assert!(tag.starts_with("Tag=all/") && histogram.starts_with("HISTF"), "{line}");
            assert_eq!((begins, lasts), ("0.000", "10.000"));
            assert!(max.parse::<f64>().is_ok_and(|ms| ms < 100.0), "milliseconds: {line}");
        }
        assert!(text.contains("Tag=all/response/request,"));
    }

    #[test]
    fn a_log_of_other_histograms_is_another() {
        let (one, other) = (report(Duration::from_millis(20)), report(Duration::from_millis(30)));
        let of_one = log(&one).expect("a log");
        assert_eq!((same(&one, &of_one), same(&other, &of_one)), (Ok(true), Ok(false)));
        let cut = &of_one[..of_one.len() - 9];
        assert!(same(&one, cut).is_err() || same(&one, cut) == Ok(false), "a torn line");
    }
}

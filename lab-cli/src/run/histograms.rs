//! `*.hlog`: the histograms of an arm in the interval log format of HdrHistogram, a line each, tagged `phase/family` or
//! `phase/family/type`. Times of requests that were given up are known only to be longer: they are lines of their own,
//! tagged `…/censored`.
//!
//! Header lines and compressed histograms are those of format 1.3, as HdrHistogram's own readers and plotters want them
//! (`HistogramLogReader`: the legend, `StartTime` and `BaseTime` in square brackets; histograms of the kind V2, deflated). Times
//! count from the beginning of the arm, so the log begins at time 0: it says nothing of when it was.

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use hdrhistogram::{
    Histogram,
    serialization::{
        Deserializer, V2DeflateSerializer,
        interval_log::{IntervalLogHistogram, IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag},
    },
};
use workloads::measure::{Family, Report};

use super::RunFailure;

/// What a reader looks for first.
const FORMAT: &str = "[Histogram log format version 1.3]";
const LEGEND: &str = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
/// Values are microseconds; the column of maxima is in milliseconds, as usual.
const MICROS_IN_A_MILLISECOND: f64 = 1000.0;

/// The name of an arm's log.
pub fn file_name(arm: &str, block: u32) -> String {
    format!("{arm}-{block}.hlog")
}

/// Writes every histogram of a report. Values are microseconds.
pub fn write(report: &Report, path: &Path) -> Result<(), RunFailure> {
    let log = log(report)
        .map_err(|error| RunFailure::File { path: path.to_owned(), source: std::io::Error::other(error) })?;
    let mut file = std::fs::File::create(path).map_err(RunFailure::at(path))?;
    std::io::Write::write_all(&mut file, &log).map_err(RunFailure::at(path))?;
    file.sync_all().map_err(RunFailure::at(path))
}

/// The log of a report.
fn log(report: &Report) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment(FORMAT)
        .with_start_time(SystemTime::UNIX_EPOCH)
        .with_base_time(SystemTime::UNIX_EPOCH)
        .with_max_value_divisor(MICROS_IN_A_MILLISECOND)
        .begin_log_with(&mut bytes, &mut serializer)
        .map_err(|error| error.to_string())?;
    let mut begins = Duration::ZERO;
    for phase in &report.phases {
        let lasts = Duration::from_secs_f64(phase.seconds);
        for (name, histogram) in histograms(report, &phase.name, phase.by_type.keys())? {
            // A tag has neither spaces nor commas.
            let Some(tag) = Tag::new(&name) else { continue };
            log.write_histogram(&histogram, begins, lasts, Some(tag)).map_err(|error| format!("{error:?}"))?;
        }
        begins += lasts;
    }
    drop(log);
    Ok(with_legend(&bytes))
}

/// The library writes no legend. Readers take it for the end of the header.
fn with_legend(log: &[u8]) -> Vec<u8> {
    let header: usize =
        log.split_inclusive(|&byte| byte == b'\n').take_while(|line| line.starts_with(b"#")).map(<[u8]>::len).sum();
    [&log[..header], LEGEND.as_bytes(), &log[header..]].concat()
}

/// The histograms of a phase, of all requests and by type, each with its tag.
fn histograms<'a>(
    report: &Report,
    phase: &str,
    kinds: impl Iterator<Item = &'a String>,
) -> Result<Vec<(String, Histogram<u64>)>, String> {
    let mut found = Vec::new();
    for kind in std::iter::once(None).chain(kinds.map(|kind| Some(kind.as_str()))) {
        for family in Family::ALL {
            let Some(times) = report.distribution(phase, family, kind) else { continue };
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
    Deserializer::new().deserialize(&mut &bytes[..]).map_err(|error| format!("{error:?}"))
}

/// True if a log holds the histograms of this report and no others.
///
/// # Errors
/// If it cannot be read as a log.
pub fn same(report: &Report, found: &[u8]) -> Result<bool, String> {
    Ok(entries(&log(report)?)? == entries(found)?)
}

/// Of each line: tag, begin and length in milliseconds, and the histogram's values with their counts.
type Entry = (Option<String>, u128, u128, Vec<(u64, u64)>);

fn entries(log: &[u8]) -> Result<Vec<Entry>, String> {
    let mut deserializer = Deserializer::new();
    let mut found = Vec::new();
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(line) = entry.map_err(|error| format!("{error:?}"))? else { continue };
        found.push(read(&line, &mut deserializer)?);
    }
    Ok(found)
}

fn read(line: &IntervalLogHistogram<'_>, deserializer: &mut Deserializer) -> Result<Entry, String> {
    let bytes = base64(line.encoded_histogram())?;
    let histogram: Histogram<u64> =
        deserializer.deserialize(&mut bytes.as_slice()).map_err(|error| format!("{error:?}"))?;
    let counts = histogram.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect();
    let tag = line.tag().map(|tag| tag.as_str().to_owned());
    Ok((tag, line.start_timestamp().as_millis(), line.duration().as_millis(), counts))
}

fn base64(text: &str) -> Result<Vec<u8>, String> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use workloads::testing::{Reaction, Response, run, url_plan};

    use super::*;

    /// One user for ten seconds; answers take this long.
    fn report(takes: Duration) -> Report {
        let answer = |_: u64, _: &_, _| Reaction::Answer(takes, Response { status: 200, ..Response::default() });
        run(&url_plan(&[("all", 10, 1)]), |_| {}, answer).expect("it runs")
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

//! The interval log format of HdrHistogram: a histogram a line, each with its tag, its beginning and its length.
//!
//! Header lines and compressed histograms are those of format 1.3, as HdrHistogram's own readers and plotters want them
//! (`HistogramLogReader`: the legend, `StartTime` and `BaseTime` in square brackets; histograms of the kind V2, deflated). Times
//! count from the beginning of the arm, so the log begins at time 0: it says nothing of when it was. Values are microseconds.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use hdrhistogram::{
    Histogram,
    serialization::{
        Deserializer, V2DeflateSerializer,
        interval_log::{
            IntervalLogHistogram, IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, LogIteratorError, Tag,
        },
    },
};

/// Line that a reader looks for first.
const FORMAT: &str = "[Histogram log format version 1.3]";
/// The library writes no legend. Readers take it for the end of the header.
pub const LEGEND: &str = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
/// The column of maxima is in milliseconds, as usual.
const MICROS_IN_A_MILLISECOND: f64 = 1000.0;

/// A histogram of some time.
#[derive(Debug)]
pub struct Interval {
    /// Tag with neither spaces nor commas; any other is left out.
    pub tag: String,
    /// Begin of the interval, from that of the arm.
    pub begins: Duration,
    /// For how long.
    pub lasts: Duration,
    /// Times in the interval.
    pub histogram: Histogram<u64>,
}

/// The header, and these.
///
/// # Errors
/// If a histogram cannot be written.
pub fn whole(intervals: impl IntoIterator<Item = Interval>) -> Result<Vec<u8>, String> {
    let (header, lines) = written(intervals)?;
    Ok([&header[..], LEGEND.as_bytes(), &lines].concat())
}

/// These alone, to stand behind others.
///
/// # Errors
/// If a histogram cannot be written.
pub fn more(intervals: impl IntoIterator<Item = Interval>) -> Result<Vec<u8>, String> {
    Ok(written(intervals)?.1)
}

/// Header and lines.
fn written(intervals: impl IntoIterator<Item = Interval>) -> Result<(Vec<u8>, Vec<u8>), String> {
    let mut header = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment(FORMAT)
        .with_start_time(SystemTime::UNIX_EPOCH)
        .with_base_time(SystemTime::UNIX_EPOCH)
        .with_max_value_divisor(MICROS_IN_A_MILLISECOND)
        .begin_log_with(&mut header, &mut serializer)
        .map_err(|error| error.to_string())?;
    for Interval { tag, begins, lasts, histogram } in intervals {
        let Some(tag) = Tag::new(&tag) else { continue };
        log.write_histogram(&histogram, begins, lasts, Some(tag))
            .map_err(|_| "its histograms cannot be written".to_owned())?;
    }
    drop(log);
    let length = header.split_inclusive(|&byte| byte == b'\n').take_while(|line| line.starts_with(b"#"));
    let lines = header.split_off(length.map(<[u8]>::len).sum());
    Ok((header, lines))
}

/// A histogram of these buckets: a time in microseconds, and how many lie in it.
///
/// # Errors
/// If there are more than can be counted.
pub fn of_buckets(buckets: &[[u64; 2]]) -> Result<Histogram<u64>, String> {
    let mut histogram = Histogram::new(3).map_err(|error| error.to_string())?;
    for &[value, count] in buckets {
        histogram.record_n(value, count).map_err(|error| error.to_string())?;
    }
    Ok(histogram)
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedInterval {
    /// Tag of the histogram, if it has one.
    pub tag: Option<String>,
    /// Begin of the interval, milliseconds.
    pub begins: u128,
    /// For how long, milliseconds.
    pub lasts: u128,
    /// The column of maxima.
    pub most: f64,
    /// The histogram's values with their counts.
    pub counts: Vec<(u64, u64)>,
}

/// Entries of a log.
///
/// # Errors
/// If it cannot be read as a log.
pub fn entries(log: &[u8]) -> Result<Vec<LoggedInterval>, String> {
    let mut deserializer = Deserializer::new();
    let mut found = Vec::new();
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(line) = entry.map_err(|LogIteratorError::ParseError { offset }| {
            format!("no log of histograms, from byte {offset} on")
        })?
        else {
            continue;
        };
        found.push(read(&line, &mut deserializer)?);
    }
    Ok(found)
}

const NO_HISTOGRAM: &str = "what stands where a histogram should be is none";

fn read(line: &IntervalLogHistogram<'_>, deserializer: &mut Deserializer) -> Result<LoggedInterval, String> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(line.encoded_histogram())
        .map_err(|_| NO_HISTOGRAM.to_owned())?;
    let histogram: Histogram<u64> =
        deserializer.deserialize(&mut bytes.as_slice()).map_err(|_| NO_HISTOGRAM.to_owned())?;
    let counts = histogram.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect();
    let tag = line.tag().map(|tag| tag.as_str().to_owned());
    let (begins, lasts) = (line.start_timestamp().as_millis(), line.duration().as_millis());
    Ok(LoggedInterval { tag, begins, lasts, most: line.max(), counts })
}

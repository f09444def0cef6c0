//! `*.seconds.hlog`: the times of a live arm second by second. Their sum over a phase gives its percentiles, where the arm did not
//! live to write its own.

use std::{collections::BTreeMap, time::Duration};

use measure::SecondTimes;

use crate::{
    interval_log::{self, Interval, LoggedInterval},
    live::TimelineSecond,
};

const SECOND: Duration = Duration::from_secs(1);
/// Answers as asked.
const RESPONSE: &str = "response";
/// Tag of requests that were given up after so long.
const CENSORED: &str = "response/censored";
const REJECT: &str = "reject";

/// The name of an arm's log.
pub fn file_name(arm: &str, block: u32) -> String {
    format!("{arm}-{block}.seconds.hlog")
}

/// The lines of a second. The first is there whatever came of it.
///
/// # Errors
/// If a histogram cannot be written.
pub fn lines(second: u64, times: &SecondTimes) -> Result<Vec<Interval>, String> {
    let all = [(RESPONSE, &times.response), (CENSORED, &times.response_censored), (REJECT, &times.reject)];
    let told = all.into_iter().filter(|(tag, buckets)| *tag == RESPONSE || !buckets.is_empty());
    let interval = |(tag, buckets): (&str, &Vec<[u64; 2]>)| {
        let histogram = interval_log::of_buckets(buckets)?;
        Ok(Interval { tag: tag.to_owned(), begins: Duration::from_secs(second), lasts: SECOND, histogram })
    };
    told.map(interval).collect()
}

/// Times by second.
///
/// # Errors
/// If it cannot be read as a log.
pub fn times(log: &[u8]) -> Result<BTreeMap<u32, SecondTimes>, String> {
    let mut all = BTreeMap::<u32, SecondTimes>::new();
    for line in interval_log::entries(log)? {
        let second = all.entry(u32::try_from(line.begins / 1000).unwrap_or(u32::MAX)).or_default();
        let buckets = line.counts.into_iter().map(|(time, count)| [time, count]).collect();
        match line.tag.as_deref() {
            Some(RESPONSE) => second.response = buckets,
            Some(CENSORED) => second.response_censored = buckets,
            Some(REJECT) => second.reject = buckets,
            _ => {}
        }
    }
    Ok(all)
}

/// The first of an arm's seconds whose times are not as many as its counts in the timeline, with both numbers: a log that was torn
/// in its last line counts to there. `None`: all agree, and no second is missing.
///
/// # Errors
/// If it cannot be read as a log.
pub fn differs<'a>(
    log: &[u8],
    seconds: impl Iterator<Item = &'a TimelineSecond>,
) -> Result<Option<(u32, u64, u64)>, String> {
    let whole = log.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let entries = interval_log::entries(&log[..whole])?;
    let times = |second: &TimelineSecond, tag: &str| -> Option<u64> {
        let begins = u128::from(second.second) * 1000;
        let of = |line: &&LoggedInterval| line.tag.as_deref() == Some(tag) && line.begins == begins;
        entries.iter().find(of).map(|line| line.counts.iter().map(|(_, count)| count).sum())
    };
    for second in seconds {
        let found = times(second, RESPONSE);
        let answered = second.served + second.served_late;
        let rejects = times(second, REJECT).unwrap_or(0);
        if found != Some(answered) || rejects != second.rejected {
            return Ok(Some((second.second, found.unwrap_or(0) + rejects, answered + second.rejected)));
        }
    }
    Ok(None)
}

//! The result of a load, for people.

use std::fmt::Write;

use analysis::{
    report::percentiles_of_all,
    summary::{PhaseSummary, Times},
    text::{counted, percent, scrubbed, time, volume},
};
use measure::{Distribution, Percentile, Replayed, Replies, Report, TimeFamily, least_samples};

use super::{
    conditions::ARM,
    judged::{GaveUp, LoadResult},
    pace::MissedRate,
};

/// A load as its report names it.
#[derive(Debug, Clone, Copy)]
pub(in crate::command) struct ReportedLoad<'a> {
    pub url: &'a str,
    /// The kind of load, in words.
    pub how: &'a str,
    /// The load goes as fast as it can: a busy generator is what was asked for.
    pub flat_out: bool,
    /// Percentiles to show; none: those that are usual.
    pub percentiles: &'a [f64],
}

/// Percentiles that are shown where no others were asked for.
const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Most statuses, and most errors, that are printed one by one; all of them are in the JSON.
const MOST_ROWS: usize = 10;

pub(super) fn result_text(reported: &ReportedLoad<'_>, loaded: &LoadResult, report: &Report) -> String {
    let mut text = String::new();
    let found = &loaded.measured;
    let _ = writeln!(text, "{}: {}, {:.1} s", reported.url, reported.how, loaded.seconds);
    let served = found.served + found.served_late;
    // A refusal is an answer too.
    let of_them = if found.rejected + found.failed > 0 && loaded.seconds > 0.0 {
        format!(", served {:.1} /s", served as f64 / loaded.seconds)
    } else {
        String::new()
    };
    let _ = writeln!(text, "  answered        {:>12.1} /s{of_them}", loaded.requests_per_s);
    if let Some(deadline) = loaded.deadline_ms {
        let within = format!(" within {}", time(deadline));
        let share = if found.planned > 0 { found.served as f64 / found.planned as f64 } else { 0.0 };
        let (goodput, share) = (found.goodput_per_s, percent(share));
        let _ = writeln!(text, "  goodput         {goodput:>12.1} /s{within}, {share} of all requests");
    }
    if let Some(per_s) = loaded.body_bytes_per_s {
        let _ = writeln!(text, "  received        {:>12}/s in bodies", volume(per_s));
    }
    counts(&mut text, loaded);
    replies(&mut text, &loaded.replies);
    let shown = if reported.percentiles.is_empty() { &PERCENTILES[..] } else { reported.percentiles };
    let table = |text: &mut String, title, family| percentiles(text, title, &report.total_distribution(family), shown);
    table(&mut text, "response time", TimeFamily::Response);
    of_all(&mut text, &found.response_time_all_ms);
    if !reported.flat_out {
        from_the_send(&mut text, &found.service_time_ms);
    }
    connects(&mut text, &found.connect_time_ms);
    if found.rejected > 0 {
        table(&mut text, "rejects", TimeFamily::Reject);
    }
    if found.behind_ms.is_some() {
        table(&mut text, "behind the recorded times", TimeFamily::Behind);
    }
    steps(&mut text, &loaded.steps);
    let _ = writeln!(
        text,
        "  generator       {:>10.0} % CPU, send lag p99 {:.2} ms",
        loaded.generator.cpu * 100.0,
        loaded.generator.send_lag_p99_ms
    );
    findings(&mut text, loaded);
    text
}

/// Writes the ends of requests: a line for each kind that there was.
fn counts(text: &mut String, loaded: &LoadResult) {
    let found = &loaded.measured;
    if found.sent < found.planned {
        let _ = writeln!(text, "  sent            {:>12}  of {}", found.sent, found.planned);
    }
    for (name, count) in [
        ("served", found.served + found.served_late),
        ("- late", found.served_late),
        ("rejected", found.rejected),
        ("failed", found.failed),
        ("- elsewhere", found.elsewhere),
        ("timed out", found.timed_out),
        ("no connection", found.connect_failed),
        ("never free", found.refused_locally),
        ("open at the end", found.in_flight),
        ("unsent", found.unsent),
        ("resent", found.resent),
    ] {
        if count > 0 || name == "served" {
            let _ = writeln!(text, "  {name:<15} {count:>12}");
        }
    }
    if loaded.waited_for_connection > 0 {
        let _ = writeln!(
            text,
            "  waited          {:>12}  for one of -c connections; the wait is in the response times",
            loaded.waited_for_connection
        );
    }
    if let Some(Replayed { recorded, asked, passed_over, cut_off }) = loaded.replayed {
        for (name, count) in
            [("recorded", recorded), ("- asked", asked), ("- passed over", passed_over), ("- cut off", cut_off)]
        {
            let _ = writeln!(text, "  {name:<15} {count:>12}");
        }
    }
}

/// Writes what the gates and thresholds found, the verdict last.
fn findings(text: &mut String, loaded: &LoadResult) {
    for reason in &loaded.reasons {
        let _ = writeln!(
            text,
            "{} {}: {} (allowed: {}): {}",
            reason.verdict.word(),
            reason.code,
            reason.value,
            reason.threshold,
            reason.remedy
        );
    }
    if let Some(GaveUp { after_s, asked, made }) = loaded.gave_up {
        let _ = writeln!(
            text,
            "GAVE UP: the service was gone (no connection, no answer) for {after_s} s in a row; {made} of {asked} requests were \
             made, and all figures are of these"
        );
    }
    let phases = loaded.thresholds.len().checked_div(loaded.conditions.len()).unwrap_or(1).max(1);
    for (condition, judged) in loaded.conditions.iter().zip(loaded.thresholds.chunks(phases)) {
        for threshold in judged {
            let phase = threshold.text.split('.').nth(1).unwrap_or_default();
            let step = if judged.len() > 1 { format!(" in {phase}") } else { String::new() };
            let why = threshold.why.replace(&format!(" of {ARM}.{phase}"), "");
            let more = if why.starts_with("too few samples") { "; a longer load (-d, -n) has more" } else { "" };
            let _ = writeln!(text, "{} --fail-if '{condition}'{step}: {why}{more}", threshold.outcome());
        }
    }
    if let Some(folder) = &loaded.folder {
        let _ = writeln!(text, "saved in {folder}: lab report {folder}");
    }
    let _ = writeln!(text, "{}", loaded.verdict.word());
    if let Some(MissedRate { planned, sent, connections }) = loaded.missed_rate {
        let why = match connections {
            Some(most) => format!(
                "since all of -c {most} were in use; raise -c or leave it out, lower the rate, or give none to see what {most} \
                 connections can do"
            ),
            None => "since this generator cannot send so many; lower the rate, stop other programs, or raise the limit on open \
                     files (ulimit -n); without -R it sends as many as it can"
                .to_owned(),
        };
        let _ = writeln!(
            text,
            "FAILED: the rate was not kept: {sent} of {planned} requests were sent by the time when the last one was due, {why}"
        );
    }
    if loaded.nothing_served {
        let _ = writeln!(text, "FAILED: none of {} requests was served", loaded.measured.planned);
    }
}

/// Writes percentiles of all requests, where some were not served.
fn of_all(text: &mut String, times: &Times) {
    if times.censored > 0 && times.count > 0 {
        let [p50, p90, p99] = percentiles_of_all(times);
        let (all, unserved) = (times.count + times.censored, percent(times.censored_share()));
        let _ =
            writeln!(text, "  of all {all} requests, {unserved} of them not served: p50 {p50}, p90 {p90}, p99 {p99}");
    }
}

/// Writes the service's own times: without the wait until a late request was sent, or for a connection.
fn from_the_send(text: &mut String, times: &Times) {
    let (p50, p99) = (shown(times.p50, times.p50_at_least, 3), shown(times.p99, times.p99_at_least, 3));
    if p50 == "-" {
        return;
    }
    let _ = writeln!(text, "  from the actual send, ms: p50 {p50}, p99 {p99}");
}

fn shown(value: Option<f64>, bound: Option<f64>, decimals: usize) -> String {
    match (value, bound) {
        (Some(value), _) => format!("{value:.decimals$}"),
        (None, Some(bound)) => format!(">= {bound:.0}"),
        (None, None) => "-".to_owned(),
    }
}

/// Writes the times of connection setup, TLS included.
fn connects(text: &mut String, times: &Times) {
    if let Times { count: count @ 1.., mean: Some(mean), max: Some(max), .. } = times {
        let _ = writeln!(text, "  connecting, ms: mean {mean:.3}, max {max:.3} (connections: {count})");
    }
}

/// A row a step of a ramp.
fn steps(text: &mut String, steps: &[PhaseSummary]) {
    if steps.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "  {:<10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "step", "offered/s", "goodput/s", "p50 ms", "p99 ms", "late", "lost"
    );
    for step in steps {
        let found = &step.measured;
        let times = &found.response_time_ms;
        let (late, lost) = (found.served_late, found.planned - found.served - found.served_late);
        let _ = writeln!(
            text,
            "  {:<10} {:>10.1} {:>10.1} {:>10} {:>10} {late:>10} {lost:>10}",
            step.shown_name(),
            found.offered_per_s,
            found.goodput_per_s,
            shown(times.p50, times.p50_at_least, 1),
            shown(times.p99, times.p99_at_least, 1),
        );
    }
}

/// Answers by status, errors by their text, the most frequent first.
fn replies(text: &mut String, replies: &Replies) {
    let statuses = replies.statuses.iter().map(|(status, count)| (*count, status.to_string()));
    let errors = replies.errors.iter().map(|(error, count)| (*count, scrubbed(error)));
    rows(text, "answers by status", statuses.collect());
    rows(text, "errors", errors.collect());
}

fn rows(text: &mut String, title: &str, mut rows: Vec<(u64, String)>) {
    if rows.is_empty() {
        return;
    }
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let _ = writeln!(text, "  {title}");
    for (count, name) in rows.iter().take(MOST_ROWS) {
        let _ = writeln!(text, "    {count:>10}  {name}");
    }
    let left = rows.get(MOST_ROWS..).unwrap_or_default();
    if !left.is_empty() {
        let sum: u64 = left.iter().map(|(count, _)| count).sum();
        let _ = writeln!(text, "    {sum:>10}  {}", counted(left.len(), "other"));
    }
}

fn percentiles(text: &mut String, title: &str, times: &Distribution, shown: &[f64]) {
    let censored = times.censored();
    let waited = if censored > 0 { format!(", {censored} without an answer") } else { String::new() };
    let _ = writeln!(text, "  {title}, ms ({} samples{waited})", times.count());
    let mut highest = times.max_ms().unwrap_or_default();
    let mut unknown = Vec::new();
    for percentile in shown {
        let value = match times.percentile(*percentile) {
            Percentile::At(value) => format!("{value:.3}"),
            Percentile::AtLeast(bound) => {
                highest = highest.max(bound);
                format!(">= {bound:.0}")
            }
            Percentile::Unknown => {
                unknown.push(format!("{} for p{percentile}", least_samples(*percentile)));
                continue;
            }
        };
        let _ = writeln!(text, "    {:<13} {value:>12}", format!("p{percentile}"));
    }
    if let Some(max) = times.max_ms() {
        // A request without an answer waited longer than its bound.
        let max = if censored > 0 { format!(">= {highest:.0}") } else { format!("{max:.3}") };
        let _ = writeln!(text, "    {:<13} {max:>12}", "max");
    }
    if !unknown.is_empty() && times.count() > 0 {
        let _ = writeln!(text, "    too few samples: {} are needed", unknown.join(", "));
    }
}

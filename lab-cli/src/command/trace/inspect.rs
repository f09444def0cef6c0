//! `lab trace inspect`: what a trace has.

use std::fmt::Write;

use analysis::text::{percent, rate, scrubbed, time};
use traces::{
    inspect::{ActionSummary, Inspected},
    model::fitted::{Arrivals, Quantiles},
    trace::ACTIONS,
};

use super::{
    import::{account, cautions},
    read::inspected,
};
use crate::{
    args::{self, Colours},
    command::stdout::print_as,
    exit::CommandResult,
};

pub fn inspect(args: &args::InspectArgs, colours: Colours) -> CommandResult {
    let seen = inspected(&args.trace)?;
    #[cfg(feature = "live")]
    if super::on_screen::wanted(args) {
        return super::on_screen::show(seen, colours);
    }
    print_as(args.output, &seen, || shown(&seen))
}

fn shown(seen: &Inspected) -> String {
    let mut text = String::new();
    let Inspected { header, sessions, cut, users, length, .. } = seen;
    let _ = writeln!(text, "{}: {}", scrubbed(&header.name), scrubbed(&header.source));
    if let Some(began) = &header.began {
        let _ = writeln!(text, "began {}", scrubbed(began));
    }
    let minutes = length.as_secs_f64();
    let _ = writeln!(text, "{sessions} sessions ({cut} cut) of {users} users in {}", time(minutes * 1000.0));
    text += &cautions(seen.spread());
    over_time(&mut text, "requests", &seen.requests);
    over_time(&mut text, "sessions", &seen.arrivals);
    by_action(&mut text, &seen.actions);
    if let Some(lengths) = &seen.lengths {
        let Quantiles { mean, p50, p90, p99, max, .. } = lengths;
        let _ = writeln!(text, "requests in a session: mean {mean:.1}, p50 {p50}, p90 {p90}, p99 {p99}, max {max}");
    }
    if let Some(pauses) = &seen.pauses {
        let ms = |micros: u64| time(micros as f64 / 1000.0);
        let _ = writeln!(
            text,
            "pauses between pages: mean {}, p50 {}, p90 {}, p99 {}",
            time(pauses.mean / 1000.0),
            ms(pauses.p50),
            ms(pauses.p90),
            ms(pauses.p99)
        );
    }
    if !seen.transitions.is_empty() {
        matrix(&mut text, &seen.transitions);
    }
    if let Some(tally) = &seen.footer.import {
        text += &account("imported", tally);
    }
    text
}

/// A rate and its picture.
fn over_time(text: &mut String, what: &str, arrivals: &Arrivals) {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const WIDTH: usize = 80;
    let together = arrivals.bins.len().div_ceil(WIDTH).max(1);
    let bins: Vec<u64> = arrivals.bins.chunks(together).map(|bins| bins.iter().sum()).collect();
    let most = bins.iter().copied().max().unwrap_or(0).max(1);
    let picture: String = bins.iter().map(|&bin| LEVELS[(bin * 8).div_ceil(most).min(8) as usize]).collect();
    let seconds = arrivals.bin.as_secs_f64() * together as f64;
    let _ = writeln!(
        text,
        "{what}: {}/s, at most {}/s over {}\n|{picture}|",
        rate(arrivals.per_second),
        rate(most as f64 / seconds),
        time(seconds * 1000.0)
    );
}

fn by_action(text: &mut String, actions: &[ActionSummary]) {
    let all: u64 = actions.iter().map(|action| action.count).sum();
    let width = actions.iter().map(|action| action.action.chars().count()).max().unwrap_or(0).max(6);
    let _ = writeln!(
        text,
        "{:width$}  {:>9} {:>7} {:>9} {:>9} {:>11} {:>11}",
        "action", "count", "share", "p50", "p99", "bytes p50", "bytes p99"
    );
    for action in actions {
        let ms =
            |of: fn(&Quantiles) -> u64| action.durations.as_ref().map_or("-".into(), |d| time(of(d) as f64 / 1000.0));
        let bytes = |of: fn(&Quantiles) -> u64| action.sizes.as_ref().map_or("-".into(), |sizes| of(sizes).to_string());
        let share = percent(action.count as f64 / all.max(1) as f64);
        let not_ok: Vec<String> = action.not_ok.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
        let line = format!(
            "{:width$}  {:>9} {share:>7} {:>9} {:>9} {:>11} {:>11}  {}",
            scrubbed(&action.action),
            action.count,
            ms(|d| d.p50),
            ms(|d| d.p99),
            bytes(|s| s.p50),
            bytes(|s| s.p99),
            not_ok.join(", ")
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Counts from row to column.
fn matrix(text: &mut String, transitions: &[(String, String, u64)]) {
    let seen = |state: &&str| transitions.iter().any(|(from, to, _)| from == state || to == state);
    let states: Vec<&str> = ACTIONS.into_iter().filter(seen).collect();
    let _ = write!(text, "{:14}", "from \\ to");
    states.iter().for_each(|state| {
        let _ = write!(text, " {state:>13}");
    });
    for from in &states {
        let _ = write!(text, "\n{from:14}");
        for to in &states {
            let count = transitions.iter().find(|(f, t, _)| f == from && t == to).map_or(0, |(_, _, count)| *count);
            let shown = if count == 0 { "-".to_owned() } else { count.to_string() };
            let _ = write!(text, " {shown:>13}");
        }
    }
    text.push('\n');
}

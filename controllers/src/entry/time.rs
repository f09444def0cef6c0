//! Durations as written in files.

use std::time::Duration;

/// Parses a duration of files and flags: a number and one of the units `us`, `ms`, `s`, `m`, `h`.
#[must_use]
pub fn parse_time(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim_start() {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * unit).ok()
}

/// Formats a duration in the largest unit that gives a whole number.
pub fn shown_time(time: Duration) -> String {
    let micros = time.as_micros();
    let (unit, name) = [(3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"), (1000, "ms")]
        .into_iter()
        .find(|(unit, _)| micros > 0 && micros.is_multiple_of(*unit))
        .unwrap_or((1, "us"));
    format!("{}{name}", micros / unit)
}

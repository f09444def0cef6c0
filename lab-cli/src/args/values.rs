//! Values of flags that more than one command reads: times, sizes, shares, days, forms of output, colours.

use std::{net::SocketAddr, time::Duration};

use clap::{Args, ValueEnum};
use controllers::catalogue::parse_time;
use experiment::fields::parse_size;

pub(super) fn time(text: &str) -> Result<Duration, String> {
    match parse_time(text) {
        Some(Duration::ZERO) => Err("it is to be longer than nothing: 20ms, 5s, 15m".to_owned()),
        Some(time) => Ok(time),
        None => Err(no_time(text, "20ms, 5s, 15m")),
    }
}

/// Objective of a proxy, as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToldObjective {
    /// Percentile of 100; `None`: the file's, or the proxy's own.
    pub percentile: Option<f64>,
    /// The time.
    pub response_time: Duration,
}

pub(super) fn objective(text: &str) -> Result<ToldObjective, String> {
    let Some((percentile, response_time)) = text.strip_prefix('p').and_then(|text| text.split_once('=')) else {
        return Ok(ToldObjective { percentile: None, response_time: time(text)? });
    };
    let percentile = percentile.parse().ok().filter(|percentile| (1.0..100.0).contains(percentile));
    let percentile = percentile.ok_or_else(|| "write a percentile and a time: p90=200ms, p99.9=1s".to_owned())?;
    Ok(ToldObjective { percentile: Some(percentile), response_time: time(response_time)? })
}

fn no_time(text: &str, examples: &str) -> String {
    let is_number = text.parse().is_ok_and(|number: f64| number >= 0.0 && number.is_finite());
    let meant = if is_number { format!("; did you mean {text}s?") } else { String::new() };
    format!("write a number and its unit (us, ms, s, m, h): {examples}{meant}")
}

/// A time that may be nothing: a moment of a recording, a pause.
pub(super) fn offset(text: &str) -> Result<Duration, String> {
    parse_time(text).ok_or_else(|| no_time(text, "0s, 90s, 5m"))
}

pub(super) fn size(text: &str) -> Result<u64, String> {
    parse_size(text).filter(|size| *size > 0).ok_or_else(|| "write a whole number over 0: 64, 10k, 1m".to_owned())
}

/// Where something listens: an address with its port.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or(8000_u16);
    text.parse().map_err(|_| format!("write an address and its port: 127.0.0.1:{port}"))
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.001..=1.0).contains(share));
    share.ok_or_else(|| "write a share from 0.001 to 1: 0.05".to_owned())
}

/// `20261122`, as in the names of runs.
pub(super) fn day(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &str, many: usize| part.len() == many && part.bytes().all(|byte| byte.is_ascii_digit());
    match parts[..] {
        [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2) => Ok(parts.concat()),
        _ => Err("write a day: 2026-11-22".to_owned()),
    }
}

/// Forms of results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    #[default]
    Text,
    /// For scripts.
    Json,
}

/// Colours of a terminal.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Global options")]
pub struct Colours {
    /// Colours: when.
    #[arg(long, global = true, display_order = 1000, hide_short_help = true, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// Colours for a dark or a light ground [auto: the terminal is asked].
    #[arg(long, global = true, display_order = 1000, hide_short_help = true, value_enum, default_value_t = ThemeName::Auto)]
    pub theme: ThemeName,
}

/// The ground that colours are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThemeName {
    /// As the terminal says; dark if it does not.
    Auto,
    /// Light text on a dark ground.
    Dark,
    /// Dark text on a light ground.
    Light,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_is_a_time_or_a_percentile_within_one() {
        let ms = Duration::from_millis;
        let found = |text| objective(text).map(|found| (found.percentile, found.response_time));
        assert_eq!(found("220ms"), Ok((None, ms(220))));
        assert_eq!(found("p90=220ms"), Ok((Some(90.0), ms(220))));
        assert_eq!(found("p99.9=1s"), Ok((Some(99.9), ms(1000))));
        for wrong in ["p100=1s", "p0=1s", "p=1s", "90=1s", "p90=", "p90=0s", "p90<1s", "1"] {
            assert!(found(wrong).is_err(), "{wrong}");
        }
    }
}

//! Arguments of `lab replay`.

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args, ValueEnum};

use super::{
    share::ShareArgs,
    values::{Output, offset, size, time},
};

/// `lab replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A trace that lab trace import or lab trace generate has written.
    pub trace: PathBuf,
    /// Any HTTP service, by a URL for each record (http://127.0.0.1:8080/{action}?id={object}) [default: Arashi, started by lab].
    ///
    /// {action}, {object} and {user} are the trace's own words, percent-encoded; {folder} and {message} the object's parts; {object-path}
    /// keeps the object's slashes; {object-number} and {user-number} are numbers. Every request is a GET without a body, also where
    /// the log had another method.
    #[arg(long, value_name = "URL", conflicts_with_all = ["policies", "virtual_time", "capacity", "repeat", "no_tui"])]
    pub target: Option<String>,
    /// Times as fast as recorded, 0.1 to 1000.
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = speed)]
    pub speed: f64,
    /// When the requests of a session are due.
    #[arg(long, value_enum, default_value_t = By::Clock)]
    pub by: By,
    /// Only sessions that start from here on, by the trace's clock: 90s, 5m.
    #[arg(long, value_name = "TIME", value_parser = offset)]
    pub from: Option<Duration>,
    /// Only so much of the trace.
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub lasts: Option<Duration>,
    /// Every session by so many users, each up to a second later than the first.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub copies: u32,
    /// Only this share of the sessions, whole ones.
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    pub sample: f64,
    /// Arashi under these policies, one after the other [default: none].
    #[arg(long = "policy", value_name = "NAME", action = ArgAction::Append)]
    pub policies: Vec<String>,
    /// Arashi is given extra work until it serves so many requests a second [default: as fast as it is].
    #[arg(long, value_name = "RATE", value_parser = size)]
    pub capacity: Option<u64>,
    /// Run every arm so often.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Root of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=(1 << 53)))]
    pub seed: u64,
    /// In virtual time.
    #[arg(long = "virtual")]
    pub virtual_time: bool,
    /// Folder for the results, which must not exist yet [default: runs/NAME-TIME; with --target none].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Progress lines instead of the live view.
    #[arg(long)]
    pub no_tui: bool,
    /// With --target: extra header line.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", requires = "target", action = ArgAction::Append)]
    pub headers: Vec<String>,
    /// A host beyond this machine that may be loaded: yours, and prepared for it.
    #[arg(long, value_name = "HOST", requires = "target")]
    pub allow_host: Vec<String>,
    /// Of a replay on a service (--target): a part of the sessions.
    #[command(flatten)]
    pub share: ShareArgs,
    /// Form of the result on standard output.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// When the requests of a session are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// At their recorded times.
    Clock,
    /// After the recorded pauses; the rest follows the service.
    Sessions,
}

fn speed(text: &str) -> Result<f64, String> {
    number(text, 0.1, 1000.0)
}

fn share(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1.0)
}

fn number(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let wanted = || format!("expected a number from {least} to {most}");
    let number: f64 = text.trim_start_matches(['x', '×']).parse().map_err(|_| wanted())?;
    if (least..=most).contains(&number) { Ok(number) } else { Err(wanted()) }
}

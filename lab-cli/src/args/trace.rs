//! Arguments of `lab trace`.

use std::{path::PathBuf, str::FromStr as _, time::Duration};

use clap::{Args, Subcommand};
use trace_import::web::RequestTime;

use super::values::{Output, offset, size, time};

/// `lab trace`.
#[derive(Debug, Subcommand)]
pub enum Trace {
    /// Makes a trace of what servers wrote: mail logs, rawlogs, packet captures, access logs and more.
    Import(ImportArgs),
    /// Shows what a trace has: on a terminal as a screen, else as text.
    Inspect(InspectArgs),
    /// Makes a user model of a trace; experiments take it as users.model.
    Fit(FitArgs),
    /// Makes a trace of a user model.
    Generate(GenerateArgs),
    /// Writes a trace again without anything that says who it was.
    Anonymize(AnonymizeArgs),
}

/// `lab trace import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Logs, as they are or packed (gzip, zstd), folders of them, or - for standard input. What each is, is found out.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
    /// Trace, which must not exist yet; .zst or .gz at its end packs it; - is standard output.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out: PathBuf,
    /// Where it comes from, in words; the trace keeps them.
    #[arg(long, value_name = "WORDS", default_value = "imported logs")]
    pub source: String,
    /// File with a key of 32 hexadecimal digits: the same names get the same pseudonyms again [default: a new key, not kept].
    #[arg(long, value_name = "FILE", conflicts_with = "names")]
    pub key: Option<PathBuf>,
    /// Keep the names of users and folders as they are: for your own eyes.
    #[arg(long)]
    pub names: bool,
    /// How far the times of logs that name no zone are ahead of UTC: +01:00 [default: found by sessions that have both; alone UTC].
    #[arg(long, value_name = "ZONE", value_parser = zone, allow_hyphen_values = true)]
    pub zone: Option<i32>,
    /// Year of the first line of logs that have none [default: this year].
    #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(i16).range(1970..=2099))]
    pub year: Option<i16>,
    /// Table from requests in access logs to actions [default: the pages of Arashi].
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Where lines of access logs have the time that a request took: last:us (or ms, s), 2:s (the second field after the browser's
    /// name), or none [default: the last field, if it has a unit or is seconds with three decimals].
    #[arg(long, value_name = "PLACE:UNIT", value_parser = RequestTime::from_str)]
    pub request_time: Option<RequestTime>,
    /// A pause of a user that ends a session, where a log has none.
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = time)]
    pub gap: Duration,
    /// Longest pause after which a command belongs to the SELECT before it, for backends that connect anew for each page.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = offset)]
    pub window: Duration,
    /// The server's port in packet captures.
    #[arg(long, value_name = "N", default_value_t = 143)]
    pub port: u16,
    /// Form of the account of the import, on standard error; as JSON on standard output.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `lab trace inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Trace, or - for standard input.
    #[arg(value_name = "TRACE")]
    pub trace: String,
    /// Text instead of the screen.
    #[arg(long)]
    pub no_tui: bool,
    /// Form.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `lab trace fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// Trace, or - for standard input.
    #[arg(value_name = "TRACE")]
    pub trace: String,
    /// Model, which must not exist yet [default: only the account is shown].
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Name of the model [default: that of the trace].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Form.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `lab trace generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// User model: a file (.yaml), or arashi.
    #[arg(value_name = "MODEL")]
    pub model: String,
    /// Trace, which must not exist yet; .zst or .gz at its end packs it; - is standard output.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out: PathBuf,
    /// Sessions in all.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = size)]
    pub sessions: u64,
    /// Sessions that begin in a second, at random [default: as in the trace that the model was fitted to, else 1].
    #[arg(long, value_name = "RATE")]
    pub rate: Option<f64>,
    /// Users that they belong to [default: a tenth of the sessions].
    #[arg(long, value_name = "N", value_parser = size)]
    pub users: Option<u64>,
    /// How long every request takes.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = time)]
    pub service: Duration,
    /// Root of all randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// `lab trace anonymize`.
#[derive(Debug, Args)]
pub struct AnonymizeArgs {
    /// Trace, or - for standard input.
    #[arg(value_name = "TRACE")]
    pub trace: String,
    /// Trace, which must not exist yet; .zst or .gz at its end packs it; - is standard output.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out: PathBuf,
    /// File with a key of 32 hexadecimal digits [default: a new key, not kept].
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
}

fn zone(text: &str) -> Result<i32, String> {
    trace_import::zone_seconds(text).ok_or_else(|| "write how far it is ahead of UTC: +01:00, -05:30".to_owned())
}

//! Arguments of `lab load`.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use clap::{
    ArgAction, Args, ValueEnum,
    builder::{ArgPredicate, PossibleValuesParser},
};
use workloads::{persona::Method, plan::ArrivalLaw};

use super::{
    share::ShareArgs,
    values::{size, time},
};

/// Under the options of `lab load`.
const AFTER: &str = "\
Exit codes: 0 something was served, and no --fail-if holds; 2 bad usage: nothing was sent; 3 INVALID; 4 a --fail-if holds, or \
nothing was served (nobody listens there, no answer comes, every answer is a 500): that, and a --fail-if of error_rate, also when \
INVALID; 130, 143 stopped by Ctrl-C or SIGTERM: what is in flight is cut off, and what was measured is printed and saved.\n\n\
Placeholders in the path, the body and header values are filled in for each request: {{number}} is its number from 0, {{1..1000}} a \
random number from 1 to 1000, {{uuid}} a random UUID. --seed repeats them.\n\n\
Without -R each of -c users asks again as soon as it is answered; one whose connection is refused, or lost before the answer, \
tries again after a pause: drawn evenly from 0 to 10 ms, the bound doubling with each time in a row, to 1 s at most; with -n, a \
load without a single one in its first 5 s ends. With -R every request is sent once, at its time; with -c too, at most N \
are in flight, and one that waits for a connection counts that wait in its response time.";

/// `lab load`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct LoadArgs {
    /// What to ask for: `http://127.0.0.1:8080/path`.
    #[arg(
        required = false,
        required_unless_present = "attach",
        default_value_if("attach", ArgPredicate::IsPresent, "")
    )]
    pub url: String,
    /// Connections at once [default: 64; with -R as many as it takes].
    ///
    /// Without -R: users, each with a connection of its own and asking again as soon as it is answered; no more than -n. With -R: the
    /// largest number of connections; with HTTP/2 each carries as many requests at once as the service allows.
    #[arg(short = 'c', long, aliases = ["vus", "users"], value_name = "N", value_parser = size)]
    pub connections: Option<u64>,
    /// Requests in all; 10k and 1m are understood.
    #[arg(short = 'n', long, value_name = "N", value_parser = size, conflicts_with = "duration")]
    pub requests: Option<u64>,
    /// How long: 30s, 2m [default: 10s].
    #[arg(short = 'd', long, short_alias = 'z', visible_alias = "for", value_name = "TIME", value_parser = lasting)]
    pub duration: Option<Duration>,
    #[command(flatten)]
    pub rates: RateArgs,
    #[command(flatten)]
    pub request: RequestArgs,
    #[command(flatten)]
    pub transport: TransportArgs,
    /// Longest wait for an answer.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = time)]
    pub timeout: Duration,
    /// An answer counts as goodput if it comes within this time [default: the time-out].
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = time)]
    pub deadline: Option<Duration>,
    /// Fail (exit code 4) if this holds: 'p99 > 200ms'.
    ///
    /// Or 'error_rate > 1%', 'goodput < 500'. What has too few samples to be known fails too.
    #[arg(long, value_name = "CONDITION", action = ArgAction::Append)]
    pub fail_if: Vec<String>,
    /// What counts as served: 'status 200', 'text ok' [default: any 2xx, or 304].
    ///
    /// Of several statuses any; 'text item {{number}}' is looked for in the first 256 KiB of the body; 'bytes >= 100' is about its
    /// length. Other answers are errors.
    #[arg(long, value_name = "CONDITION", action = ArgAction::Append)]
    pub expect: Vec<String>,
    /// Root of all randomness.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=(1 << 53)))]
    pub seed: u64,
    /// A host beyond this machine that may be loaded.
    ///
    /// It is yours, and prepared for it.
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    #[command(flatten)]
    pub share: ShareArgs,
    /// Follow a load that agents send and whose coordinator is gone, or collect it: the name that it had said.
    #[arg(long, help_heading = "Several machines", hide_short_help = true, value_name = "LOAD", requires = "nats", conflicts_with_all = ["url", "agents", "shard"])]
    pub attach: Option<String>,
    #[command(flatten)]
    pub results: ResultArgs,
}

/// How fast.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct RateArgs {
    /// Requests a second, open loop: 200, 0.5, 20/s, 90/m, 2k.
    ///
    /// In all, whether or not earlier ones were answered.
    #[arg(short = 'R', long, aliases = ["rps", "qps"], value_name = "RATE", value_parser = rate, conflicts_with = "ramp")]
    pub rate: Option<f64>,
    /// From one rate to another, evenly over the duration: 100/s..2k/s.
    #[arg(long, value_name = "RATE..RATE", value_parser = ramp)]
    pub ramp: Option<[f64; 2]>,
    /// The ramp in so many steps of equal length, each judged by itself.
    #[arg(long, hide_short_help = true, value_name = "N", requires = "ramp", value_parser = clap::value_parser!(u32).range(2..=100))]
    pub steps: Option<u32>,
    /// Gaps between requests, with -R or --ramp: all the same, or exponential.
    #[arg(long, hide_short_help = true, value_enum, default_value_t = ArrivalGaps::Constant)]
    pub arrivals: ArrivalGaps,
    /// A new connection for each request.
    #[arg(long, hide_short_help = true, visible_alias = "disable-keepalive")]
    pub new_connections: bool,
    /// Search for the highest rate for which this holds: 'p99 < 200ms'.
    ///
    /// Begins with -R [default: 100].
    #[arg(long, value_name = "OBJECTIVE", conflicts_with_all = ["ramp", "requests", "duration", "fail_if"])]
    pub find_rate: Option<String>,
    /// Shortest and longest time for which --find-rate tries one rate.
    #[arg(long, hide_short_help = true, value_name = "TIME..TIME", requires = "find_rate", value_parser = times, default_value = "5s..60s")]
    pub try_for: [Duration; 2],
}

/// What is sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub struct RequestArgs {
    /// Method [default: GET; POST where there is a body].
    #[arg(short = 'm', long, short_alias = 'X', ignore_case = true, value_parser = methods(), hide_possible_values = true)]
    pub method: Option<String>,
    /// Body: a text, or @FILE.
    ///
    /// Form-encoded, unless a header says otherwise.
    #[arg(short = 'b', long, alias = "data", value_name = "TEXT|@FILE")]
    pub body: Option<String>,
    /// Extra header line.
    ///
    /// Host, Content-Type and Connection replace what would be sent.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", action = ArgAction::Append)]
    pub headers: Vec<String>,
    /// Several requests, drawn by weight: a list, a HAR file or an access log.
    ///
    /// In place of the URL's path: a file with a URL or path a line, and the weight behind it; a list of requests (YAML), a HAR file of
    /// a browser, or an access log. Of several hosts the target's counts.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "body"])]
    pub urls: Option<PathBuf>,
    /// Basic authentication: NAME:PASSWORD, or @FILE with that in its first line.
    #[arg(long, hide_short_help = true, value_name = "NAME:PASSWORD|@FILE", conflicts_with = "bearer")]
    pub user: Option<String>,
    /// A bearer token, or @FILE with one in its first line.
    #[arg(long, hide_short_help = true, value_name = "TOKEN|@FILE")]
    pub bearer: Option<String>,
    /// Follow up to so many redirects in a row, on the same host; they are part of the request's response time.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=50))]
    pub follow: u32,
}

/// How it is sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub struct TransportArgs {
    /// Accept any certificate.
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Certificates of the authorities to trust, in place of the system's (PEM).
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// The client's certificate (PEM); its key may be in the same file.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// The key of the client's certificate (PEM).
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// An address of this machine to connect from; several are taken in turn, and give more connections to one service than one
    /// has ports (28 thousand).
    #[arg(long, hide_short_help = true, value_name = "ADDR", value_delimiter = ',', action = ArgAction::Append)]
    pub source_address: Vec<IpAddr>,
    /// The Unix socket that the service listens on; the host of the URL is what it is told.
    #[arg(long, hide_short_help = true, value_name = "PATH", conflicts_with = "source_address")]
    pub unix_socket: Option<PathBuf>,
    /// HTTP/1.1, also where a service with TLS offers HTTP/2.
    #[arg(long, hide_short_help = true)]
    pub http1: bool,
    /// HTTP/2; without TLS by prior knowledge.
    #[arg(long, conflicts_with = "http1")]
    pub http2: bool,
}

/// Where results go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Results")]
pub struct ResultArgs {
    /// Folder for the results [default: runs/load-HOST-TIME].
    ///
    /// It must not exist yet; lab report, compare, recheck and history read it.
    #[arg(long, value_name = "DIR", conflicts_with = "no_save")]
    pub out: Option<PathBuf>,
    /// Save nothing.
    #[arg(long)]
    pub no_save: bool,
    /// No live view.
    #[arg(long)]
    pub no_tui: bool,
    /// Percentiles of the live view and of the text: 50,95,99.9 [default: 50,75,90,95,99,99.9 in the view, 50,90,99,99.9 in the
    /// text].
    #[arg(long, hide_short_help = true, value_name = "P,P", value_delimiter = ',', value_parser = percentile, conflicts_with = "find_rate")]
    pub percentiles: Vec<f64>,
    /// Form of the result on standard output.
    #[arg(long, value_enum, default_value_t = LoadOutput::Text)]
    pub output: LoadOutput,
    /// Where metrics for Prometheus are while it goes on, without a token and read-only: 127.0.0.1:9464 [default: nowhere].
    #[arg(long, hide_short_help = true, value_name = "ADDR", conflicts_with = "find_rate", value_parser = super::values::address)]
    pub metrics: Option<SocketAddr>,
    /// The collector of OpenTelemetry that the same metrics are exported to, http://127.0.0.1:4318 (in builds with the feature otel).
    #[arg(long, hide_short_help = true, value_name = "URL", conflicts_with = "find_rate")]
    pub otlp: Option<String>,
}

/// Gaps between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArrivalGaps {
    /// All the same.
    Constant,
    /// Exponential: independent users.
    Poisson,
}

impl ArrivalGaps {
    /// As plans have it.
    pub fn law(self) -> ArrivalLaw {
        match self {
            Self::Constant => ArrivalLaw::Constant,
            Self::Poisson => ArrivalLaw::Poisson,
        }
    }
}

/// Forms of a load's result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum LoadOutput {
    /// For people.
    #[default]
    Text,
    /// For scripts.
    Json,
    /// A row a phase and request type.
    Csv,
    /// An HdrHistogram log.
    Hlog,
}

fn methods() -> PossibleValuesParser {
    PossibleValuesParser::new(Method::ALL.map(Method::name))
}

/// How long a load lasts; what is no time may be meant for another program's `-d`.
fn lasting(text: &str) -> Result<Duration, String> {
    let is_body = text.starts_with(['{', '[', '@']) || text.contains('=');
    if is_body { Err("-d is how long; a body is -b".to_owned()) } else { time(text) }
}

/// Higher rates are typing errors.
const MOST_PER_S: f64 = 10_000_000.0;

/// `200`, `0.5`, `20/s`, `90/m`, `2k`, `10rps`.
fn rate(text: &str) -> Result<f64, String> {
    let (number, unit) = text.split_once('/').unwrap_or_else(|| (text.strip_suffix("rps").unwrap_or(text), "s"));
    let (number, factor) = match number.trim().strip_suffix(['k', 'K']) {
        Some(number) => (number, 1e3),
        None => (number.trim(), 1.0),
    };
    let seconds = match unit.trim() {
        "s" => 1.0,
        "m" | "min" => 60.0,
        _ => f64::NAN,
    };
    let digits = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let rate = number.parse().ok().filter(|_| digits).map(|number: f64| number * factor / seconds);
    let sound = rate.filter(|rate| *rate > 0.0 && *rate <= MOST_PER_S);
    sound.ok_or_else(|| "write a rate over 0: 200, 0.5, 20/s, 90/m, 2k".to_owned())
}

/// Of a hundred.
fn percentile(text: &str) -> Result<f64, String> {
    let digits = text.trim().trim_start_matches('p');
    let percentile = digits.parse().ok().filter(|percentile| *percentile > 0.0 && *percentile <= 99.999);
    percentile.ok_or_else(|| "write percentiles over 0 and up to 99.999: 50,95,99.9".to_owned())
}

fn ramp(text: &str) -> Result<[f64; 2], String> {
    let (from, to) = text.split_once("..").ok_or("write two rates: 100/s..2k/s")?;
    Ok([rate(from)?, rate(to)?])
}

fn times(text: &str) -> Result<[Duration; 2], String> {
    let (from, to) = text.split_once("..").ok_or("write two times: 5s..60s")?;
    let times = [time(from)?, time(to)?];
    let sound = times[0] >= Duration::from_secs(2) && times[0] <= times[1];
    sound.then_some(times).ok_or_else(|| "the first is 2s at least, and not over the second: 5s..60s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_in_several_ways() {
        for (text, per_second) in [
            ("200", 200.0),
            ("0.5", 0.5),
            ("20/s", 20.0),
            ("90/m", 1.5),
            ("2k", 2000.0),
            ("1.5k/s", 1500.0),
            ("10rps", 10.0),
        ] {
            assert_eq!(rate(text), Ok(per_second), "{text}");
        }
        for text in ["", "0", "-1", "x", "1/h", "1e3", "nan", "inf", "20/", "99999999", "1.2.3", "rps", "10/srps"] {
            assert!(rate(text).is_err(), "{text}");
        }
        assert_eq!(["50", "p99.9", " 95"].map(percentile), [50.0, 99.9, 95.0].map(Ok));
        assert!(["0", "100", "x", "", "-5", "nan"].into_iter().all(|text| percentile(text).is_err()));
        assert_eq!(ramp("100/s..2k/s"), Ok([100.0, 2000.0]));
        assert!(ramp("100").is_err() && ramp("100..x").is_err());
        assert!(times("1s..5s").is_err() && times("9s..5s").is_err() && times("2s..2s").is_ok());
    }
}

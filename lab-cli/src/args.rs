//! What can be typed.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use controllers::catalogue::parse_time;
use experiment::{Repeat, fields::parse_size};

mod init;
mod load;
mod proxy;
mod replay;
mod sweep;
mod trace;

pub use init::InitArgs;
pub use load::{LoadArgs, LoadOutput, RateArgs, RequestArgs, TransportArgs};
pub use proxy::{Log, ProxyArgs, ProxyCommand, SetArgs};
pub use replay::{By, ReplayArgs};
pub use sweep::{GoalArgs, SweepArgs, TuneArgs};
pub use trace::{AnonymizeArgs, FitArgs, GenerateArgs, ImportArgs, InspectArgs, Trace};

/// A laboratory for overload control: runs a service under more load than it can bear, live, and compares what policies
/// make of it.
#[derive(Debug, Parser)]
#[command(name = "lab", version = crate::VERSION, max_term_width = 100, disable_help_subcommand = false)]
#[command(
    after_help = "Start with: lab run flash-crowd\nExit codes: 0 done, 1 could not be done, 2 bad usage or input, \
                        3 INVALID, 4 a threshold or claim failed, a load was not served or a comparison is \
                        undecided, 130/143 interrupted"
)]
pub struct Cli {
    /// What the terminal shows them with.
    #[command(flatten)]
    pub colours: Colours,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<LabCommand>,
}

/// Colours of a terminal.
#[derive(Debug, Clone, Copy, Args)]
pub struct Colours {
    /// Colours: when.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// Colours for a dark or a light ground [auto: the terminal is asked].
    #[arg(long, global = true, value_enum, default_value_t = ThemeName::Auto)]
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

/// Commands.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Runs every arm of an experiment.
    Run(RunArgs),
    /// Runs the values of a range in virtual time, and draws a measure over them.
    Sweep(SweepArgs),
    /// Looks for the best parameters of a policy in virtual time, and says how far from them one may be.
    Tune(TuneArgs),
    /// The atlas: runs the results of the papers as experiments, and says which of their claims hold.
    Reproduce(ReproduceArgs),
    /// Verdicts between runs, or between the arms of one.
    Compare(CompareArgs),
    /// Computes every figure and verdict of a run again from its files, and says which differ.
    Recheck(RecheckArgs),
    /// Writes a report of a run.
    Report(ReportArgs),
    /// Past runs.
    History(HistoryArgs),
    /// Quick load on any HTTP service.
    Load(Box<LoadArgs>),
    /// Replays a recorded trace, with its own timing.
    Replay(ReplayArgs),
    /// Measures a live target and writes a plant file for virtual time.
    Calibrate(CalibrateArgs),
    /// Serves the Arashi web mail alone, for a browser or another load tool.
    Serve(ServeArgs),
    /// A reverse proxy with a policy of admission, before a service of your own.
    Proxy(Box<ProxyArgs>),
    /// Writes an experiment file for a service of your own, by asking it a few requests.
    Init(InitArgs),
    /// Reads experiment files and says everything that is wrong with them.
    Check(CheckArgs),
    /// The catalogue of policies.
    Policies(PoliciesArgs),
    /// Writes a crate with a policy of your own, which runs in all of the lab at once.
    NewPolicy(NewPolicyArgs),
    /// Traces and user models: from a log to a model of its users, and back.
    #[command(subcommand)]
    Trace(Trace),
    /// JSON Schema of the files that the lab reads and writes.
    Schema {
        /// Of which.
        #[arg(value_enum)]
        of: SchemaOf,
    },
    /// Runs a command that is not the lab's, and ends it with the lab; the lab alone starts this.
    #[command(hide = true)]
    Guard,
    /// Shell completions.
    Completions {
        /// For which shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Man pages, in the format of man(1).
    Man(ManArgs),
}

/// `lab man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Of this command, as in `lab man trace import` [default: of lab].
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    pub command: Vec<String>,
    /// Write the pages of lab and all its commands into this folder, which is made if it is missing.
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `lab run`.
#[derive(Debug, Default, Args)]
pub struct RunArgs {
    /// Experiment files, ids of experiments (see --list), or - for standard input.
    #[arg(value_name = "FILE|ID", required_unless_present = "list")]
    pub experiments: Vec<String>,
    /// List the experiments that come with the program.
    #[arg(long)]
    pub list: bool,
    /// Only these arms, or these policies with their defaults.
    #[arg(long = "policy", value_name = "NAME")]
    pub policies: Vec<String>,
    /// Run every arm so often, in random order within each repetition; or until-decided: until every arm's difference from the baseline
    /// is known.
    #[arg(long, value_name = "N|until-decided")]
    pub repeat: Option<Repeat>,
    /// Root of all randomness.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=(1 << 53)))]
    pub seed: Option<u64>,
    /// Change a value of the file: users.think=50ms, users.phases.spike.users=500.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Folder for the results, which must not exist yet [default: runs/NAME-TIME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Progress lines instead of the live view.
    #[arg(long)]
    pub no_tui: bool,
    /// Form of the result on standard output.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Also print every run of every arm, by phase, with ledgers, comparisons and all findings of gates.
    #[arg(long)]
    pub details: bool,
    /// Also draw the run over time (90th percentile, goodput, rejects of all arms) into this SVG file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Also draw goodput, 99th percentile and rejects of all arms over the load into this SVG file: for runs with three loads
    /// or more.
    #[arg(long, value_name = "FILE")]
    pub curves: Option<PathBuf>,
    /// Also write the run over time, a row of whole numbers a second, into this text file.
    #[arg(long, value_name = "FILE")]
    pub series: Option<PathBuf>,
    /// A host beyond this machine that may be loaded, where target.url names one: yours, and prepared for it.
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// In virtual time: a simulated service in place of the real one, in seconds instead of minutes, bit for bit repeatable.
    #[arg(long = "virtual")]
    pub virtual_time: bool,
    /// End a live run at its first INVALID arm, with exit code 3.
    #[arg(long, conflicts_with = "virtual_time")]
    pub fail_fast: bool,
}

/// `lab new-policy`.
#[derive(Debug, Args)]
pub struct NewPolicyArgs {
    /// The policy's name, and the crate's folder: small letters, digits and hyphens (my-limit).
    #[arg(value_name = "NAME")]
    pub name: String,
    /// What it begins with.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = PolicyKind::Limit)]
    pub kind: PolicyKind,
    /// The lab's workspace [default: the one that this folder is in].
    #[arg(long, value_name = "PATH")]
    pub lab: Option<PathBuf>,
}

/// What a new policy begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyKind {
    /// A limit law: from the time of each job to the next limit on jobs inside.
    Limit,
    /// A policy with a timer: a token bucket whose rate is set once an interval from what ended.
    Policy,
}

/// `lab compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Runs: folders, or names (or beginnings of names) below runs/; RUN:ARM is one arm of a run. Of one run its arms are
    /// compared; of several the others are compared with the first, arm by arm.
    #[arg(value_name = "RUN[:ARM]", required = true)]
    pub runs: Vec<String>,
    /// Of one run: the arm that the others are compared with [default: the experiment's].
    #[arg(long, value_name = "ARM")]
    pub baseline: Option<String>,
    /// What decides [default: the experiment's].
    #[arg(long, value_enum)]
    pub metric: Option<MetricName>,
    /// In which phase [default: the experiment's, else the baseline's busiest].
    #[arg(long, value_name = "NAME")]
    pub phase: Option<String>,
    /// What matters in practice, as a share [default: the experiment's, else the metric's].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub margin: Option<f64>,
    /// Also runs that should not be compared: of other experiments, modes or machines.
    #[arg(long)]
    pub anyway: bool,
    /// End with exit code 4 if a comparison that decides comes to this.
    #[arg(long, value_enum)]
    pub fail_if: Option<FailIf>,
    /// What a comparison that decides and is undecided comes to: `fail` ends with exit code 4.
    #[arg(long, value_enum, default_value_t = UndecidedIs::Pass)]
    pub undecided: UndecidedIs,
    /// Form of the result on standard output.
    #[arg(long, value_enum, default_value_t = CompareOutput::Text)]
    pub output: CompareOutput,
}

/// What a comparison must not come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailIf {
    /// A difference larger than the margin, for the worse.
    Worse,
}

/// What an undecided comparison means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UndecidedIs {
    /// Exit code 0.
    Pass,
    /// Exit code 4.
    Fail,
}

/// Forms of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareOutput {
    /// For people.
    Text,
    /// For scripts.
    Json,
    /// For a pull request.
    Md,
}

/// Metrics that can decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MetricName {
    /// Intents met within the objective, a second.
    Goodput,
    /// Rejected of those sent.
    RejectFraction,
    /// 90th percentile of the time to an answer, of all requests: one without an answer is longer than any.
    P90All,
    /// 99th percentile of it.
    P99All,
    /// 90th percentile of response time, of what was answered.
    P90,
    /// 99th percentile.
    P99,
}

/// `lab recheck`.
#[derive(Debug, Args)]
pub struct RecheckArgs {
    /// A run: its folder, or its name (or the beginning of it) below runs/.
    pub run: String,
    /// Holds files against each other alone: a run in virtual time is not computed a second time.
    #[arg(long)]
    pub no_rerun: bool,
    /// Form of the result on standard output.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `lab report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A run: its folder, or its name (or the beginning of it) below runs/.
    pub run: String,
    /// Form.
    #[arg(long, value_enum, default_value_t = ReportFormat::Html)]
    pub format: ReportFormat,
    /// Of text: also every run of every arm, by phase, with ledgers, comparisons and all findings of gates.
    #[arg(long)]
    pub details: bool,
    /// Where to; - is standard output [default: report.html in the run's folder; for other forms standard output].
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Forms of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One file with tables and figures, for a browser; needs no network.
    Html,
    /// The summary (lab schema summary).
    Json,
    /// Thresholds and gates as test cases, for CI.
    Junit,
    /// A row a phase, request type and class.
    Csv,
    /// For a pull request.
    Md,
    /// For a terminal: what lab run prints.
    Text,
}

/// `lab history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Only runs with these words in their name, experiment, policies or verdict.
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
    /// Only of this experiment.
    #[arg(long, value_name = "NAME")]
    pub experiment: Option<String>,
    /// Only with an arm of this policy or name.
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// Only from this day on (UTC): 2026-11-22.
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub since: Option<String>,
    /// Only up to this day.
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub until: Option<String>,
    /// At most so many, the newest first.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// Rebuilds the index from the folders.
    #[arg(long)]
    pub rebuild: bool,
    /// Where the runs are.
    #[arg(long, value_name = "DIR", default_value = crate::store::RUNS)]
    pub runs: PathBuf,
    /// Form of the result on standard output.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `lab reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// Ids of the atlas: seda-fig8, ew-fig3 (lab run --list names them).
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    pub ids: Vec<String>,
    /// All of them.
    #[arg(long)]
    pub all: bool,
    /// At the paper's own length, in virtual time (this is what is done if neither is asked for).
    #[arg(long = "virtual")]
    pub virtual_time: bool,
    /// The short form of each, live, in minutes. Those that have none are named and left out with --all, an error by id.
    #[arg(long, conflicts_with = "virtual_time")]
    pub live: bool,
    /// Repetitions, each with its own seed: what holds in at least nine of ten is held.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: Option<u32>,
    /// Root of all randomness.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=(1 << 53)))]
    pub seed: Option<u64>,
    /// Folder for the folders of results, which must not exist yet [default: runs, with the time in each name].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Writes the figure of one artefact as an SVG picture, the paper's own curve dashed beside ours.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Writes DIR/index.html: one page, sufficient in itself, with the claims by paper and every artefact's figure, claims, deviations and commands. It grows
    /// with each artefact. DIR is made if there is none; one that holds other things is left alone.
    #[arg(short = 'o', long = "page", value_name = "DIR")]
    pub page: Option<PathBuf>,
    /// Form of the result on standard output.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `lab calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// What to measure: arashi (with the checksum service), experiment files or ids, whose targets are measured, or the URL
    /// of a service of your own.
    #[arg(value_name = "arashi|FILE|ID|URL", required = true)]
    pub targets: Vec<String>,
    /// Plant file, which must not exist yet; experiments name it under virtual: {plant: FILE}.
    #[arg(short = 'o', long, value_name = "FILE", default_value = "plant.yaml")]
    pub out: PathBuf,
    /// Measure everything so often, and take the medians.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// How long each load lasts: a repetition has 17 of them for arashi, 13 on the mail service and 4 on the checksum service.
    #[arg(long = "for", value_name = "TIME", default_value = "4s", value_parser = time)]
    pub lasts: Duration,
    /// A host beyond this machine that may be loaded: yours, and prepared for it.
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    #[command(flatten)]
    pub transport: ServiceTransport,
}

/// How a service of one's own is spoken to.
#[derive(Debug, Clone, Args)]
pub struct ServiceTransport {
    /// Accept any certificate of an https:// service.
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Certificates of the authorities to trust, in place of the system's (PEM).
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Speak HTTP/2 to the service; without TLS by prior knowledge.
    #[arg(long)]
    pub http2: bool,
}

/// `lab serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Experiment file or id whose target is served [default: Arashi with generated mail].
    #[arg(value_name = "FILE|ID")]
    pub experiment: Option<String>,
    /// Mail to import: mboxes, maildirs, folders of either or of messages. A FILE of an experiment goes before it.
    #[arg(long, value_name = "DIR|MBOX", num_args = 1..)]
    pub mail: Vec<PathBuf>,
    /// Who decides on admission.
    #[arg(long, value_name = "NAME", default_value = "none")]
    pub policy: String,
    /// Port on 127.0.0.1; 0 takes a free one.
    #[arg(long, value_name = "N", default_value_t = 8025)]
    pub port: u16,
    /// Account that imported mail goes to.
    #[arg(long, value_name = "NAME", default_value = "me", requires = "mail")]
    pub user: String,
    /// Read that account's password from standard input, instead of making one up.
    #[arg(long, requires = "mail")]
    pub password_stdin: bool,
    /// Where the mail database is kept [default: a new temporary one].
    #[arg(long, value_name = "FILE")]
    pub database: Option<PathBuf>,
    /// What opens the control port: a file with one line, which nobody but its owner may read (mode 0600) [default: a new
    /// token, which is printed on a terminal].
    #[arg(long, value_name = "FILE")]
    pub control_token_file: Option<PathBuf>,
    /// Where the metrics for Prometheus are, without a token and read-only [default: nowhere].
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,
    /// Most connections at once [default: four fifths of the descriptors, at most 4096].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections: Option<u32>,
    /// Most connections of one address at once [default: any number].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections_per_source: Option<u32>,
    /// Takes a resolved target as JSON on standard input: how `lab run` starts its targets.
    #[arg(long, hide = true)]
    pub spec_stdin: bool,
}

/// `lab check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Experiment files, ids, or - for standard input.
    #[arg(value_name = "FILE|ID", required = true)]
    pub files: Vec<String>,
    /// Change a value first.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Check it as `lab run --repeat` would run it.
    #[arg(long, value_name = "N|until-decided")]
    pub repeat: Option<Repeat>,
}

/// `lab policies`.
#[derive(Debug, Args)]
pub struct PoliciesArgs {
    /// Everything about one.
    pub name: Option<String>,
    /// Form.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
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

/// What has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// Experiment files.
    Experiment,
    /// The file of a proxy (lab proxy --config FILE).
    Proxy,
    /// `summary.json`.
    Summary,
    /// A line of `timeline.jsonl`.
    Timeline,
    /// A line of a trace.
    Trace,
}

fn time(text: &str) -> Result<Duration, String> {
    match parse_time(text) {
        Some(Duration::ZERO) => Err("it is to be longer than nothing: 20ms, 5s, 15m".to_owned()),
        Some(time) => Ok(time),
        None => Err(no_time(text, "20ms, 5s, 15m")),
    }
}

fn no_time(text: &str, examples: &str) -> String {
    let is_number = text.parse().is_ok_and(|number: f64| number >= 0.0 && number.is_finite());
    let meant = if is_number { format!("; did you mean {text}s?") } else { String::new() };
    format!("write a number and its unit (us, ms, s, m, h): {examples}{meant}")
}

/// A time that may be nothing: a moment of a recording, a pause.
fn offset(text: &str) -> Result<Duration, String> {
    parse_time(text).ok_or_else(|| no_time(text, "0s, 90s, 5m"))
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text).filter(|size| *size > 0).ok_or_else(|| "write a whole number: 64, 10k, 1m".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.001..=1.0).contains(share));
    share.ok_or_else(|| "write a share from 0.001 to 1: 0.05".to_owned())
}

/// `20261122`, as in the names of runs.
fn day(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &str, many: usize| part.len() == many && part.bytes().all(|byte| byte.is_ascii_digit());
    match parts[..] {
        [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2) => Ok(parts.concat()),
        _ => Err("write a day: 2026-11-22".to_owned()),
    }
}

//! Arguments of `lab compare`.

use analysis::judge::compare::Metric;
use clap::{
    Args, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};

use super::values::share;

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
    #[arg(long, value_parser = metric())]
    pub metric: Option<Metric>,
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

/// The metric that decides, by its name in experiment files.
fn metric() -> impl TypedValueParser<Value = Metric> {
    let names = [
        ("goodput", "Intents met within the objective, a second"),
        ("reject-fraction", "Rejected of those sent"),
        (
            "p90-all",
            "90th percentile of the time to an answer, of all requests: one without an answer is longer than any",
        ),
        ("p99-all", "99th percentile of it"),
        ("p90", "90th percentile of response time, of what was answered"),
        ("p99", "99th percentile"),
    ];
    let names = names.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value(name.into()))
}

//! Arguments of `lab init` and `lab calibrate`, and the way to a service of one's own, the same for every command that reaches one.

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args};

use super::values::time;

/// Under the options of `lab init`.
const AFTER_INIT: &str = "\
The service is asked a few hundred requests at the most, over a few seconds: for its pages, how long they take, and how many a \
second it serves. The file has a calm phase at half of that rate and one of overload at twice.\n\n\
Example: lab init './my-service --port {port}' --path /items --path /search, then lab check, lab run.";

/// `lab init`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_INIT)]
pub struct InitArgs {
    /// The URL of a service of your own that runs, with a path that it answers; or, in one word (quoted), the command that
    /// starts it, with {port} where its port goes.
    #[arg(value_name = "URL|COMMAND")]
    pub service: String,
    /// The experiment file, which must not exist yet; - is standard output [default: NAME.yaml].
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Where the command listens, if its port is fixed: http://127.0.0.1:8080.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// A page that it serves; again for each further one. Users ask for all of them equally often [default: the first page, and
    /// up to four that it links to].
    #[arg(long = "path", value_name = "PATH", action = ArgAction::Append)]
    pub paths: Vec<String>,
    /// A header line that every request needs; it is written into the file.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", action = ArgAction::Append)]
    pub headers: Vec<String>,
    /// A host beyond this machine that may be asked, and loaded: yours, and prepared for it.
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

//! Arguments of `lab calibrate`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{service_transport::ServiceTransport, values::time};

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

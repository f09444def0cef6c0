//! Arguments of `lab serve`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

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
    #[arg(long, value_name = "ADDR", value_parser = super::values::address)]
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

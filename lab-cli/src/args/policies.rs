//! Arguments of `lab policies` and `lab new-policy`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::Output;

/// `lab policies`.
#[derive(Debug, Args)]
pub struct PoliciesArgs {
    /// Everything about one.
    pub name: Option<String>,
    /// Form.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
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

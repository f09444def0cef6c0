//! `lab trace`: a file for each of its commands.

mod fit;
mod generate;
mod import;
mod inspect;
#[cfg(feature = "live")]
mod on_screen;
mod read;
mod write;

use crate::{
    args::{self, Colours},
    exit::CommandResult,
};

pub fn trace(args: &args::Trace, colours: Colours) -> CommandResult {
    match args {
        args::Trace::Import(args) => import::import(args),
        args::Trace::Inspect(args) => inspect::inspect(args, colours),
        args::Trace::Fit(args) => fit::fit(args),
        args::Trace::Generate(args) => generate::generate(args),
        args::Trace::Anonymize(args) => generate::anonymize(args),
    }
}

#[cfg(feature = "live")]
pub(super) use on_screen::shown_trace;
pub(super) use read::header;

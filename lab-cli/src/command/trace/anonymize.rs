//! `lab trace anonymize`: a trace without anything that says who it was.

use traces::anonymize::AnonymizeError;

use super::{
    read::{open, unreadable},
    small_file::pseudonyms,
    write::{Target, unwritten},
};
use crate::{
    args,
    exit::{CommandResult, End},
};

pub fn anonymize(args: &args::AnonymizeArgs) -> CommandResult {
    let mut trace = open(&args.trace)?;
    let key = pseudonyms(args.key.as_deref())?;
    let (target, packer) = Target::new(&args.out)?;
    let packer = traces::anonymize(&mut trace, &key, packer).map_err(|error| match error {
        AnonymizeError::Trace(error) => unreadable(&args.trace, &error),
        AnonymizeError::Write(error) => unwritten(error),
    })?;
    target.keep(packer)?;
    Ok(End::Done)
}

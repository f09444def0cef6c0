//! `lab trace generate`: from a user model to a trace; `lab trace anonymize`: a trace without anything that says who it was.

use std::path::Path;

use traces::{
    UserModel,
    anonymize::AnonymizeError,
    generate::{GenerateError, Plan},
};

use super::{
    read::{open, pseudonyms, small_file, unreadable},
    write::{Target, unwritten},
};
use crate::{
    args,
    exit::{CommandResult, End, Failure},
};

pub fn generate(args: &args::GenerateArgs) -> CommandResult {
    let model = model(&args.model)?;
    let mut plan = Plan::of(&model, args.sessions);
    plan.rate = args.rate.unwrap_or(plan.rate);
    plan.users = args.users.unwrap_or(plan.users);
    plan.service = args.service;
    plan.seed = args.seed;
    let (target, packer) = Target::new(&args.out)?;
    let packer = traces::generate::generate(&model, &plan, packer).map_err(|error| match error {
        GenerateError::Write(error) => unwritten(error),
        GenerateError::Model(error) => Failure::usage(format!("{}: {error}", args.model)),
        GenerateError::Plan(problem) => Failure::usage(problem),
    })?;
    target.keep(packer)?;
    Ok(End::Done)
}

fn model(name: &str) -> Result<UserModel, Failure> {
    if name == "arashi" {
        return Ok(workloads::mail::arashi());
    }
    let text = small_file(Path::new(name))?;
    UserModel::from_yaml(&text).map_err(|error| Failure::usage(format!("{name}: {error}")))
}

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

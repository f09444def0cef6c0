//! `lab trace generate`: from a user model to a trace.

use std::path::Path;

use traces::{
    UserModel,
    generate::{GenerateError, Plan},
};

use super::{
    small_file::small_file,
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

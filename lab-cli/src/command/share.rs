//! What a machine has of a run or load that several carry out.

use std::time::{Duration, SystemTime};

use analysis::{manifest::ShardBy, text::counted};
use experiment::{Experiment, plan::AppPlan, plan_digest::nowhere, resolve};
use health::clock::Start;
use measure::Shard;
use workloads::plan::LoadPlan;

use super::destination::destination;
use crate::{
    args::{RunArgs, StartArgs},
    exit::Failure,
    run::{RunShare, ShareOf, StopSignal, UsersShare},
    store::rfc3339,
};

/// The moment of `--start-at`.
pub(super) fn start(args: &StartArgs) -> Result<Option<Start>, Failure> {
    let start = |wall: Duration| {
        Start::at_wall(wall).ok_or_else(|| {
            let [asked, now] = [SystemTime::UNIX_EPOCH + wall, SystemTime::now()].map(rfc3339);
            Failure::usage(format!("--start-at {asked}: it is {now} already, by this machine's clock"))
        })
    };
    args.start_at.map(start).transpose()
}

/// Waits for the moment of `--start-at`, if there is one.
pub(super) fn wait_for_start(args: &StartArgs, stop: &StopSignal) -> Result<(), Failure> {
    if let Some(start) = start(args)? {
        start.wait(|| stop.is_asked());
    }
    Ok(())
}

/// The part of `--shard`; `None`: all is run here.
pub(super) fn share(experiment: &Experiment, args: &RunArgs) -> Result<Option<RunShare>, Failure> {
    let Some(shard) = args.shard else {
        let listens = args.listen.is_some() && args.agents.agents.is_none();
        let alone = args.target.is_some() || args.target_at.is_some() || listens;
        let message = "--target, --target-at and --listen are about a part of the users: add --shard 1/4";
        return if alone { Err(Failure::usage(message)) } else { Ok(None) };
    };
    let of = match args.shard_by {
        ShardBy::Block => {
            check_blocks(experiment, args)?;
            ShareOf::Blocks
        }
        ShardBy::Users => ShareOf::Users(users(experiment, args)?),
    };
    Ok(Some(RunShare { shard, of }))
}

/// Loads that agents can send.
pub(super) fn check_agents(experiment: &Experiment, args: &RunArgs) -> Result<(), Failure> {
    let Some(agents) = args.agents.agents else { return Ok(()) };
    let refused = |why: &str| Err(Failure::usage(format!("--agents {agents}: {why}")));
    if args.virtual_time {
        return refused("in virtual time nothing is sent: lab sweep, tune and suite have --workers");
    }
    if let Some(listen) = args.listen.filter(|listen| listen.ip().is_unspecified()) {
        return refused(&format!(
            "--listen {listen}: agents go to this address: name the one of this machine that they reach"
        ));
    }
    if matches!(&experiment.target.app, AppPlan::Tree(_)) {
        return refused(&format!("{} has several services, each with a door of its own", experiment.name));
    }
    if experiment.users.trace.is_some() && !args.agents.send_recording {
        return refused("a recording may say what people did: agents get it with --send-recording");
    }
    for arm in &experiment.arms {
        // What a rate comes to is of no account here.
        let rate = experiment.nominal_capacity().or(Some(1.0));
        let plan = resolve::load_plan(experiment, arm, &[], nowhere(), experiment.seed, rate);
        let part = LoadPlan { shard: Shard::new(1, agents), ..plan };
        part.check_shard().or_else(|problem| refused(&format!("arm {}: {problem}", arm.label)))?;
    }
    Ok(())
}

fn refused(args: &RunArgs, why: &str) -> Failure {
    let shard = args.shard.map_or_else(String::new, |shard| shard.to_string());
    Failure::usage(format!("--shard {shard}: {why}"))
}

/// Blocks can be shared where it is known beforehand how many there are, and each part has one.
fn check_blocks(experiment: &Experiment, args: &RunArgs) -> Result<(), Failure> {
    let (name, repeat) = (&experiment.name, experiment.repeat);
    if experiment.compare.until_decided.is_some() {
        let why = "how many blocks it needs is decided by all of them: take a number, as in --repeat 12";
        return Err(refused(args, &format!("{name} runs until it is decided, and {why}")));
    }
    if args.shard.is_some_and(|shard| shard.number() > repeat) {
        let blocks = counted(repeat as usize, "block");
        return Err(refused(args, &format!("{name} has {blocks}, a part at least one each (--repeat)")));
    }
    if args.target.is_some() || args.target_at.is_some() || args.listen.is_some() {
        return Err(refused(args, "blocks have a service each: leave --target, --target-at and --listen out"));
    }
    Ok(())
}

/// One arm begins at one moment; when a second one would, no other machine can know.
fn users(experiment: &Experiment, args: &RunArgs) -> Result<UsersShare, Failure> {
    let name = &experiment.name;
    let to_blocks = "or share its blocks (--shard-by block)";
    let one = args.experiments.len() == 1 && experiment.arms.len() == 1 && experiment.repeat == 1;
    if !one || experiment.compare.until_decided.is_some() {
        let why =
            "users of one arm in one block of one experiment can be shared, which begins everywhere at one moment";
        return Err(refused(args, &format!("{why}: name it (--policy NAME --repeat 1), {to_blocks}")));
    }
    if args.virtual_time {
        return match experiment.interaction() {
            None => Ok(UsersShare::default()),
            Some(why) => Err(refused(
                args,
                &format!("users of {name} meet each other at its service ({why}): share its blocks (--shard-by block)"),
            )),
        };
    }
    let is_there = match &experiment.target.app {
        AppPlan::Tree(_) => {
            return Err(refused(
                args,
                &format!("{name} has several services, each with a door of its own: {to_blocks}"),
            ));
        }
        AppPlan::Own(service) => service.url.is_some() && service.command.is_none() && experiment.arms[0].direct,
        _ => false,
    };
    match (&args.target, &args.target_at) {
        (Some(_), None) | (None, Some(_)) => {}
        (None, None) if is_there => {}
        _ => {
            let why =
                "one part starts the service, the others are told where it is: add --target here or --target-at URL";
            return Err(refused(args, why));
        }
    }
    if args.listen.is_some() && (args.target.is_none() || is_there) {
        return Err(refused(args, "--listen is where the service of --target here listens"));
    }
    if let Some(url) = &args.target_at {
        destination(url, &args.allow_host)?;
    }
    Ok(UsersShare { start: start(&args.start)?, target_at: args.target_at.clone(), listen: args.listen, began: None })
}

//! `lab load --attach`: a load that agents send, and whose coordinator is gone.

use std::time::Duration;

use senders::RunOptions;

use super::load::{ReportedLoad, print_replay, unsent};
use crate::{
    agents::{AttachedLoad, attached},
    args::{LoadArgs, LoadOutput, Output},
    exit::{CommandResult, Failure},
    run::{LoadFolder, LoadRequest, StopSignal, run_load},
    screens::restore,
};

pub fn attach(args: &LoadArgs, load: &str) -> CommandResult {
    let output = match args.results.output {
        LoadOutput::Text => Output::Text,
        LoadOutput::Json => Output::Json,
        LoadOutput::Csv | LoadOutput::Hlog => {
            return Err(Failure::usage("--output: of a load that others began text and json are printed"));
        }
    };
    let AttachedLoad { sender, experiment, plan, flat_out, in_parts } = attached(&args.share.agents, load)?;
    let request = LoadRequest {
        experiment: &experiment,
        options: RunOptions::default(),
        flat_out,
        out: Some(args.results.out.as_deref().map_or(LoadFolder::Named, LoadFolder::At)),
        share: None,
        recorded: None,
        in_parts,
        sender: &*sender,
    };
    let stop = StopSignal::listen_and_cut(restore).map_err(Failure::because)?;
    let planned: Duration = plan.phases.iter().map(|phase| phase.duration).sum();
    let url = plan.target.url.clone();
    let flag = stop.fresh_flag();
    let finished = run_load(&request, plan, |event| _ = event.second(), &flag, || stop.is_asked()).map_err(unsent)?;
    let how = format!("{load}, begun by another coordinator");
    let reported = ReportedLoad { url: &url, how: &how, flat_out, percentiles: &args.results.percentiles };
    print_replay(&reported, &finished, planned, output, &stop)
}

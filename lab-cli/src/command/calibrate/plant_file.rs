//! The plant file of a calibration: its origin in words, and its place on disk.

use std::{path::Path, time::SystemTime};

use analysis::summary::Validity;
use spec::plant::DEBUG_BUILD;

use crate::{
    args,
    command::stdout::print,
    exit::{CommandResult, End, Failure},
    run::PlantVerdict,
    store::{put_in_place, rfc3339},
};

/// Writes the plant file, unless its rounds contradict each other. INVALID is in the file, and the exit code.
pub(super) fn keep(args: &args::CalibrateArgs, verdict: &PlantVerdict, text: &str, use_it: &str) -> CommandResult {
    let out = args.out.display();
    if verdict.is_no_plant() {
        print(format!("no plant: {out} is not written, since the rounds contradict each other\n").as_bytes())?;
        return Ok(End::Invalid);
    }
    put_in_place(&args.out, text.as_bytes()).map_err(Failure::at(&args.out))?;
    print(format!("plant: {out}{use_it}\n").as_bytes())?;
    Ok(if verdict.verdict() == Validity::Invalid { End::Invalid } else { End::Done })
}

/// The origin of the figures, without names:
/// `2026-11-22, a core of 2, Linux 6.1.0, release build: lab calibrate arashi`.
pub(super) fn how(args: &args::CalibrateArgs) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let date: String = rfc3339(SystemTime::now()).chars().take(10).collect();
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let version: String = release.chars().take_while(|&c| c.is_ascii_digit() || c == '.').collect();
    let build = if cfg!(debug_assertions) { DEBUG_BUILD } else { "release build" };
    // A file may lie anywhere: its name is enough.
    let name =
        |name: &String| Path::new(name).file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let names: Vec<String> = args.targets.iter().map(name).collect();
    let (targets, repeat, lasts) = (names.join(" "), args.repeat, args.lasts.as_secs_f64());
    format!(
        "{date}, a core of {cores}, Linux {version}, {build}: lab calibrate {targets} --repeat {repeat} --for {lasts}s"
    )
}

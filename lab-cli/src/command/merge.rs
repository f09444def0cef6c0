//! `lab merge`: parts of one plan as one folder. A part is what `--shard i/n` of lab run, sweep or suite has left.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use analysis::{
    digests::{self, Digests},
    histograms,
    merge::{RunPart, merged},
    recheck::{summarised, whole_arms},
    report,
    text::counted,
};

use super::{run::where_it_is, stdout::print};
use crate::{
    args::MergeArgs,
    exit::{CommandResult, Failure, complain},
    store::{folder::ResultsFolder, histograms::write as write_histograms, put_in_place},
    sweep::Journal,
};

/// What a folder is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartOf {
    Run,
    /// A sweep.
    Search,
    Suite,
}

pub fn merge(args: &MergeArgs) -> CommandResult {
    let kinds: Vec<PartOf> = args.parts.iter().map(|path| part_of(path)).collect::<Result<_, _>>()?;
    let Some(first) = kinds.first().filter(|first| kinds.iter().all(|kind| kind == *first)) else {
        return Err(Failure::usage("these are parts of a run, of a sweep and of a suite: name those of one"));
    };
    if args.out.exists() {
        return Err(Failure::usage(format!("{} is there already: name another --out", args.out.display())));
    }
    match first {
        PartOf::Run => run(args),
        PartOf::Search => search(args),
        PartOf::Suite => suite(args),
    }
}

fn part_of(path: &Path) -> Result<PartOf, Failure> {
    if path.join("manifest.json").is_file() {
        Ok(PartOf::Run)
    } else if Journal::is_one(path) {
        Ok(PartOf::Search)
    } else if !runs_below(path)?.is_empty() {
        Ok(PartOf::Suite)
    } else {
        let what = "neither a run nor a sweep nor a suite: name folders that lab run, sweep or suite --shard has left";
        Err(Failure::usage(format!("{} is {what}", path.display())))
    }
}

/// Runs in a suite's folder, by name.
fn runs_below(path: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let entries = fs::read_dir(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    let runs = entries.flatten().filter(|entry| entry.path().join("manifest.json").is_file());
    Ok(runs.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect())
}

fn run(args: &MergeArgs) -> CommandResult {
    let (mut parts, mut problems) = (Vec::new(), Vec::new());
    for path in &args.parts {
        match RunPart::read(path) {
            Ok(part) => parts.push(part),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(Failure::usage(problems.join("\n")));
    }
    let whole = merged(parts, args.partial).map_err(|problems| Failure::usage(problems.join("\n")))?;
    whole.notes.iter().for_each(|note| complain(note));
    let folder = ResultsFolder::create(Some(&args.out), &whole.experiment)?;
    for (name, from) in &whole.files {
        let to = args.out.join(name);
        fs::copy(from, &to).map_err(Failure::at(&to))?;
    }
    for (name, bytes) in &whole.written {
        let to = args.out.join(name);
        put_in_place(&to, bytes).map_err(Failure::at(&to))?;
    }
    folder.replace("manifest.json", &whole.manifest)?;
    // Blocks have theirs from their parts.
    for (label, block, report) in whole_arms(&args.out)? {
        write_histograms(&report, &args.out.join(histograms::file_name(&label, block)))?;
    }
    let summary = summarised(&args.out)?;
    folder.replace("summary.json", &summary)?;
    folder.replace(digests::NAME, &Digests::of(&args.out)?)?;
    print((report::text(&summary, false) + &where_it_is(&args.out)).as_bytes())?;
    Ok(super::run::end_of(&summary))
}

fn search(args: &MergeArgs) -> CommandResult {
    let count = Journal::merge(&args.parts, &args.out)?;
    let way_on = "the same command with this --out, and without --shard, judges them";
    print(format!("{} in {}: {way_on}\n", counted(count, "run"), args.out.display()).as_bytes())
}

/// Runs of a suite are whole: each belongs to one part.
fn suite(args: &MergeArgs) -> CommandResult {
    let mut runs: BTreeMap<String, PathBuf> = BTreeMap::new();
    for path in &args.parts {
        for (name, run) in runs_below(path)? {
            // What was stopped has none yet, and is run again.
            let changed = Digests::read(&run)?.and_then(|digests| digests.changed(&run).into_iter().next());
            if let Some(changed) = changed {
                return Err(Failure::usage(format!("{}: {} {}", run.display(), changed.file, changed.what)));
            }
            if let Some(other) = runs.get(&name) {
                let [a, b] = [&run, other].map(|run| Digests::read(run));
                if a? != b? {
                    return Err(Failure::usage(format!("{} and {} differ", run.display(), other.display())));
                }
            }
            runs.insert(name, run);
        }
    }
    for (name, run) in &runs {
        let to = args.out.join(name);
        fs::create_dir_all(&to).map_err(Failure::at(&to))?;
        for entry in fs::read_dir(run).map_err(Failure::at(run))?.flatten() {
            let file = to.join(entry.file_name());
            fs::copy(entry.path(), &file).map_err(Failure::at(&file))?;
        }
    }
    let way_on = "the same command with this --out, and without --shard, scores them";
    print(format!("{} in {}: {way_on}\n", counted(runs.len(), "scenario"), args.out.display()).as_bytes())
}

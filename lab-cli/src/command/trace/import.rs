//! `lab trace import`: from what servers wrote to a trace.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use analysis::text::scrubbed;
use trace_import::{Clock, ImportError, Input, Options, Rules};
use traces::{
    pseudonym::Pseudonyms,
    spread::UserSpread,
    tally::{FileTally, MoreFiles, Tally, ZoneTally},
    trace::{Header, Names},
};

use super::{
    read::{pseudonyms, small_file, source},
    write::{Target, unwritten},
};
use crate::{
    args::{self, Output},
    command::stdout::print_json,
    exit::{CommandResult, End, Failure},
};

pub fn import(args: &args::ImportArgs) -> CommandResult {
    let options = options(args)?;
    let mut names = Vec::new();
    for file in &args.files {
        collect(Path::new(file), 0, &mut names)?;
    }
    let name = args.out.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let header = Header::new(plain(&name), args.source.clone(), Names::Pseudonyms);
    let (target, packer) = Target::new(&args.out)?;
    let inputs = names.iter().map(|name| Input { name: name.clone(), open: Box::new(move || source(name)) });
    let (packer, tally) = trace_import::import(inputs.collect(), &options, header, packer).map_err(failed)?;
    target.keep(packer)?;
    match args.output {
        Output::Json if args.out != Path::new("-") => print_json(&tally),
        _ => {
            let said = account(&args.out.display().to_string(), &tally) + &cautions(tally.spread());
            std::io::stderr().write_all(said.as_bytes())?;
            Ok(End::Done)
        }
    }
}

fn options(args: &args::ImportArgs) -> Result<Options, Failure> {
    let names = if args.names { Pseudonyms::none() } else { pseudonyms(args.key.as_deref())? };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let this_year = Clock::of(i64::try_from(now).unwrap_or(0)).year;
    let mut options = Options::new(names, args.year.unwrap_or(this_year));
    options.clock.zone = args.zone;
    options.request_time = args.request_time.unwrap_or_default();
    options.gap = args.gap;
    options.window = args.window;
    options.port = args.port;
    if let Some(path) = &args.rules {
        let text = small_file(path)?;
        options.rules =
            Rules::from_yaml(&text).map_err(|problem| Failure::usage(format!("{}: {problem}", path.display())))?;
    }
    Ok(options)
}

fn failed(error: ImportError) -> Failure {
    match error {
        ImportError::Write(error) => unwritten(error),
        ImportError::Spool(_) => Failure::because(error),
        other => Failure::usage(scrubbed(&other.to_string())),
    }
}

/// Deepest folder that is looked into.
const DEEPEST: u32 = 16;

/// A file, or all files of a folder in the order of their names.
fn collect(path: &Path, depth: u32, names: &mut Vec<String>) -> Result<(), Failure> {
    let wrong = |problem: &dyn std::fmt::Display| Failure::usage(format!("{}: {problem}", path.display()));
    let is_folder = path != Path::new("-") && fs::metadata(path).map_err(|error| wrong(&error))?.is_dir();
    if !is_folder {
        let name = path.to_str().ok_or_else(|| wrong(&"its name is no UTF-8; rename it"))?;
        names.push(name.to_owned());
        return Ok(());
    }
    if depth >= DEEPEST {
        return Err(wrong(&"this folder lies too deep"));
    }
    let entries = fs::read_dir(path).map_err(|error| wrong(&error))?;
    let entries = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<PathBuf>, _>>();
    let mut entries = entries.map_err(|error| wrong(&error))?;
    entries.sort();
    entries.iter().try_for_each(|entry| collect(entry, depth + 1, names))
}

/// The name of a trace by that of its file.
pub fn plain(file: &str) -> String {
    let mut name = file;
    for ending in [".zst", ".zstd", ".gz", ".jsonl", ".trace"] {
        name = name.strip_suffix(ending).unwrap_or(name);
    }
    if name.is_empty() || name == "-" { "trace".to_owned() } else { name.to_owned() }
}

/// The account of an import for people: entries read, dropped, merged and not understood.
pub fn account(name: &str, tally: &Tally) -> String {
    let Tally { actions, sessions, users, .. } = tally;
    // Traces of earlier versions do not count users.
    let of_users = if *users > 0 { format!(" of {users} users") } else { String::new() };
    let mut text = format!("{name}: {actions} actions in {sessions} sessions{of_users}\n");
    for file in &tally.files {
        text += &of_file(file);
    }
    text += &tally.more.as_ref().map_or_else(String::new, of_more);
    for (words, counts) in [
        ("began an action", &tally.began),
        ("merged into one", &tally.merged),
        ("dropped", &tally.dropped),
        ("not known", &tally.unknown),
    ] {
        text += &of_commands(words, counts, tally.commands());
    }
    if tally.commands() > 0 {
        let window = analysis::text::time(tally.window_us as f64 / 1000.0);
        text += &format!("  merged by what commands mean; what follows a SELECT within {window} belongs to it\n");
    }
    text += &tally.zone.as_ref().map_or_else(String::new, of_zone);
    if tally.coarse_logins > 0 && tally.commands() > 0 {
        text += &format!(
            "  {} logins are known to the second only: pauses after them seem up to a second longer; events of the filter \
             mail_user_session_finished have them exactly\n",
            tally.coarse_logins
        );
    }
    for (count, words) in [
        (tally.doubled, "commands were in two sources (a log and its copy, a rawlog beside events): counted once"),
        (tally.doubled_requests, "requests were in two access logs (a log and its copy): counted once"),
        (tally.out_of_order, "lines stood after later ones: sorted"),
        (tally.without_login, "sessions without their login: one was put before the first action"),
        (tally.without_end, "sessions without their end"),
        (tally.without_user, "connections without a login: no sessions"),
    ] {
        if count > 0 {
            text += &format!("  {count} {words}\n");
        }
    }
    text
}

/// Warnings for readers of figures by user.
pub fn cautions(spread: UserSpread) -> String {
    spread.cautions().iter().map(|caution| format!("caution: {caution}\n")).collect()
}

fn of_file(file: &FileTally) -> String {
    let FileTally { name, format, units, understood, beside, not_understood, examples, skipped, cut, .. } = file;
    if let Some(reason) = skipped {
        return format!("  {}: passed over: {reason}\n", scrubbed(name));
    }
    let mut text = format!("  {} ({format}): {units} read, {understood} understood", scrubbed(name));
    if *beside > 0 {
        text += &format!(", {beside} beside the point");
    }
    if *not_understood > 0 {
        text += &format!(", {not_understood} NOT understood");
    }
    text.push('\n');
    for example in examples {
        text += &format!("    {}\n", scrubbed(example));
    }
    text += &of_requests(file);
    if let Some(cut) = cut {
        text += &format!("    could not be read to its end: {}\n", scrubbed(cut));
    }
    text
}

/// Choices among a file's requests: hosts, and the source of request times; empty: none were made.
fn of_requests(file: &FileTally) -> String {
    let FileTally { host, left_out, times, numbers, .. } = file;
    let mut text = String::new();
    if !left_out.is_empty() {
        let host = host.as_ref().map_or_else(|| "no host".to_owned(), |host| scrubbed(host));
        text += &format!("    requests to {host}; left out: {}", scrubbed(&left_out.to_string()));
        text += if left_out.hosts.is_empty() { "\n" } else { "; a rule with `host` takes those of another host\n" };
    }
    if *times > 0 {
        text += &format!("    {times} request times, taken from the ends of lines; --request-time says otherwise\n");
    }
    if *numbers > 0 {
        text += &format!(
            "    {numbers} lines end in a number that may be anything, and have no request time; if it is one: --request-time last:us \
             (or ms, s)\n"
        );
    }
    text
}

fn of_more(more: &MoreFiles) -> String {
    let MoreFiles { files, skipped, cut, units, understood, beside, not_understood } = more;
    let mut text = format!("  and {files} more files: {units} read, {understood} understood");
    for (count, words) in [
        (beside, "beside the point"),
        (not_understood, "NOT understood"),
        (skipped, "files passed over"),
        (cut, "files not read to their end"),
    ] {
        if *count > 0 {
            text += &format!(", {count} {words}");
        }
    }
    text + "\n"
}

fn of_zone(zone: &ZoneTally) -> String {
    let ZoneTally { found, asked, agree, of } = zone;
    let told = format!("by {agree} of {of} whose time other lines have in UTC");
    match asked {
        None => format!("  stamps without a zone: {found}, {told}; --zone says otherwise\n"),
        Some(asked) => {
            format!("  stamps without a zone: {asked}, as asked for, but {found} {told}: leave --zone out\n")
        }
    }
}

/// Commands by name, the most frequent first.
fn of_commands(words: &str, counts: &BTreeMap<String, u64>, all: u64) -> String {
    let sum: u64 = counts.values().sum();
    if sum == 0 {
        return String::new();
    }
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
    let named: Vec<String> = sorted.iter().map(|(name, count)| format!("{} {count}", scrubbed(name))).collect();
    let share = analysis::text::percent(sum as f64 / all.max(1) as f64);
    format!("  {words:<15} {sum} ({share}): {}\n", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_named_after_their_files() {
        assert_eq!(plain("monday.jsonl.zst"), "monday");
        assert_eq!(plain("-"), "trace");
    }

    #[test]
    fn the_account_names_everything_and_no_control_characters() {
        let file = FileTally {
            name: "a\u{1b}[31m".into(),
            units: 9,
            not_understood: 2,
            cut: Some("line 7".into()),
            ..FileTally::default()
        };
        let mut tally = Tally { files: vec![file], out_of_order: 3, ..Tally::default() };
        tally.dropped.insert("NOOP".into(), 5);
        tally.dropped.insert("IDLE".into(), 15);
        let text = account("t", &tally);
        assert!(text.contains("dropped         20 (100 %): IDLE 15, NOOP 5"), "{text}");
        assert!(
            text.contains("2 NOT understood") && text.contains("to its end: line 7") && text.contains("3 lines stood"),
            "{text}"
        );
        assert!(!text.contains('\u{1b}'));
    }
}

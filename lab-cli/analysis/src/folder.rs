//! Contents of a run's folder, also of one that a kill left.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::{
    FolderError,
    live::{LiveEvent, Shape, TimelineSecond},
    run_file,
    summary::RunSummary,
    text::json_in_words,
};

/// Contents of a results folder.
#[derive(Debug)]
pub struct Recorded {
    /// The summary, if the run got that far.
    pub summary: Option<RunSummary>,
    /// Every whole second.
    pub timeline: Vec<TimelineSecond>,
    /// Every whole event.
    pub events: Vec<LiveEvent>,
    /// A last line was torn: the run was killed in a write.
    pub torn: bool,
}

impl Recorded {
    /// Reads a run's folder, also one that a kill left.
    ///
    /// # Errors
    /// A file that is there but cannot be read, or a line that is not the last and makes no sense.
    pub fn read(path: &Path) -> Result<Self, FolderError> {
        let summary = summary(path)?;
        let (timeline, torn_timeline) = lines(&path.join("timeline.jsonl"))?;
        let (events, torn_events) = lines(&path.join("events.jsonl"))?;
        Ok(Self { summary, timeline, events, torn: torn_timeline || torn_events })
    }

    /// Reason for which there is no summary yet, in words after the name of the run.
    pub fn why_no_summary(&self) -> String {
        let failed = self.events.iter().rev().find_map(|event| match event {
            LiveEvent::RunFailed { why } => Some(why),
            _ => None,
        });
        failed.map_or_else(
            || "was killed before its first arm ended, or still runs".to_owned(),
            |why| format!("failed before its first arm ended: {why}"),
        )
    }

    /// The shape of the run: the first of its events.
    pub fn shape(&self) -> Option<&Shape> {
        shape(&self.events)
    }
}

/// The shape that these events tell.
pub(crate) fn shape(events: &[LiveEvent]) -> Option<&Shape> {
    events.iter().find_map(|event| match event {
        LiveEvent::RunStarted(shape) => Some(shape),
        _ => None,
    })
}

/// The summary in a run's folder, if the run got that far. One of an earlier version may have judged what says nothing.
///
/// # Errors
/// A file that is there but cannot be read, or is none.
pub fn summary(path: &Path) -> Result<Option<RunSummary>, FolderError> {
    let mut found: Option<RunSummary> = run_file::if_there(run_file::json(&path.join("summary.json")))?;
    found.iter_mut().for_each(RunSummary::leave_void_unjudged);
    Ok(found)
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<(Vec<T>, bool), FolderError> {
    let bytes = run_file::read(path)?;
    let whole_until = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let whole = &bytes[..whole_until];
    let lines = whole.split(|&byte| byte == b'\n').zip(1..).filter(|(line, _)| !line.is_empty());
    let parsed = lines.map(|(line, number)| {
        serde_json::from_slice(line).map_err(|error| FolderError::senseless(path)(json_in_words(&error, number)))
    });
    Ok((parsed.collect::<Result<_, _>>()?, whole_until < bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::put;

    #[test]
    fn a_torn_last_line_is_left_out_and_told_of() {
        let folder = tempfile::tempdir().expect("a folder");
        let line = |value: &dyn Fn() -> serde_json::Value| format!("{}\n", value());
        let second = |second| {
            line(&|| serde_json::to_value(TimelineSecond { second, ..TimelineSecond::default() }).expect("JSON"))
        };
        let note = line(&|| serde_json::to_value(LiveEvent::Note { text: "a note".to_owned() }).expect("JSON"));
        let timeline = folder.path().join("timeline.jsonl");
        let whole: String = (0..3).map(second).collect();
        put(folder.path().join("events.jsonl"), note);
        // A file may end inside its last line; the lines before it are read.
        let last_line = whole[..whole.len() - 1].rfind('\n').expect("three lines") + 1;
        for cut in last_line + 1..whole.len() {
            put(&timeline, &whole[..cut]);
            let found = Recorded::read(folder.path()).expect("readable");
            assert_eq!((found.timeline.len(), found.torn), (2, true), "cut at {cut}");
            assert_eq!(found.events.len(), 1);
        }
        put(&timeline, &whole);
        let found = Recorded::read(folder.path()).expect("readable");
        assert_eq!((found.timeline.len(), found.torn), (3, false));
        assert!(found.why_no_summary().contains("was killed"));
        let failed = LiveEvent::RunFailed { why: "shop: it ended".to_owned() };
        put(folder.path().join("events.jsonl"), line(&|| serde_json::to_value(&failed).expect("JSON")));
        let found = Recorded::read(folder.path()).expect("readable");
        assert_eq!(found.why_no_summary(), "failed before its first arm ended: shop: it ended");
    }

    #[test]
    fn what_is_wrong_with_json_is_said_without_names_of_this_program() {
        use crate::judge::compare::Compare;
        fn said<T: serde::de::DeserializeOwned + std::fmt::Debug>(text: &str) -> String {
            json_in_words(&serde_json::from_str::<T>(text).expect_err("senseless"), 1)
        }
        let found = [
            said::<RunSummary>("[[\n99]]"),
            said::<RunSummary>("7"),
            said::<Compare>("{\"metric\": 7}"),
            said::<LiveEvent>("7"),
            said::<Vec<u8>>("[1,\n \"a\\u001b\\nb\"]"),
            said::<Vec<u8>>("[1,\n 2"),
            said::<Vec<u8>>("[1,\n \u{1b}]"),
        ];
        for one in &found {
            assert!(one.starts_with("line ") && !one.contains(['\u{1b}', '\n']), "{one}");
            assert!(
                !["RunSummary", "Compare", "Metric", "LiveEvent", "struct", "enum"]
                    .iter()
                    .any(|word| one.contains(word)),
                "{one}"
            );
        }
        assert_eq!(found[1], "line 1, column 1: invalid type: integer `7`, expected an object");
        assert_eq!(found[5], "line 2, column 2: it ends here, in the middle");
    }
}

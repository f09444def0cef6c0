//! Logs as container runtimes keep them: each line of the program in a line of the runtime's.
//!
//! ```text
//! 2026-11-21T10:00:01.1Z stdout F 192.0.2.1 - - [21/Nov/2026:10:00:01 +0000] "GET /a HTTP/1.1" 200 13     (Kubernetes, CRI)
//! {"log":"192.0.2.1 - - [21/Nov/2026:10:00:01 +0000] \"GET /a HTTP/1.1\" 200 13\n","stream":"stdout","time":"…"}   (Docker)
//! ```
//!
//! Long lines come in parts: in CRI with `P` for `F` before all but the last, in Docker without `\n` at their ends.

use std::borrow::Cow;

use serde::Deserialize;

/// The longest line that is joined, bytes; the rest is dropped.
const LONGEST: usize = 1 << 20;

/// Takes the program's lines out of the runtime's. Lines of other logs pass as they are.
#[derive(Debug, Default)]
pub struct ContainerLog {
    /// Begun lines: of standard output, and of standard error.
    begun: [String; 2],
}

/// A line of the runtime.
struct Part<'l> {
    text: Cow<'l, str>,
    stderr: bool,
    /// True if the program's line ends with it.
    ends: bool,
}

#[derive(Deserialize)]
struct DockerLine<'l> {
    #[serde(borrow)]
    log: Cow<'l, str>,
    #[serde(borrow)]
    stream: Cow<'l, str>,
}

impl ContainerLog {
    /// The program's line that ends here; `None`: it goes on in a later line.
    pub fn line<'l>(&mut self, line: &'l str) -> Option<Cow<'l, str>> {
        let Some(Part { text, stderr, ends }) = Part::of_cri(line).or_else(|| Part::of_docker(line)) else {
            return Some(line.into());
        };
        let begun = &mut self.begun[usize::from(stderr)];
        if ends && begun.is_empty() {
            return Some(text);
        }
        let mut room = LONGEST.saturating_sub(begun.len()).min(text.len());
        while !text.is_char_boundary(room) {
            room -= 1;
        }
        begun.push_str(&text[..room]);
        ends.then(|| std::mem::take(begun).into())
    }

    /// At the end of the log: a line whose end is not in it.
    pub fn rest(&mut self) -> Option<String> {
        let begun = self.begun.iter_mut().find(|begun| !begun.is_empty())?;
        Some(std::mem::take(begun))
    }
}

impl<'l> Part<'l> {
    fn of_cri(line: &'l str) -> Option<Self> {
        let (time, rest) = line.split_once(' ')?;
        let (stream, rest) = rest.split_once(' ')?;
        let (tags, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_time = time.len() >= 20 && time.as_bytes()[10] == b'T' && time.starts_with(|c: char| c.is_ascii_digit());
        let stderr = match stream {
            "stdout" => false,
            "stderr" => true,
            _ => return None,
        };
        // Further tags may follow after colons.
        let ends = match tags.split(':').next() {
            Some("F") => true,
            Some("P") => false,
            _ => return None,
        };
        is_time.then_some(Self { text: text.into(), stderr, ends })
    }

    fn of_docker(line: &'l str) -> Option<Self> {
        if !line.starts_with('{') || !line.contains("\"stream\"") {
            return None;
        }
        let DockerLine { log, stream } = serde_json::from_str(line).ok()?;
        let ends = log.ends_with('\n');
        let text = match log {
            Cow::Borrowed(text) => text.trim_end_matches(['\r', '\n']).into(),
            Cow::Owned(text) => text.trim_end_matches(['\r', '\n']).to_owned().into(),
        };
        Some(Self { text, stderr: stream == "stderr", ends })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(log: &[&str]) -> (Vec<String>, Option<String>) {
        let mut container = ContainerLog::default();
        let lines = log.iter().filter_map(|line| container.line(line).map(Cow::into_owned)).collect();
        (lines, container.rest())
    }

    #[test]
    fn the_programs_lines_are_taken_out_and_joined() {
        let cri = [
            "2026-11-21T10:00:01.1Z stdout F one line",
            "2026-11-21T10:00:01.2+01:00 stdout P two ",
            "2026-11-21T10:00:01.2Z stderr F between",
            "2026-11-21T10:00:01.2Z stdout P:x parts",
            "2026-11-21T10:00:01.2Z stdout F ",
            "2026-11-21T10:00:01.2Z stdout F",
            "2026-11-21T10:00:01.2Z stdout P cut",
        ];
        let (found, rest) = lines(&cri);
        assert_eq!(found, ["one line", "between", "two parts", ""]);
        assert_eq!(rest.as_deref(), Some("cut"));
        let docker = [
            r#"{"log":"say \"one\"\n","stream":"stdout","time":"2026-11-21T10:00:01Z"}"#,
            r#"{"log":"two ","stream":"stdout","time":"2026-11-21T10:00:01Z"}"#,
            r#"{"log":"parts\r\n","stream":"stdout","attrs":{"tag":"x"},"time":"2026-11-21T10:00:01Z"}"#,
        ];
        assert_eq!(lines(&docker), (vec!["say \"one\"".to_owned(), "two parts".to_owned()], None));
    }

    #[test]
    fn other_lines_pass_as_they_are() {
        for line in [
            "2026-11-21T10:00:01Z imap-login: Info: stdout F",
            "192.0.2.1 stdout F [21/Nov/2026:10:00:01 +0000] \"GET / HTTP/1.1\" 200 1",
            r#"{"event":"x","stream":"stdout"}"#,
            r#"{"log":{"level":"info"},"stream":"stdout"}"#,
            "",
        ] {
            assert_eq!(lines(&[line]), (vec![line.to_owned()], None));
        }
    }

    #[test]
    fn a_line_that_never_ends_is_bounded() {
        let mut container = ContainerLog::default();
        let part = format!("2026-11-21T10:00:01.2Z stdout P {}", "ü".repeat(100_001));
        for _ in 0..50 {
            assert_eq!(container.line(&part), None);
        }
        assert!(container.rest().expect("the beginning").len() <= LONGEST);
    }
}

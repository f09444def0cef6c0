//! Detects the format of a file by its first bytes: by its structure if it has one, then by its lines.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};

use crate::{
    format::Format,
    web::{ContainerLog, begins_as_har},
};

impl Format {
    /// The format of a file, by its unpacked beginning. If lines match several formats, the format of most lines.
    #[must_use]
    pub fn of(first: &[u8]) -> Option<Self> {
        const MAGIC: [[u8; 4]; 6] = [
            [0xa1, 0xb2, 0xc3, 0xd4],
            [0xd4, 0xc3, 0xb2, 0xa1],
            [0xa1, 0xb2, 0x3c, 0x4d],
            [0x4d, 0x3c, 0xb2, 0xa1],
            [0x34, 0xcd, 0xb2, 0xa1],
            [0x0a, 0x0d, 0x0d, 0x0a],
        ];
        if MAGIC.iter().any(|magic| first.starts_with(magic)) {
            return Some(Self::Capture);
        }
        let text = String::from_utf8_lossy(first);
        if text.starts_with("{\"trace\":") {
            return Some(Self::Trace);
        }
        if begins_as_har(first) {
            return Some(Self::Har);
        }
        let of_lines = [Self::MailLog, Self::Rawlog, Self::Telemetry, Self::Roundcube, Self::AccessLog, Self::Script];
        let mut counts = of_lines.map(|format| (0, format));
        let mut container = ContainerLog::default();
        for line in text.lines().take(LINES) {
            let format = container.line(line).and_then(|line| of_line(&line));
            if let Some((count, _)) = counts.iter_mut().find(|(_, of)| Some(*of) == format) {
                *count += 1;
            }
        }
        let most = counts.into_iter().filter(|(count, _)| *count > 0).max_by_key(|(count, _)| *count);
        most.map(|(_, format)| format)
    }
}

/// The number of lines that are checked.
const LINES: usize = 500;

fn of_line(line: &str) -> Option<Format> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    if line.starts_with('{') {
        return is_event(line).then_some(Format::MailLog);
    }
    if line.contains("{\"event\":") {
        return Some(Format::MailLog);
    }
    let words = ["imap-login: ", "imap(", "imapd: ", "imapd-ssl: ", "imaplogin: ", " dovecot: "];
    let clf = line.split_once(" [").and_then(|(_, rest)| rest.split_once("] \""));
    if let Some((stamp, _)) = clf
        && stamp.len() > 20
        && stamp.as_bytes()[2] == b'/'
    {
        return Some(Format::AccessLog);
    }
    if line.starts_with('[') && (line.contains(" C: ") || line.contains(" S: ")) {
        return Some(Format::Roundcube);
    }
    if words.iter().any(|word| line.contains(word)) {
        return Some(Format::MailLog);
    }
    if let Some((offset, uri)) = line.split_once('\t')
        && offset.parse::<f64>().is_ok()
        && (uri.starts_with('/') || uri.contains("://"))
    {
        return Some(Format::Script);
    }
    let stamp = line.split(' ').next().unwrap_or_default();
    if stamp.split_once('.').is_some_and(|(seconds, micros)| {
        digits(seconds) && digits(micros) && (9..=10).contains(&seconds.len()) && micros.len() == 6
    }) {
        return Some(Format::Rawlog);
    }
    let marked = |sign: char| {
        let rest = line.strip_prefix(sign)?;
        rest.split_once(sign).map(|(seconds, _)| digits(seconds) && (9..=10).contains(&seconds.len()))
    };
    (marked('<') == Some(true) || marked('>') == Some(true)).then_some(Format::Telemetry)
}

/// True for an event of Dovecot; other programs log objects too, with some of the same keys and words.
fn is_event(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Event<'l> {
        #[serde(borrow, rename = "event")]
        _event: Cow<'l, str>,
        #[serde(rename = "start_time")]
        _start: IgnoredAny,
        #[serde(rename = "fields")]
        _fields: IgnoredAny,
    }
    match serde_json::from_str::<Event<'_>>(line) {
        Ok(_) => true,
        // A line that was cut.
        Err(error) => error.is_eof() && line.starts_with("{\"event\":"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_lines() {
        let of = |text: &str| Format::of(text.as_bytes());
        let event = r#"{"event":"imap_command_finished","start_time":"2026-11-21T01:39:32Z","fields":{}}"#;
        assert_eq!((of(event), of(&event[..40])), (Some(Format::MailLog), Some(Format::MailLog)));
        assert_eq!(of("Nov 21 01:39:32 mail dovecot: imap-login: Login: user=<u>"), Some(Format::MailLog));
        assert_eq!(of("Nov 21 01:39:32 mail imapd: LOGIN, user=joe"), Some(Format::MailLog));
        assert_eq!(of("1700000000.123456 * OK ready\n1700000000.123457 x"), Some(Format::Rawlog));
        assert_eq!(of("---------- joe Thu Nov 21\n\n<1700000000<A1 NOOP\n"), Some(Format::Telemetry));
        assert_eq!(of("[21-Nov-2026 01:39:32 +0000]: <abc> [12] C: A1 NOOP"), Some(Format::Roundcube));
        assert_eq!(of("::1 - - [21/Nov/2026:01:39:32 +0000] \"GET / HTTP/1.1\" 200 5"), Some(Format::AccessLog));
        assert_eq!(of("0.000\t/list\n12.5\thttp://a/b"), Some(Format::Script));
        assert_eq!(of("{\n \"log\": {\"version\": \"1.2\", \"creator\": {}"), Some(Format::Har));
        assert_eq!(of("{\"trace\":1,"), Some(Format::Trace));
        assert_eq!(Format::of(&[0x4d, 0x3c, 0xb2, 0xa1, 2]), Some(Format::Capture));
        assert_eq!((of("hello\nworld"), of("")), (None, None));
    }

    #[test]
    fn structure_counts_before_words_in_lines() {
        let of = |text: &str| Format::of(text.as_bytes());
        let har = |word: &str| {
            format!(
                r#"{{"log": {{"version": "1.2", "creator": {{}}, "entries": [{{"request": {{"url": "{word}"}}}}]}}}}"#
            )
        };
        for word in
            ["http://shop/?start_time=1", "minimap(x)", "imap(joe)", " dovecot: ", " [21/Nov/2026:01:39:32 +0000] "]
        {
            assert_eq!(of(&har(word)), Some(Format::Har), "{word}");
        }
        let start = r#"{"log":{"creator":{},"entries":[{"request":{"queryString":[{"name":"start_time","value":"1"}"#;
        assert_eq!(of(start), Some(Format::Har), "a cut one");
        // Envoy's and Istio's access log, the journal of a Dovecot, some program.
        for other in [
            r#"{"method":"GET","path":"/a","response_code":200,"start_time":"2026-11-21T10:00:01.000Z"}"#,
            r#"{"MESSAGE":"imap-login: Login: user=<joe>, session=<S>","_COMM":"dovecot"}"#,
            r#"{"event":"login","start_time":"2026-11-21T10:00:01.000Z","user":"imap(joe)"}"#,
            r#"{"log":{"level":"info"},"message":"imapd: LOGIN, user=joe"}"#,
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn logs_of_containers_are_what_their_programs_wrote() {
        let of = |text: &str| Format::of(text.as_bytes());
        let line = "192.0.2.1 - - [21/Nov/2026:01:39:32 +0000] \"GET / HTTP/1.1\" 200 5";
        assert_eq!(of(&format!("2026-11-21T10:00:01.1Z stdout F {line}")), Some(Format::AccessLog));
        let docker =
            serde_json::json!({"log": format!("{line}\n"), "stream": "stdout", "time": "2026-11-21T10:00:01Z"});
        assert_eq!(of(&docker.to_string()), Some(Format::AccessLog));
        let login = "2026-11-21T10:00:01.1Z stdout F Nov 21 01:39:32 mail dovecot: imap-login: Login: user=<u>";
        assert_eq!(of(login), Some(Format::MailLog));
    }
}

//! Detects the format of a file by its first bytes: by its structure if it has one, then by its lines.

use std::collections::BTreeMap;

use super::{
    importer::{Certainty, Importer, Mark},
    importers::{Format, IMPORTERS},
    web::ContainerLog,
};

impl Format {
    /// The format of a file, by its unpacked beginning. If lines match several formats, the format of most lines.
    #[must_use]
    pub fn of(first: &[u8]) -> Option<Self> {
        let begins = |importer: &Importer| matches!(importer.mark, Mark::Beginning(begins) if begins(first));
        if let Some((format, _)) = IMPORTERS.iter().find(|(_, importer)| begins(importer)) {
            return Some(*format);
        }
        let (mut counts, mut container) = (BTreeMap::new(), ContainerLog::default());
        for line in String::from_utf8_lossy(first).lines().take(LINES) {
            if let Some(format) = container.line(line).and_then(|line| of_line(&line)) {
                *counts.entry(format).or_insert(0) += 1;
            }
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(format, _)| format)
    }
}

/// The number of lines that are checked.
const LINES: usize = 500;

fn of_line(line: &str) -> Option<Format> {
    let certain = IMPORTERS.iter().filter_map(|(format, importer)| match importer.mark {
        Mark::Line(certainty) => Some((certainty(line)?, *format)),
        Mark::Beginning(_) => None,
    });
    // Words in an object may be anyone's.
    let most = certain.max().filter(|(certainty, _)| *certainty == Certainty::Object || !line.starts_with('{'));
    most.map(|(_, format)| format)
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

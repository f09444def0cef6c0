//! Removes identities from a trace: the implementation of `lab trace anonymize`.

use std::io::{self, Read, Write};

use crate::{
    pseudonym::{NameKind, Pseudonyms},
    tally::Tally,
    trace::{ACTIONS, Footer, Header, LEAVE, Reader, Record, TraceError, Writer, split_object},
};

/// The error of an anonymisation.
#[derive(Debug, thiserror::Error)]
pub enum AnonymizeError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// It cannot be written.
    #[error("the trace cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// Writes a copy of the trace with keyed pseudonyms for users, sessions, folders and unknown actions, and without its
/// name, source, date, and names of files and commands. Offsets, sizes, message numbers, durations and outcomes stay.
///
/// The remaining data can still identify a person to a reader that knows when and how much the person reads mail.
///
/// # Errors
/// If the trace cannot be read to its end, or `out` cannot be written.
pub fn anonymize<R: Read, W: Write>(trace: &mut Reader<R>, key: &Pseudonyms, out: W) -> Result<W, AnonymizeError> {
    let mut writer = Writer::new(out, &Header::new("anonymized", "an anonymized trace", key.names()))?;
    while let Some(record) = trace.next_record()? {
        writer.write(&without_names(&record, key))?;
    }
    let import = trace.footer().and_then(|footer| footer.import.clone());
    Ok(writer.finish(Footer { import: import.map(Tally::without_names), ..Footer::default() })?)
}

fn without_names<'r>(record: &Record<'r>, key: &Pseudonyms) -> Record<'r> {
    let action = &*record.action;
    let known = ACTIONS.contains(&action) || action == LEAVE;
    let (folder, messages) = split_object(&record.object);
    Record {
        user: key.of(NameKind::User, &record.user).into(),
        session: key.of(NameKind::Session, &record.session).into(),
        action: if known { record.action.clone() } else { key.of(NameKind::Action, action).into() },
        object: key.of_object(folder, messages).into(),
        ..record.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{pseudonym::Key, tally::FileTally, trace::Names};

    #[test]
    fn no_canary_survives_and_sizes_do() {
        let header = Header {
            began: Some("2026-11-21T01:39:32Z".into()),
            ..Header::new("canary1", "the server of canary2", Names::Source)
        };
        let mut writer = Writer::new(Vec::new(), &header).expect("memory");
        for (offset, object) in [(0, "INBOX.canary3/12:21"), (4, "canary4/canary5"), (9, "canary6")] {
            let record = Record {
                offset,
                user: "canary7".into(),
                session: "canary8".into(),
                action: if offset == 9 { "canary9".into() } else { "search".into() },
                object: object.into(),
                received: Some(4711),
                ..Record::default()
            };
            writer.write(&record).expect("memory");
        }
        let file = FileTally {
            name: "canary10".into(),
            examples: vec!["canary11".into()],
            cut: Some("canary12".into()),
            ..FileTally::default()
        };
        let mut tally = Tally { files: vec![file], ..Tally::default() };
        tally.unknown.insert("CANARY13".into(), 3);
        let bytes = writer.finish(Footer { import: Some(tally), ..Footer::default() }).expect("memory");
        let key = Pseudonyms::keyed(Key::new([3; 16]));
        let clean = anonymize(&mut Reader::new(&bytes[..]).expect("a trace"), &key, Vec::new()).expect("memory");
        let text = String::from_utf8(clean).expect("text");
        assert!(String::from_utf8_lossy(&bytes).to_lowercase().matches("canary").count() >= 13);
        assert!(!text.to_lowercase().contains("canary") && !text.contains("2026"), "{text}");
        assert_eq!(text.matches("4711").count(), 3);
        assert!(text.contains("/12:21") && text.contains("\"search\"") && text.contains("\"others\":3"), "{text}");
        assert_eq!(text.matches(&key.of(NameKind::User, "canary7")).count(), 3, "one user stays one user");
    }
}

use proptest::prelude::*;

use super::*;
use crate::pack::{Packer, Packing};

fn record(offset: u64, action: &'static str) -> Record<'static> {
    Record { offset, user: "u1".into(), session: "s1".into(), action: action.into(), ..Record::default() }
}

fn written(records: &[Record<'_>]) -> String {
    let mut writer = Writer::new(Vec::new(), &Header::new("test", "made up", Names::Generated)).expect("memory");
    for record in records {
        writer.write(record).expect("sound");
    }
    String::from_utf8(writer.finish(Footer::default()).expect("memory")).expect("text")
}

/// All records, or the first error.
fn read(text: &[u8]) -> Result<Vec<Record<'static>>, String> {
    let mut reader = Reader::open(text).map_err(|error| error.to_string())?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().map_err(|error| error.to_string())? {
        records.push(record.into_owned());
    }
    assert_eq!(reader.footer().map(|footer| footer.records), Some(records.len() as u64));
    assert!(matches!(reader.next_record(), Ok(None)), "the end stays the end");
    Ok(records)
}

#[test]
fn the_form_is_as_documented() {
    let full = Record {
        object: "f1/12:21".into(),
        sent: Some(74),
        received: Some(2400),
        duration: Some(802),
        outcome: RecordOutcome::Rejected,
        class: 1,
        inferred: true,
        totals: Some(Totals { shown: Some(4), ..Totals::default() }),
        ..record(75, "list messages")
    };
    let text = written(&[record(0, "login"), full]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], r#"{"trace":1,"name":"test","source":"made up","names":"generated"}"#);
    assert_eq!(lines[1], r#"{"t":0,"u":"u1","s":"s1","a":"login"}"#);
    assert_eq!(
        lines[2],
        r#"{"t":75,"u":"u1","s":"s1","a":"list messages","o":"f1/12:21","in":74,"out":2400,"d":802,"r":"rejected","c":1,"i":true,"n":{"shown":4}}"#
    );
    assert_eq!(lines[3], r#"{"end":{"records":2}}"#);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let good = written(&[record(5, "login"), record(9, "leave")]);
    let says = |text: &str, words: &str| {
        let said = read(text.as_bytes()).expect_err(words);
        assert!(said.contains(words), "{said}");
    };
    says("", "this is no trace");
    says("GET / HTTP/1.1\n", "this is no trace");
    says(&good.replace("\"trace\":1", "\"trace\":2"), "version 2");
    says(&good.replace("\"t\":9", "\"t\":4"), "line 3 (byte 103): its offset 4 is before 5");
    says(&good.replace("\"t\":9", "\"t\":-9"), "line 3");
    says(&good.replace("\"u\":\"u1\"", "\"u\":\"\""), "must not be empty");
    says(&good.replace("\"u1\"", &format!("{:?}", "u".repeat(2000))), "1024");
    says(&good.replace("\"t\":9", "\"t\":99999999999999999"), "two hundred years");
    says(&good.replace("\"records\":2", "\"records\":3"), "3 records are counted here, but 2 were read");
    says(&good.replace("leave", &"x".repeat(2 << 20)), "over 1048576 bytes");
    // Cut short: between lines, and within one.
    let last = good.rfind("{\"end\"").expect("there");
    says(&good[..last], "after 2 records");
    says(&good[..last - 5], "line 3");
}

#[test]
fn a_packed_trace_that_was_cut_says_so() {
    let records: Vec<_> = (0..20_000).map(|at| record(at * 7919 % 1000 + at * 1000, "search")).collect();
    for packing in [Packing::Gzip, Packing::Zstd] {
        let mut packer = Packer::new(Vec::new(), packing).expect("memory");
        std::io::Write::write_all(&mut packer, written(&records).as_bytes()).expect("memory");
        let packed = packer.finish().expect("memory");
        assert_eq!(read(&packed).map(|records| records.len()), Ok(20_000));
        let said = read(&packed[..packed.len() * 2 / 3]).expect_err("cut");
        assert!(said.contains("cut short"), "{said}");
    }
}

#[test]
fn a_writer_refuses_what_a_reader_would() {
    let header = Header::new("test", "made up", Names::Generated);
    let mut writer = Writer::new(Vec::new(), &header).expect("memory");
    writer.write(&record(5, "login")).expect("sound");
    assert!(writer.write(&record(4, "search")).is_err());
    assert!(writer.write(&record(5, "")).is_err());
    assert_eq!(writer.records(), 1);
}

#[test]
fn keys_that_a_later_version_may_add_are_passed_over() {
    let text = written(&[record(0, "login")]).replace("\"a\":\"login\"", "\"a\":\"login\",\"later\":[1]");
    assert_eq!(read(text.as_bytes()), Ok(vec![record(0, "login")]));
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        steps in prop::collection::vec((0_u64..1_000_000, "[a-z]{1,9}", "\\PC{0,20}", any::<Option<u32>>(), 0_u8..3), 0..40)
    ) {
        let mut offset = 0;
        let records: Vec<Record<'static>> = steps.into_iter().map(|(pause, action, object, size, class)| {
            offset += pause;
            let outcome = if class == 2 { RecordOutcome::Failed } else { RecordOutcome::Ok };
            let size = size.map(u64::from);
            Record {
                action: action.into(), object: object.into(), sent: size, duration: size, class, outcome,
                ..record(offset, "")
            }
        }).collect();
        prop_assert_eq!(read(written(&records).as_bytes()), Ok(records));
    }

    #[test]
    fn nothing_panics_a_reader(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0_usize..200) {
        let _ = read(&bytes);
        let mut text = written(&[record(5, "login"), record(9, "leave")]).into_bytes();
        let at = at % text.len();
        text.splice(at..at, bytes);
        let _ = read(&text);
    }
}

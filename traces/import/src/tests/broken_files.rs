//! Files that are cut, or cannot be unpacked, among others and alone.

use super::*;

/// Commands of 200 sessions with incompressible names: some 60 kB, all within the part from which the format is
/// detected.
fn log() -> String {
    let one = |n: u64| {
        let session = format!("{:016x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        event(&format!("{}.{:03}", 10 + n / 100, n % 100), 3, &session, "FETCH", &format!("{n} RFC822"))
    };
    (0..200).map(one).collect()
}

fn cut_at(bytes: &[u8], packing: Packing, share: f64) -> Vec<u8> {
    let packed = packed(bytes, packing);
    packed[..(packed.len() as f64 * share) as usize].to_vec()
}

#[test]
fn a_packed_file_that_breaks_off_early_gives_what_stands_before_alone_or_not() {
    assert!(log().len() < 64 << 10);
    let broken = cut_at(log().as_bytes(), Packing::Gzip, 0.6);
    let sound = event("50.000", 3, "S1", "LIST", "\"\" \"*\"");
    for others in [vec![], vec![("mail.log", sound.clone().into_bytes())]] {
        let files = [vec![("mail.log.1.gz", broken.clone())], others.clone()].concat();
        let (_, tally) = import_all(&files, &options()).expect("what stands before the break");
        let file = &tally.files[0];
        assert!((50..200).contains(&file.units) && file.understood == file.units, "{file:?}");
        let cut = file.cut.as_deref().expect("it was cut");
        assert!(cut.starts_with(&format!("line {} ", file.units + 1)), "{cut}");
        assert_eq!(tally.sessions, file.units + others.len() as u64);
    }
}

#[test]
fn a_file_that_cannot_be_unpacked_does_not_stop_the_others() {
    let sound = event("50.000", 3, "S1", "LIST", "\"\" \"*\"");
    let one_line = event("10.000", 3, "S2", "LIST", "");
    let no_gzip = b"\x1f\x8bthis is no gzip".to_vec();
    let no_zstd = b"\x28\xb5\x2f\xfdthis is no zstd".to_vec();
    let within_its_first_line = cut_at(one_line.as_bytes(), Packing::Zstd, 0.8);
    for broken in [no_gzip, no_zstd, within_its_first_line, b"\x1f\x8b".to_vec()] {
        for files in [
            [("old.log", broken.clone()), ("mail.log", sound.clone().into_bytes())],
            [("mail.log", sound.clone().into_bytes()), ("old.log", broken.clone())],
        ] {
            let (shown, tally) = shown(&files, &options());
            assert_eq!(shown, ["0 joe login?", "0 joe list folders"]);
            let file = tally.files.iter().find(|file| file.name == "old.log").expect("an account");
            let skipped = file.skipped.as_deref().expect("passed over");
            assert!(skipped.starts_with("it breaks off before anything of it can be read: "), "{skipped}");
        }
        // Alone it is an error that names the file.
        let error = import_all(&[("old.log", broken)], &options()).expect_err("nothing");
        assert!(matches!(&error, ImportError::Open { name, .. } if name == "old.log"), "{error}");
    }
    // With no other files, the error names the problem of each.
    let files = [("a.gz", b"\x1f\x8b".to_vec()), ("b.gz", b"\x1f\x8b".to_vec())];
    let error = import_all(&files, &options()).expect_err("nothing").to_string();
    assert!(error.contains("a.gz: it breaks off before") && error.contains("b.gz: it breaks off before"), "{error}");
}

#[test]
fn a_session_whose_file_breaks_off_keeps_its_commands() {
    // One side of a rawlog is cut: its commands are kept, and the other side is read to its end.
    let asked: String =
        (0..400).map(|n| format!("1795225172.{n:06} A{n} FETCH {} (RFC822)\n", n * 7919 % 1000)).collect();
    let answered: String = (0..400).map(|n| format!("1795225173.{n:06} A{n} OK fetched\n")).collect();
    let whole = |text: &str| text.as_bytes().to_vec();
    let cut = |text: &str| cut_at(text.as_bytes(), Packing::Gzip, 0.5);
    let shown_of = |client: Vec<u8>, server: Vec<u8>| {
        let files = [("joe/1.in", client), ("joe/1.out", server)];
        let (text, tally) = import_all(&files, &options()).expect("a trace");
        let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
        let (shown, answered) = (count("show message"), count("show message") - count("unanswered"));
        (shown, answered, tally.files[0].cut.is_some())
    };
    assert_eq!(shown_of(whole(&asked), whole(&answered)), (400, 400, false));
    let (shown, answers, is_cut) = shown_of(whole(&asked), cut(&answered));
    assert!(shown == 400 && (50..350).contains(&answers) && is_cut, "{shown} {answers}");
    let (shown, answers, is_cut) = shown_of(cut(&asked), whole(&answered));
    assert!((50..350).contains(&shown) && answers == shown && is_cut, "{shown} {answers}");

    // Sessions that only one file has, and sessions in several.
    let marked: String = (0..400).map(|n| format!("<1795225172<A{n} FETCH {} BODY[]\n", n * 7919 % 1000)).collect();
    let page = |n: u32| {
        let say = |text: &str| format!("[21-Nov-2026 01:39:32 +0000]: <{n:x}> [{n:04X}] {text}\n");
        say("C: A0001 LOGIN ****** [13]") + &say("S: A0001 OK in") + &say("C: A0002 UID FETCH 4 (BODY.PEEK[1])")
    };
    let pages: String = (0..400).map(page).collect();
    for (name, text) in [("log/joe/1", marked), ("imap.log", pages)] {
        let (text, tally) = import_all(&[(name, cut(&text))], &options()).expect("a trace");
        let shown = text.lines().filter(|line| line.contains("show message")).count();
        assert!((50..350).contains(&shown) && tally.files[0].cut.is_some(), "{name}: {shown} {:?}", tally.files[0]);
    }
}

#[test]
fn a_capture_that_cannot_be_read_on_says_so() {
    // The file is cut between two packets: only the reader's error shows that there was more.
    let bytes = super::captures::pcap(&super::captures::SESSION, 4711);
    let failing = read::Broken(Some(io::Error::other("the disk is gone")));
    let open = || Ok(Box::new(io::Cursor::new(bytes).chain(failing)) as Box<dyn Read + Send>);
    let input = Input { name: "a.pcap".into(), open: Box::new(open) };
    let header = Header::new("test", "made up", Names::Source);
    let (_, tally) = import(vec![input], &options(), header, Vec::new()).expect("a trace");
    let file = &tally.files[0];
    assert_eq!((file.units, tally.actions), (17, 3));
    assert_eq!(file.cut.as_deref(), Some("after packet 17: the disk is gone"));
}

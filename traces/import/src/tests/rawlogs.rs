//! Rawlogs of many sessions: the pairing of files, and the number of open ones.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::*;

/// The number of open files, and its maximum.
#[derive(Default)]
struct Descriptors {
    open: AtomicUsize,
    most: AtomicUsize,
}

/// A file that is counted while it is open.
struct Counted(io::Cursor<Vec<u8>>, Arc<Descriptors>);

impl Counted {
    fn open(bytes: Vec<u8>, descriptors: Arc<Descriptors>) -> Self {
        let open = descriptors.open.fetch_add(1, Ordering::Relaxed) + 1;
        descriptors.most.fetch_max(open, Ordering::Relaxed);
        Self(io::Cursor::new(bytes), descriptors)
    }
}

impl Read for Counted {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.read(room)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The client's and the server's side of a session.
fn sides(number: u32) -> [(String, String); 2] {
    let name = format!("raw/joe/20261121-013932-{number}");
    let asked = format!("1795225172.{number:06} A1 LIST \"\" *\n1795225173.{number:06} A2 FETCH 4 (RFC822)\n");
    let answered = format!("1795225172.{number:06} A1 OK done\n1795225173.{number:06} A2 OK done\n");
    [(format!("{name}.in"), asked), (format!("{name}.out"), answered)]
}

fn import_counted(files: Vec<(String, Vec<u8>)>) -> (String, Tally, usize) {
    let descriptors = Arc::new(Descriptors::default());
    let input = |(name, bytes): (String, Vec<u8>)| {
        let counts = Arc::clone(&descriptors);
        let open = move || Ok(Box::new(Counted::open(bytes, counts)) as Box<dyn Read + Send>);
        Input { name, open: Box::new(open) }
    };
    let inputs = files.into_iter().map(input).collect();
    let header = Header::new("test", "made up", Names::Source);
    let (text, tally) = import(inputs, &options(), header, Vec::new()).expect("a trace");
    assert_eq!(descriptors.open.load(Ordering::Relaxed), 0);
    (String::from_utf8(text).expect("text"), tally, descriptors.most.load(Ordering::Relaxed))
}

#[test]
fn two_files_at_most_are_open_whatever_their_order_and_number() {
    let bytes = |(name, text): (String, String)| (name, text.into_bytes());
    let (asked, answered): (Vec<_>, Vec<_>) =
        (0..300).map(|number| sides(number).map(bytes)).map(|[asked, answered]| (asked, answered)).unzip();
    // In the order of a folder; all clients before all servers; in reverse order; one side alone.
    let pairs: Vec<_> = asked.iter().cloned().zip(answered.iter().cloned()).flat_map(|(a, b)| [a, b]).collect();
    let apart = [asked.clone(), answered.clone()].concat();
    let reversed: Vec<_> = apart.iter().rev().cloned().collect();
    let (expected, ..) = import_counted(pairs.clone());
    let records =
        |text: &str| text.lines().filter(|line| line.starts_with("{\"t\"")).map(str::to_owned).collect::<Vec<_>>();
    for files in [pairs, apart, reversed] {
        let (text, tally, most) = import_counted(files);
        assert_eq!((most, tally.sessions, tally.actions), (2, 300, 900));
        let mut records = [records(&text), records(&expected)];
        records.iter_mut().for_each(|records| records.sort());
        assert_eq!(records[0], records[1]);
        assert!(!text.contains("unanswered"));
    }
    let (_, tally, most) = import_counted(asked);
    assert_eq!((most, tally.sessions), (1, 300));
}

#[test]
fn a_side_that_is_there_twice_or_is_no_rawlog_is_read_by_itself() {
    let [(client, asked), (server, answered)] = sides(7);
    let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    let again = packed(asked.as_bytes(), Packing::Gzip);
    let files = vec![file(&client, &asked), (format!("{client}.gz"), again), file(&server, &answered)];
    let (text, tally, _) = import_counted(files);
    assert_eq!((tally.sessions, tally.actions, tally.doubled, tally.files.len()), (1, 3, 2, 2));
    assert!(!text.contains("unanswered"), "{text}");
    // A file whose name ends like a rawlog's, with another format.
    let events = event("40.000", 3, "S1", "LIST", "\"\" \"*\"");
    let files = [file(&client, &asked), file(&server, &events)];
    for files in [files.to_vec(), files.iter().rev().cloned().collect()] {
        let (text, tally, _) = import_counted(files);
        assert_eq!((tally.sessions, tally.actions), (2, 5), "{text}");
    }
    let (_, tally, _) = import_counted(vec![file(&client, &asked), file(&server, "")]);
    assert_eq!((tally.sessions, tally.files[0].skipped.as_deref()), (1, Some("it is empty")));
}

//! Writes a trace as an access log of Arashi, so that an import of any size can be measured:
//!
//! ```sh
//! cargo run --release -p trace-import --example access_log -- trace.jsonl.zst | zstd > access.log.zst
//! ```

use std::{
    error::Error,
    fs::File,
    io::{self, BufWriter, Write},
};

use jiff::{SignedDuration, Timestamp};
use traces::trace::{LEAVE, Reader, split_object};

/// The start of the log: in seconds since 1970, 21 November 2026.
const BEGAN: i64 = 1_795_219_200;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).ok_or("name a trace")?;
    let mut trace = Reader::open(File::open(name)?)?;
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let (mut second, mut stamp) = (u64::MAX, String::new());
    while let Some(record) = trace.next_record()? {
        if record.action == LEAVE {
            continue;
        }
        if record.offset / 1_000_000 != second {
            second = record.offset / 1_000_000;
            let time = Timestamp::from_second(BEGAN)?.checked_add(SignedDuration::from_secs(i64::try_from(second)?))?;
            stamp = time.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string();
        }
        let (_, message) = split_object(&record.object);
        let request = match &*record.action {
            "login" => "POST /login".to_owned(),
            "list folders" => "GET /folderlist".to_owned(),
            "list messages" => "GET /list?folderid=1".to_owned(),
            "show message" => format!("GET /show?folderid=1&entry={message}"),
            "search" => "GET /search?folderid=1&q=x".to_owned(),
            action => format!("POST /{action}"),
        };
        let lasted = record.duration.unwrap_or(0) as f64 / 1e6;
        writeln!(out, "192.0.2.1 - {} [{stamp}] \"{request} HTTP/1.1\" 200 2000 {lasted:.6}", record.user)?;
    }
    out.flush()?;
    Ok(())
}

//! What the fuzz targets share. Run one with `cargo +nightly fuzz run mail_log` in the folder `traces`.

use std::io::{Cursor, Read};

use traces::{
    import::{Input, Options},
    pseudonym::Pseudonyms,
    trace::{Header, Names, Reader},
};

/// Imports a file of these bytes. Nothing may panic, and what comes of it must be a trace.
pub fn import(name: &str, beginning: &[u8], bytes: &[u8]) {
    let options = Options { part: 5, ..Options::new(Pseudonyms::none(), 2026) };
    let file = [beginning, bytes].concat();
    let open = move || Ok(Box::new(Cursor::new(file)) as Box<dyn Read + Send>);
    let input = Input { name: name.to_owned(), open: Box::new(open) };
    let header = Header::new("fuzz", "fuzz", Names::Source);
    if let Ok((trace, _)) = traces::import(vec![input], &options, header, Vec::new()) {
        let mut reader = Reader::new(&trace[..]).expect("an import writes a trace");
        while reader.next_record().expect("an import writes sound records").is_some() {}
    }
}

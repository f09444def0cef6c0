//! Functions that the fuzz targets share. Run one with `cargo +nightly fuzz run mail_log` in the folder `traces/import`.

use std::{
    io::{Cursor, Read},
    sync::LazyLock,
};

use trace_import::{Input, Options};
use traces::{
    pseudonym::Pseudonyms,
    trace::{Header, Names, Reader},
};

/// A few entries at a time are sorted in memory, so that the rest goes through files: set TMPDIR to a file system in
/// memory. Made once, since patterns are compiled for it.
static OPTIONS: LazyLock<Options> = LazyLock::new(|| Options { part: 50, ..Options::new(Pseudonyms::none(), 2026) });

/// Imports a file of these bytes. Nothing may panic, and the result must be a trace.
pub fn import(name: &str, beginning: &[u8], bytes: &[u8]) {
    import_all([(name, [beginning, bytes].concat())]);
}

/// The same with several files.
pub fn import_all<const N: usize>(files: [(&str, Vec<u8>); N]) {
    let inputs = files.map(|(name, bytes)| {
        let open = move || Ok(Box::new(Cursor::new(bytes)) as Box<dyn Read + Send>);
        Input { name: name.to_owned(), open: Box::new(open) }
    });
    let header = Header::new("fuzz", "fuzz", Names::Source);
    if let Ok((trace, _)) = trace_import::import(inputs.into(), &OPTIONS, header, Vec::new()) {
        let mut reader = Reader::new(&trace[..]).expect("an import writes a trace");
        while reader.next_record().expect("an import writes sound records").is_some() {}
    }
}

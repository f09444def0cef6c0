//! The trace format itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use traces::trace::Reader;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut reader) = Reader::open(bytes) {
        while let Ok(Some(_)) = reader.next_record() {}
    }
});

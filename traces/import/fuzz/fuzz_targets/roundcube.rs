//! Roundcube's imap log.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| traces_fuzz::import(
    "imap.log",
    b"[21-Nov-2026 01:39:32 +0000]: <abc> [12] C: A1 NOOP\n",
    bytes
));

//! Access logs, through the rules.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| traces_fuzz::import(
    "access.log",
    b"::1 - - [21/Nov/2026:01:39:32 +0000] \"GET /list HTTP/1.1\" 200 5\n",
    bytes
));

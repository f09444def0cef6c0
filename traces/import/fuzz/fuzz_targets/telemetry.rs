//! Cyrus telemetry.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| traces_fuzz::import("log/joe/1", b"<1795225172<A1 NOOP\n", bytes));

//! HAR files.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| traces_fuzz::import("a.har", b"{\"log\":{\"creator\":{},", bytes));

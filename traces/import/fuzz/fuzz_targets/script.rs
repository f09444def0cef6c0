//! Timing scripts of h2load.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| traces_fuzz::import("script", b"0.0\t/list\n", bytes));

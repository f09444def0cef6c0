//! One side of a rawlog: lines of IMAP with times, and literals.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| traces_fuzz::import("joe/1.in", b"1795225172.100000 A1 NOOP\n", bytes));

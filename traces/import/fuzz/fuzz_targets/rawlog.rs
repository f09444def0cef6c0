//! Rawlogs: the client's side, a NUL byte, and the server's side. Lines of IMAP with times, and literals.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let at = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let (came, went) = bytes.split_at(at);
    let stamp = b"1795225172.100000 A1 NOOP\n";
    let files =
        [("joe/1.in", [stamp, came].concat()), ("joe/1.out", [stamp, went.get(1..).unwrap_or_default()].concat())];
    traces_fuzz::import_all(files);
});

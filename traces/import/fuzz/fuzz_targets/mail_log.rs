//! Dovecot events, login and logout lines of Dovecot and Courier.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| traces_fuzz::import(
    "events.jsonl",
    b"Nov 21 01:39:32 mail dovecot: imap-login: Login: user=<joe>, session=<S1>\n",
    bytes
));

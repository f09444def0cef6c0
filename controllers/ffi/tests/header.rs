//! The header is that of the code.

#![expect(clippy::disallowed_methods, reason = "a test reads the header that is there")]

use std::{env, fs, path::Path};

#[test]
fn the_header_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("its settings");
    let bindings = cbindgen::Builder::new().with_config(config).with_src(folder.join("src/lib.rs")).generate();
    let mut header = Vec::new();
    bindings.expect("it is C").write(&mut header);
    let (file, header) = (folder.join("include/admission.h"), String::from_utf8(header).expect("text"));
    if env::var_os("INSTA_UPDATE").is_some_and(|how| how == "always") {
        fs::create_dir_all(folder.join("include")).expect("a folder");
        fs::write(&file, &header).expect("written");
    }
    let there = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(there, header, "renew it with INSTA_UPDATE=always cargo test -p admission-ffi");
}

//! The library from Python, and from C with the header.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The library, which cargo builds beside the tests.
fn library() -> PathBuf {
    std::env::current_exe().expect("this program").with_file_name("libadmission_ffi.so")
}

#[test]
fn python_and_c_use_it() {
    let (library, folder) = (library(), Path::new(env!("CARGO_MANIFEST_DIR")));
    let ran = Command::new("python3").arg(folder.join("tests/python.py")).arg(&library).output().expect("python3 runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let program = library.with_file_name("host");
    let built = Command::new("cc")
        .args(["-Wall", "-Werror", "-I"])
        .arg(folder.join("include"))
        .arg(folder.join("tests/host.c"))
        .arg(&library)
        .arg("-o")
        .arg(&program)
        .status();
    assert!(built.expect("cc runs").success());
    let library_path = library.parent().expect("a folder");
    let ran = Command::new(&program).env("LD_LIBRARY_PATH", library_path).status().expect("it runs");
    assert!(ran.success(), "{ran}");
    // Where it is installed: no byte is lost, and none is read that is not there.
    let checks = ["-q", "--leak-check=full", "--error-exitcode=9"];
    let checked = Command::new("valgrind").args(checks).arg(&program).env("LD_LIBRARY_PATH", library_path).output();
    if let Ok(checked) = checked {
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}

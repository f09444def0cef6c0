//! What the program says, command by command: `cases/*.trycmd`. A case has the files of its folder `.in`, and a copy of them where
//! it has a folder `.out`; a backslash of what is printed stands there as `/`.
//! `TRYCMD=overwrite cargo test --workspace --test integration cases::` writes anew what differs; its runs are in virtual time.

use std::{
    fs,
    path::{Path, PathBuf},
};

use trycmd::TestCases;

use crate::program;

/// Other programs of the cases.
const TOOLS: [&str; 13] =
    ["cat", "cmp", "cp", "diff", "grep", "gzip", "head", "ln", "ls", "mkdir", "rm", "sed", "truncate"];

#[test]
fn the_program_says_what_its_cases_say() {
    let cases = TestCases::new();
    cases.env("LC_ALL", "C").register_bin("lab", PathBuf::from(program::path()));
    for tool in TOOLS {
        let places = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool));
        cases.register_bin(tool, places.into_iter().find(|place| place.is_file()).expect("it is installed"));
    }
    cases.insert_var("[VERSION]", env!("CARGO_PKG_VERSION")).expect("a name in brackets");
    cases.case("tests/integration/cases/*.trycmd");
}

/// A command of another name is passed over without a word.
#[test]
fn every_command_of_the_cases_is_run() {
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/cases")).expect("a folder");
    let files = files.map(|file| file.expect("readable").path());
    for file in files.filter(|path| path.extension().is_some_and(|ext| ext == "trycmd")) {
        let text = fs::read_to_string(&file).expect("text");
        let mut commands = text.lines().filter_map(|line| line.strip_prefix("$ ")?.split(' ').next()).peekable();
        assert!(commands.peek().is_some(), "{}: no command", file.display());
        let unknown: Vec<&str> = commands.filter(|command| *command != "lab" && !TOOLS.contains(command)).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", file.display());
    }
}

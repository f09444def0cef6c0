//! The folder of a run as bytes.

use std::{fs, io::Write as _, path::Path};

use analysis::{digests, run_file, sha256};

use super::item::ItemAnswer;
use crate::{exit::Failure, run::RunFailure};

/// Files that say where and when a run was made: of two machines they differ.
const OF_THE_MACHINE: [&str; 2] = ["manifest.json", digests::NAME];

/// A folder, and what every machine must come to: the digests of the other files.
pub fn packed(folder: &Path) -> Result<(Vec<u8>, Vec<u8>), RunFailure> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(folder).map_err(RunFailure::at(folder))? {
        names.push(entry.map_err(RunFailure::at(folder))?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let (mut index, mut bytes, mut same) = (Vec::new(), Vec::new(), Vec::new());
    for name in names {
        let file = run_file::read(&folder.join(&name))?;
        if !OF_THE_MACHINE.contains(&&*name) {
            same.extend(format!("{name} {}\n", sha256::of(&file)).bytes());
        }
        index.push((name, file.len()));
        bytes.extend(file);
    }
    let mut packed = serde_json::to_vec(&ItemAnswer::Folder(index))?;
    packed.push(b'\n');
    packed.extend(bytes);
    Ok((packed, same))
}

/// Writes files behind their index into a new folder, which is there whole or not at all.
pub fn unpack(index: &[(String, usize)], mut bytes: &[u8], folder: &Path) -> Result<(), Failure> {
    let broken = || Failure::because(format!("{}: an agent sent something else than a folder", folder.display()));
    let parent = folder.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(Failure::at(parent))?;
    let scratch = tempfile::Builder::new().prefix(".coming-").tempdir_in(parent).map_err(Failure::at(parent))?;
    for (name, length) in index {
        let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
        if !is_plain || *length > bytes.len() {
            return Err(broken());
        }
        let (file, rest) = bytes.split_at(*length);
        let path = scratch.path().join(name);
        let written = fs::File::create_new(&path).and_then(|mut open| {
            open.write_all(file)?;
            open.sync_all()
        });
        written.map_err(Failure::at(&path))?;
        bytes = rest;
    }
    if !bytes.is_empty() {
        return Err(broken());
    }
    fs::set_permissions(scratch.path(), fs::metadata(parent).map_err(Failure::at(parent))?.permissions())
        .map_err(Failure::at(folder))?;
    fs::rename(scratch.keep(), folder).map_err(Failure::at(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_the_same_after_the_journey_and_nothing_is_written_beside_it() {
        let scratch = tempfile::tempdir().expect("a folder");
        let [from, to] = ["from", "to"].map(|name| scratch.path().join(name));
        fs::create_dir(&from).expect("made");
        for (name, text) in [("manifest.json", "{}"), ("none-1.record.json", "[1]\n\n"), ("timeline.jsonl", "")] {
            fs::write(from.join(name), text).expect("written");
        }
        let (bytes, same) = packed(&from).expect("packed");
        let same = String::from_utf8(same).expect("text");
        assert!(same.starts_with("none-1.record.json ") && same.lines().count() == 2, "{same}");
        let end = bytes.iter().position(|byte| *byte == b'\n').expect("a line");
        let ItemAnswer::Folder(index) = serde_json::from_slice(&bytes[..end]).expect("an index") else { panic!() };
        unpack(&index, &bytes[end + 1..], &to).expect("unpacked");
        assert_eq!(packed(&to).expect("packed"), (bytes, same.into_bytes()));
        for index in [vec![("../out".to_owned(), 1)], vec![("a".to_owned(), 2)], vec![(".b".to_owned(), 1)], vec![]] {
            assert!(unpack(&index, b"x", &scratch.path().join("other")).is_err());
        }
        let mut left: Vec<_> = fs::read_dir(scratch.path()).expect("read").flatten().map(|e| e.file_name()).collect();
        left.sort();
        assert_eq!(left, ["from", "to"]);
    }
}

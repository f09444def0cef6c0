//! Small files beside a trace, which people write: keys, rules, models.

use std::{fs::File, io::Read as _, path::Path};

use traces::pseudonym::{Key, Pseudonyms};

use crate::exit::Failure;

/// Pseudonyms under the key of a file, or under a new one that nobody will know.
pub(super) fn pseudonyms(key: Option<&Path>) -> Result<Pseudonyms, Failure> {
    let Some(path) = key else {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| Failure::because(format!("no random key: {error}")))?;
        return Ok(Pseudonyms::keyed(Key::new(bytes)));
    };
    let text = small_file(path)?;
    let key = Key::from_hex(&text).map_err(|problem| Failure::usage(format!("{}: {problem}", path.display())))?;
    Ok(Pseudonyms::keyed(key))
}

/// The text of a file that people write.
pub(super) fn small_file(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let limit = experiment::raw::MAX_BYTES;
    let file = File::open(path).and_then(|file| file.take(limit + 1).read_to_string(&mut text));
    match file {
        Err(error) => Err(Failure::usage(format!("{}: {error}", path.display()))),
        Ok(_) if text.len() as u64 > limit => {
            Err(Failure::usage(format!("{}: over {limit} bytes; is the path right?", path.display())))
        }
        Ok(_) => Ok(text),
    }
}

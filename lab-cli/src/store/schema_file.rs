//! The JSON Schema beside experiment files that the program writes, so that editors check them and complete keys.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use experiment::schema;

/// Writes the schema into the folder of an experiment file, unless it is there already as this program has it. The file's first
/// line is [`schema::modeline`], which names it.
///
/// # Errors
/// The schema cannot be written; the error names its file.
pub fn write_beside(experiment: &Path) -> io::Result<PathBuf> {
    let file = experiment.with_file_name(schema::FILE);
    let text = serde_json::to_string_pretty(&schema::experiment())? + "\n";
    if fs::read_to_string(&file).is_ok_and(|there| there == text) {
        return Ok(file);
    }
    match fs::write(&file, text) {
        Ok(()) => Ok(file),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", file.display()))),
    }
}

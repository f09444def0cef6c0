//! Commands of the program that the screen has carried out, each in a process of its own, as from a shell.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    run::StopSignal,
    screens::{ScreenMessage, Teller},
};

/// Time between two looks at a command that runs.
const LOOK: Duration = Duration::from_millis(250);

/// `lab init`: an experiment file for a service.
pub fn init(service: &str, teller: &Teller, stop: &StopSignal) -> ScreenMessage {
    let letters: String = service.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let words: Vec<&str> = letters.split('-').filter(|word| !word.is_empty() && !word.starts_with("http")).collect();
    let stem: String = words.join("-").chars().take(40).collect();
    let path = free(&format!("{stem}.yaml"));
    match lab(&["init", service, "-o", &path.display().to_string()], teller, stop) {
        Ok(()) => {
            let command = format!("lab run {}", path.display());
            ScreenMessage::Written { path, and_edit: false, command }
        }
        Err(why) => ScreenMessage::Failed(why),
    }
}

/// `lab calibrate`: a plant file beside the experiment's.
pub fn calibrate(file: &Path, teller: &Teller, stop: &StopSignal) -> ScreenMessage {
    let plant = free(&format!("{}-plant.yaml", file.with_extension("").display()));
    match lab(&["calibrate", &file.display().to_string(), "-o", &plant.display().to_string()], teller, stop) {
        Err(why) if !plant.exists() => ScreenMessage::Failed(why),
        // An INVALID one is there too, and says so in every run.
        _ => ScreenMessage::Calibrated { file: file.to_owned(), plant },
    }
}

/// The name, or the next one that no file has.
fn free(name: &str) -> PathBuf {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "yaml"));
    let more = (2..).map(|n| PathBuf::from(format!("{stem}-{n}.{ending}")));
    std::iter::once(PathBuf::from(name)).chain(more).find(|path| !path.exists()).unwrap_or_default()
}

/// Runs it to its end, or until the person leaves; if it fails, the last line of its answer, else of its complaints.
fn lab(words: &[&str], teller: &Teller, stop: &StopSignal) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let command = &mut Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().map_err(|error| error.to_string())?;
    let began = Instant::now();
    while running.try_wait().is_ok_and(|ended| ended.is_none()) {
        let so_far = format!("lab {} {}: {} s so far", words[0], words[1], began.elapsed().as_secs());
        if stop.end().is_some() || !teller.tell(ScreenMessage::Done(so_far)) {
            // One that has just ended.
            let _ = running.kill();
        }
        thread::sleep(LOOK);
    }
    let output = running.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stderr, output.stdout].concat();
    Err(String::from_utf8_lossy(&said).lines().last().unwrap_or("it failed").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_is_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = folder.path().join("shop.yaml").display().to_string();
        assert_eq!(free(&name), PathBuf::from(&name));
        std::fs::write(&name, "").expect("written");
        assert_eq!(free(&name), folder.path().join("shop-2.yaml"));
    }
}

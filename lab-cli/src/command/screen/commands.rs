//! Commands of the program that the screen has carried out, each in a process of its own, as from a shell.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    command::init::name_for,
    run::StopSignal,
    screens::{ScreenMessage, Teller},
};

/// Time between two looks at a command that runs.
const LOOK: Duration = Duration::from_millis(250);

/// `lab init`: an experiment file for a service.
pub fn init(service: &str, teller: &Teller, stop: &StopSignal) -> ScreenMessage {
    let path = free(&format!("{}.yaml", name_for(service)));
    match lab(&["init", service, "-o", &path.display().to_string()], teller, stop) {
        Ok([said, _]) if path.exists() => ScreenMessage::Written { path, and_edit: false, said },
        Ok([_, complaints]) => ScreenMessage::Failed(complaint(&complaints)),
        Err(error) => ScreenMessage::Failed(error.to_string()),
    }
}

/// `lab calibrate`: a plant file beside the experiment's.
pub fn calibrate(file: &Path, teller: &Teller, stop: &StopSignal) -> ScreenMessage {
    let plant = free(&format!("{}-plant.yaml", file.with_extension("").display()));
    match lab(&["calibrate", &file.display().to_string(), "-o", &plant.display().to_string()], teller, stop) {
        // An INVALID one is there too, and says so in every run. What it comes to is the last paragraph.
        Ok([found, _]) if plant.exists() => {
            let said = found.trim().rsplit("\n\n").next().unwrap_or_default().to_owned();
            ScreenMessage::Calibrated { file: file.to_owned(), plant, said }
        }
        Ok([_, complaints]) => ScreenMessage::Failed(complaint(&complaints)),
        Err(error) => ScreenMessage::Failed(error.to_string()),
    }
}

/// The name, or the next one that no file has.
fn free(name: &str) -> PathBuf {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "yaml"));
    let more = (2..).map(|n| PathBuf::from(format!("{stem}-{n}.{ending}")));
    std::iter::once(PathBuf::from(name)).chain(more).find(|path| !path.exists()).unwrap_or_default()
}

/// Runs it to its end, or until the person leaves: its answer, and its complaints.
fn lab(words: &[&str], teller: &Teller, stop: &StopSignal) -> io::Result<[String; 2]> {
    let command = &mut Command::new(std::env::current_exe()?);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn()?;
    let began = Instant::now();
    while running.try_wait().is_ok_and(|ended| ended.is_none()) {
        let so_far = format!("lab {} {}: {} s so far", words[0], words[1], began.elapsed().as_secs());
        if stop.end().is_some() || !teller.tell(ScreenMessage::Done(so_far)) {
            // One that has just ended.
            let _ = running.kill();
        }
        thread::sleep(LOOK);
    }
    let output = running.wait_with_output()?;
    Ok([output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).trim_end().to_owned()))
}

/// The last complaint of a command, whose first line is marked: what went before is its progress.
fn complaint(said: &str) -> String {
    let marked = format!("\n{said}");
    let last = marked.rsplit("\nlab: ").next().unwrap_or_default().trim();
    if last.is_empty() { "it failed".to_owned() } else { last.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_said_whole_with_its_way_out() {
        let said = "lab: 1 of 3: with 1 at once 3.0 requests/s\nlab: nobody answers\n  start it\n";
        assert_eq!(complaint(said), "nobody answers\n  start it");
        assert_eq!(["died\n", ""].map(complaint), ["died", "it failed"]);
    }

    #[test]
    fn a_file_that_is_there_is_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = folder.path().join("shop.yaml").display().to_string();
        assert_eq!(free(&name), PathBuf::from(&name));
        std::fs::write(&name, "").expect("written");
        assert_eq!(free(&name), folder.path().join("shop-2.yaml"));
    }
}

//! `lab run --virtual` as a process: its wall time, and its resident memory at the most.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The paper's users, target and waits, on a service of the paper's speed or of six times that.
fn paper_users(capacity: u32, minutes: u32) -> String {
    format!(
        "name: paper
target: {{app: arashi, mail: {{folders: generated, seed: 7}}, capacity: {capacity}/s}}
objective: {{percentile: 90, response_time: 10s}}
users:
  model: arashi
  think: 20ms
  on_reject: {{wait: 5s, then: login}}
  phases: [{{name: all, users: 1024, for: {minutes}m}}]
arms: [seda: {{scope: per-stage}}]
declares: [closed-overload, kernel-backlog]
"
    )
}

pub fn paper() {
    for capacity in [16, 100] {
        let (wall, _) = lab(&paper_users(capacity, 15), &[]);
        println!("15 min of 1024 paper users, SEDA, {capacity:3}/s          {:.2} s", wall.as_secs_f64());
    }
}

pub fn memory() {
    for minutes in [5, 50] {
        let (wall, peak) = lab(&paper_users(100, minutes), &[]);
        println!(
            "{minutes:2} min of 1024 paper users, SEDA, 100/s          {:.1} MB at the most, {:.2} s",
            peak as f64 / 1024.0,
            wall.as_secs_f64()
        );
    }
}

pub fn repeat() {
    let (wall, peak) = lab(include_str!("../../../experiments/flash-crowd.yaml"), &["--repeat", "100"]);
    println!(
        "flash-crowd --repeat 100 (300 arms), all cores   {:.1} s, {:.1} MB at the most",
        wall.as_secs_f64(),
        peak as f64 / 1024.0
    );
}

/// Wall time, and peak of resident memory in kB.
fn lab(experiment: &str, more: &[&str]) -> (Duration, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("experiment.yaml");
    fs::write(&file, experiment).expect("written");
    let began = Instant::now();
    let child = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(["run", "experiment.yaml", "--virtual", "--no-tui", "--out", "out"])
        .args(more)
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("lab starts");
    let peak = watch(child);
    (began.elapsed(), peak)
}

fn watch(mut child: Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        peak = peak.max(high_water(Path::new(&status)));
        if let Some(end) = child.try_wait().expect("a child") {
            // 4: a threshold failed, which is no matter here.
            assert!(matches!(end.code(), Some(0 | 4)), "lab ended with {end}");
            return peak;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// `VmHWM`; 0 once the process is gone.
fn high_water(status: &Path) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

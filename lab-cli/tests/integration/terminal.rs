//! A real terminal to drive the program in: a tmux server of its own, which leaves nothing behind.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Output},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// A tmux server of its own, ended when dropped with everything that was started in it.
pub struct Tmux {
    socket: String,
}

impl Tmux {
    /// `None`, with a word, where tmux is not installed.
    pub fn start(width: u16, height: u16) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            assert!(std::env::var_os("LAB_REQUIRE_TOOLS").is_none(), "tmux is missing");
            eprintln!("skipped: tmux is not installed");
            return None;
        }
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let tmux = Self { socket: format!("lab-live-view-{}-{number}", std::process::id()) };
        let (width, height) = (width.to_string(), height.to_string());
        let started = tmux.run(&["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height, "sh"]);
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        Some(tmux)
    }

    /// As if its window were closed.
    pub fn close(&self) {
        assert!(self.run(&["kill-server"]).status.success());
    }

    pub fn type_in(&self, text: &str) {
        assert!(self.run(&["send-keys", text]).status.success());
    }

    /// A line, or what is asked for, with the key that ends it.
    pub fn enter(&self, text: &str) {
        self.type_in(text);
        self.type_in("Enter");
    }

    /// `lab` in a folder, with these arguments; its exit code comes after it.
    pub fn lab(&self, folder: &Path, arguments: &str) {
        let (folder, lab) = (folder.display(), crate::program::path());
        self.enter(&format!("cd {folder} && {lab} {arguments}; echo code=$?"));
    }

    /// Keys one after the other, and what the screen shows then.
    pub fn dialog(&self, steps: &[(&str, &[&str])]) {
        for (keys, wanted) in steps {
            keys.split(' ').for_each(|key| self.type_in(key));
            self.wait_for(wanted);
        }
    }

    pub fn erase(&self, characters: usize) {
        (0..characters).for_each(|_| self.type_in("BSpace"));
    }

    /// As a person pastes: in brackets, where the program asked for them.
    pub fn paste(&self, text: &str) {
        assert!(self.run(&["set-buffer", text]).status.success());
        assert!(self.run(&["paste-buffer", "-p"]).status.success());
    }

    /// Whether its cursor can be seen.
    pub fn shows_its_cursor(&self) -> bool {
        self.asked("#{cursor_flag}") == "1"
    }

    /// Whether the program has a screen of its own, over that of the shell.
    pub fn is_on_the_other_screen(&self) -> bool {
        self.asked("#{alternate_on}") == "1"
    }

    fn asked(&self, format: &str) -> String {
        let shown = self.run(&["display-message", "-p", format]);
        String::from_utf8_lossy(&shown.stdout).trim().to_owned()
    }

    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.run(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Waits until the screen shows all of these.
    pub fn wait_for(&self, wanted: &[&str]) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if wanted.iter().all(|text| screen.contains(text)) {
                return screen;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no {wanted:?} on the screen:\n{screen}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until the screen does not show this any more.
    pub fn wait_until_gone(&self, unwanted: &str) {
        let begun = Instant::now();
        while self.screen().contains(unwanted) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{unwanted:?} stays on the screen:\n{}", self.screen());
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new("tmux").arg("-L").arg(&self.socket).args(args).output().expect("tmux runs")
    }

    /// The shell in it and all that came of it, while it still is there.
    fn processes(&self) -> BTreeSet<i32> {
        let shells = self.run(&["list-panes", "-a", "-F", "#{pane_pid}"]);
        let mut found: BTreeSet<i32> =
            String::from_utf8_lossy(&shells.stdout).lines().filter_map(|line| line.trim().parse().ok()).collect();
        let parents = parents();
        loop {
            let more: Vec<i32> = parents
                .iter()
                .filter(|(child, parent)| found.contains(parent) && !found.contains(child))
                .map(|(child, _)| *child)
                .collect();
            if more.is_empty() {
                return found;
            }
            found.extend(more);
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let processes = self.processes();
        let _ = self.run(&["kill-server"]);
        // Losing the terminal ends them in order: the program saves, and its targets go with it.
        let begun = Instant::now();
        while processes.iter().any(|&pid| is_there(pid)) && begun.elapsed() < Duration::from_secs(3) {
            thread::sleep(Duration::from_millis(20));
        }
        // What is stuck must not stay, least of all after a test that failed.
        for &pid in processes.iter().filter(|&&pid| is_there(pid)) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

/// It runs, or waits; what has ended and is not reaped yet does neither.
fn is_there(pid: i32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != "Z")
}

/// Each process with its parent.
fn parents() -> Vec<(i32, i32)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: i32| Some((pid, stat(pid)?.1))).collect()
}

/// State and parent. The name before them, in brackets, may hold anything.
fn stat(pid: i32) -> Option<(String, i32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut rest = text.rsplit_once(')')?.1.split_whitespace();
    Some((rest.next()?.to_owned(), rest.next()?.parse().ok()?))
}

//! Every way out gives the terminal back as it was: the shell's screen, its cursor, its lines.

use std::{
    env, fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    path::Path,
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use screens::{Palette, Screen};

use crate::{live_view::EXPERIMENT, program, terminal::Tmux};

/// The program in a shell of its own, on the screen `shown`; returns its process. `command`: what comes after `lab`.
fn start(tmux: &Tmux, folder: &Path, command: &str, shown: &str) -> Pid {
    let lab = program::path();
    // The process's number is known before the program is: the shell becomes it.
    tmux.enter(&format!("cd {}; sh -c 'echo $$ > pid; exec {lab} {command}'; echo code=$?", folder.display()));
    tmux.wait_for(&[shown]);
    assert!(taken(tmux), "the program has not taken the terminal");
    let pid = fs::read_to_string(folder.join("pid")).expect("written");
    Pid::from_raw(pid.trim().parse().expect("a number"))
}

/// Whether the program has the terminal. The end of a frame hides the cursor, so a frame that is half drawn shows text first.
fn taken(tmux: &Tmux) -> bool {
    soon(|| !tmux.shows_its_cursor() && tmux.is_on_the_other_screen())
}

/// Whether `condition` holds within five seconds.
fn soon(condition: impl Fn() -> bool) -> bool {
    (0..50).any(|_| {
        let holds = condition();
        if !holds {
            thread::sleep(Duration::from_millis(100));
        }
        holds
    })
}

/// The shell's own screen and cursor, and lines that are edited and shown as they are typed.
fn assert_given_back(tmux: &Tmux, how: &str) {
    assert!(soon(|| !tmux.is_on_the_other_screen()), "{how}: still on the other screen");
    assert!(soon(|| tmux.shows_its_cursor()), "{how}: the cursor is hidden");
    tmux.enter("stty -a | tr -d ';' | tr ' ' '\\n' | grep -x -e icanon -e echo | paste -sd+");
    tmux.wait_for(&["icanon+echo"]);
}

#[test]
fn signals_give_the_terminal_back_from_a_list() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 143), (Signal::SIGINT, 130)] {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let Some(tmux) = Tmux::start(100, 30) else { return };
        let lab = start(&tmux, scratch.path(), "", "which setting keeps");
        kill(lab, signal).expect("it is there");
        tmux.wait_for(&[&format!("code={code}")]);
        assert_given_back(&tmux, signal.as_str());
    }
}

#[test]
fn a_signal_gives_the_terminal_back_from_a_run() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    fs::write(scratch.path().join("quick.yaml"), EXPERIMENT).expect("written");
    let Some(tmux) = Tmux::start(100, 30) else { return };
    let lab = start(&tmux, scratch.path(), "run quick.yaml --out result", " 4 users ");
    kill(lab, Signal::SIGTERM).expect("it is there");
    tmux.wait_for(&["code=143"]);
    assert_given_back(&tmux, "SIGTERM");
}

#[test]
fn ctrl_z_lends_the_terminal_to_the_shell_and_fg_takes_it_again() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let Some(tmux) = Tmux::start(100, 30) else { return };
    // A shell that has jobs.
    tmux.enter("exec bash --norc");
    start(&tmux, scratch.path(), "", "which setting keeps");
    tmux.type_in("C-z");
    tmux.wait_for(&["Stopped"]);
    assert_given_back(&tmux, "Ctrl-Z");
    tmux.enter("clear; fg; echo code=$?");
    tmux.wait_for(&["which setting keeps"]);
    // A frame hides it: the next key brings one.
    tmux.type_in("Down");
    assert!(taken(&tmux), "fg does not take the terminal again");
    tmux.type_in("q");
    tmux.wait_for(&["code=0"]);
    assert_given_back(&tmux, "q");
}

/// Answers any request of these connections with 200, until the test ends.
fn service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("bound"));
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            thread::spawn(move || {
                // Requests here are short: one comes whole.
                let mut request = [0; 4096];
                while connection.read(&mut request).is_ok_and(|read| read > 0)
                    && connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_ok()
                {}
            });
        }
    });
    url
}

#[test]
fn a_terminal_that_closes_ends_what_is_measured_and_keeps_it() {
    let url = service();
    let run = ("run quick.yaml --out result".to_owned(), "generator CPU");
    let load = (format!("load {url} -c 2 -d 60s --out result"), "served");
    for (command, shown) in [run, load] {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        fs::write(scratch.path().join("quick.yaml"), EXPERIMENT).expect("written");
        // The outer shell outlives its terminal, to tell the code.
        let lab = program::path();
        let script = format!("trap : HUP\nsh -c 'echo $$ > pid; exec {lab} {command}'\necho $? > code\n");
        fs::write(scratch.path().join("go.sh"), script).expect("written");
        let Some(tmux) = Tmux::start(100, 30) else { return };
        tmux.enter(&format!("cd {}; sh go.sh", scratch.path().display()));
        tmux.wait_for(&[shown]);
        assert!(taken(&tmux), "{command}: the program has not taken the terminal");
        thread::sleep(Duration::from_secs(2));
        let pid = fs::read_to_string(scratch.path().join("pid")).expect("written");
        let pid = Pid::from_raw(pid.trim().parse().expect("a number"));
        tmux.close();
        let code = || fs::read_to_string(scratch.path().join("code")).unwrap_or_default();
        let ended = soon(|| !code().is_empty()) || soon(|| !code().is_empty());
        if !ended {
            kill(pid, Signal::SIGKILL).expect("it is there");
        }
        assert_eq!(code().trim(), "143", "{command}");
        let summary = fs::read_to_string(scratch.path().join("result/summary.json")).expect("saved");
        assert!(summary.contains("\"partial\": true"), "{command}: {summary}");
    }
}

/// Set in the terminal that the test below panics in.
const PANICS: &str = "LAB_TEST_PANICS";

/// The program has no key for a panic: this test runs itself in the terminal.
#[test]
fn a_panic_gives_the_terminal_back_and_its_message_can_be_read() {
    if env::var_os(PANICS).is_some() {
        panic_on_the_screen();
    }
    let Some(tmux) = Tmux::start(100, 30) else { return };
    let this = env::current_exe().expect("a test binary");
    let test = "live_view::leaving::a_panic_gives_the_terminal_back_and_its_message_can_be_read";
    tmux.enter(&format!("{PANICS}=1 RUST_BACKTRACE=0 {} --exact {test} --nocapture; echo code=$?", this.display()));
    tmux.wait_for(&["this is the panic", "code=101"]);
    assert_given_back(&tmux, "a panic");
}

fn panic_on_the_screen() -> ! {
    let (screen, _jobs) = Screen::of_the_program(Palette::Plain, |_| {}).expect("a terminal");
    // Some frames.
    thread::sleep(Duration::from_secs(1));
    // Whatever unwinding would mend: the message is printed before it.
    std::mem::forget(screen);
    panic!("this is the panic");
}

//! A real browser, and what it says and hears.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{
    proxy::proxied::Answer,
    served::{Kept, at_each},
};

/// Chromium without a window, at a page; it ends when this is dropped.
#[derive(Debug)]
pub struct Chromium {
    _child: Kept,
    _profile: tempfile::TempDir,
}

impl Chromium {
    /// `None`: it is not installed, and need not be.
    pub fn at(url: &str) -> Option<Self> {
        let paths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
        let Some(program) = paths.into_iter().find(|path| Path::new(path).is_file()) else {
            assert!(std::env::var_os("LAB_REQUIRE_TOOLS").is_none(), "Chromium is not installed");
            eprintln!("skipped: Chromium is not installed");
            return None;
        };
        let profile = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(program);
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"])
            .args(["--disable-sync", "--disable-component-update", "--remote-debugging-port=0"])
            .args(["--window-size=390,844", &format!("--user-data-dir={}", profile.path().display()), url]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("Chromium starts");
        Some(Self { _child: Kept(child), _profile: profile })
    }
}

/// A request with its answer, on its way through a [`Relay`].
#[derive(Debug, Clone)]
pub struct Heard {
    pub path: String,
    /// The wait that it was told; `None`: it was let in.
    pub wait_s: Option<u64>,
    /// The second that it was promised, since 1970, if it got a new token.
    pub turn_at: Option<u64>,
    /// The second in which it was answered, since 1970.
    pub at: u64,
    pub body: String,
}

/// What stands between a browser and a proxy, and remembers what was said.
#[derive(Debug)]
pub struct Relay {
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Relay {
    pub fn before(proxy: SocketAddr) -> Self {
        let heard = Arc::<Mutex<Vec<Heard>>>::default();
        let of_all = Arc::clone(&heard);
        let address = at_each(move |stream| _ = pass(stream, proxy, &of_all));
        Self { address, heard }
    }

    /// In the order of their answers.
    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().expect("a list").clone()
    }
}

/// One request, on connections that end with it.
fn pass(mut browser: TcpStream, proxy: SocketAddr, heard: &Mutex<Vec<Heard>>) -> Option<()> {
    let mut lines = BufReader::new(browser.try_clone().ok()?).lines();
    let mut head = Vec::new();
    for line in lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()) {
        head.push(line);
    }
    let path = head.first()?.split(' ').nth(1)?.to_owned();
    head.retain(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let answer = Answer::to(proxy, &format!("{}\r\nConnection: close\r\n\r\n", head.join("\r\n")));
    heard.lock().expect("a list").push(Heard {
        path,
        wait_s: answer.header("refresh").or(answer.header("retry-after")).and_then(|wait| wait.parse().ok()),
        turn_at: answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: lab-turn=")).and_then(turn_at),
        at: SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs(),
        body: answer.body.clone(),
    });
    write!(browser, "{}\r\n\r\n{}", answer.head, answer.body).ok()
}

/// The first second of a token: the 23rd to 30th of its bytes.
fn turn_at(token: &str) -> Option<u64> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let number = |letter: u8| LETTERS.iter().position(|known| *known == letter).map(|number| number as u64);
    let bits = token.bytes().take(40).map_while(number).flat_map(|six| (0..6).rev().map(move |bit| six >> bit & 1));
    let second: Vec<u64> = bits.skip(22 * 8).take(64).collect();
    (second.len() == 64).then(|| second.into_iter().fold(0, |whole, bit| whole << 1 | bit))
}

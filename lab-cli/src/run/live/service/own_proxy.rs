//! Somebody else's proxy before a service: started for an arm, kept to the proxy's processor, and ended with the arm.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use experiment::plan::{CommandWords, OwnProxy, OwnService, ProxyPlaces};
use tempfile::TempDir;

use super::{
    free_port,
    guarded_command::GuardedCommand,
    http::{Door, get},
    process_tree,
};
use crate::run::{
    RunFailure,
    error::{of_its_end, of_its_output},
    live::target::last_lines,
};

/// The longest wait for it to let requests through.
const START: Duration = Duration::from_secs(30);
/// The longest wait for one answer.
const LONGEST_ANSWER: Duration = Duration::from_secs(10);
/// A proxy that answers something else for so long does not send requests on.
const OTHERWISE: Duration = Duration::from_secs(3);
/// The pause between two questions whether it is ready.
const PAUSE: Duration = Duration::from_millis(50);
/// The number of lines of its output that a failure quotes.
const LAST_LINES: usize = 12;

/// A running proxy. Dropping this value ends it.
#[derive(Debug)]
pub struct RunningProxy {
    /// The arm's name.
    name: String,
    guarded: Option<GuardedCommand>,
    log: PathBuf,
    /// The address for users.
    pub door: Door,
    /// Its empty folder and its configuration, which may be confidential: they go with it.
    _files: TempDir,
}

impl RunningProxy {
    /// Starts one before a service that takes requests, and waits until requests get through. Its output goes to `proxy-NAME.log` in
    /// `folder`; `cpu`: the processor that it is kept to.
    ///
    /// # Errors
    /// It does not start, ends, or answers something else than the service; the error has the last lines of its output.
    pub fn start(
        name: &str,
        proxy: &OwnProxy,
        service: (&OwnService, &Door),
        cpu: Option<usize>,
        folder: &Path,
    ) -> Result<Self, RunFailure> {
        let log = folder.join(format!("proxy-{name}.log"));
        // Words of another arm's turn are not this one's.
        File::create(&log).map_err(RunFailure::at(&log))?;
        let port = || free_port().map_err(RunFailure::machine("a free port"));
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port()?));
        let files = tempfile::Builder::new().prefix("proxy-").tempdir_in(folder).map_err(RunFailure::at(folder))?;
        let (own, at_service) = service;
        let places = ProxyPlaces {
            listen,
            upstream: at_service.host().to_owned(),
            admin_port: port()?,
            dir: String::new(),
            config: None,
        };
        let words = in_files(proxy, places, files.path()).map_err(RunFailure::at(files.path()))?;
        let program = words.program().to_owned();
        let started = GuardedCommand::start(words.0, cpu, Some(listen.port()), &log).map_err(|cause| {
            let way_out = format!(": is {program} installed, and in the PATH?");
            RunFailure::Service { name: name.to_owned(), cause, way_out }
        })?;
        let door = Door::plain(format!("http://{listen}"), listen);
        let mut running = Self { name: name.to_owned(), guarded: Some(started), log, door, _files: files };
        let path = proxy.ready.as_deref().unwrap_or(&own.ready);
        let of_service = get(at_service, path, &[], LONGEST_ANSWER).ok().map(|got| got.status);
        running.wait_for(path, of_service)?;
        Ok(running)
    }

    /// Waits until the path is answered as the service does, or with a 2xx.
    fn wait_for(&mut self, path: &str, of_service: Option<u16>) -> Result<(), RunFailure> {
        let began = Instant::now();
        let mut last = "nothing listens there".to_owned();
        let mut otherwise = None;
        while began.elapsed() < START {
            if let Some(how) = self.has_ended() {
                let hint = if how.ends_with("status: 0") { "; a proxy must stay in the foreground" } else { "" };
                return Err(self.failed(format!("it ended with {how} before it answered {path}{hint}")));
            }
            last = match get(&self.door, path, &[], LONGEST_ANSWER) {
                Ok(got) if (200..300).contains(&got.status) || Some(got.status) == of_service => return Ok(()),
                Ok(got) => {
                    let wanted = of_service.map_or_else(String::new, |status| format!(", and the service {status}"));
                    // A 5xx may be a proxy that has not yet found the service.
                    otherwise = if got.status < 500 { otherwise.or(Some(Instant::now())) } else { None };
                    format!("it answers {}{wanted}", got.status)
                }
                Err(error) => error.to_string(),
            };
            if otherwise.is_some_and(|since| since.elapsed() > OTHERWISE) {
                break;
            }
            thread::sleep(PAUSE);
        }
        let (url, waited) = (self.door.url.clone(), began.elapsed().as_secs_f64());
        Err(self.failed(format!("{url}{path} did not get through to the service within {waited:.0} s ({last})")))
    }

    /// The failure of this proxy. Making it ends the proxy.
    fn failed(&mut self, cause: String) -> RunFailure {
        let last_words = self.last_words();
        RunFailure::Service { name: self.name.clone(), cause, way_out: of_its_output(&last_words) }
    }

    /// The failure that its end in mid-run is, whose results are in `folder`.
    pub fn failed_in(mut self, cause: String, folder: &Path) -> RunFailure {
        let last_words = self.last_words();
        let way_out = of_its_end(&last_words, &self.log, folder);
        RunFailure::Service { name: self.name.clone(), cause, way_out }
    }

    /// Its last lines, which are written when its guard ends.
    fn last_words(&mut self) -> String {
        drop(self.guarded.take());
        last_lines(&self.log, LAST_LINES)
    }

    /// The end of the proxy, in words; `None`: it runs.
    pub fn has_ended(&mut self) -> Option<String> {
        self.guarded.as_mut()?.has_ended()
    }

    /// The first of its processes.
    pub fn pid(&self) -> Option<u32> {
        self.guarded.as_ref().map(|guarded| guarded.pid)
    }

    /// The ids of its processes and of their guard.
    pub fn pids(&self) -> Vec<u32> {
        let Some(guarded) = &self.guarded else { return Vec::new() };
        let sample = process_tree::sample(guarded.pid);
        sample.map(|sample| sample.pids).unwrap_or_default().into_iter().chain([guarded.guard()]).collect()
    }
}

/// Makes its empty folder and its configuration in `files`: the command with all filled in.
fn in_files(proxy: &OwnProxy, places: ProxyPlaces, files: &Path) -> std::io::Result<CommandWords> {
    let files = std::path::absolute(files)?;
    let dir = files.join("dir");
    fs::create_dir(&dir)?;
    let config = proxy.config.as_ref().map(|config| files.join(&config.name));
    let shown = |path: &Path| path.display().to_string();
    let places = ProxyPlaces { dir: shown(&dir), config: config.as_deref().map(shown), ..places };
    let filled = |text: &str| places.filled(text, proxy.settings.iter());
    if let (Some(path), Some(config)) = (&config, &proxy.config) {
        fs::write(path, filled(&config.text))?;
    }
    Ok(CommandWords(proxy.command.0.iter().map(|word| filled(word)).collect()))
}

//! Destinations of load: URLs, the hosts that are allowed, and experiments on a service that is not the lab's.

use std::{
    net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

use experiment::{Experiment, plan::AppPlan};
use url::Url;
use workloads::plan::Target;

use crate::exit::Failure;

/// A lost SYN is sent again after a second.
const LOOK: Duration = Duration::from_millis(1500);

/// Checks and resolves a URL. A generator is a weapon: hosts beyond this machine have to be named a second time.
pub(super) fn destination(url: &str, allowed: &[String]) -> Result<(Url, Target), Failure> {
    let place = Place::of(url)?;
    let named = place.is_among(allowed);
    // Decided by name, before anything is looked up: nothing leaves this machine for a host that was not allowed.
    let here = place.bare == "localhost" || place.bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if !here && !named {
        return Err(place.beyond());
    }
    let found = (place.bare.as_str(), place.port).to_socket_addrs();
    let found = found.map_err(|error| Failure::because(format!("{}: {error}", place.bare)))?;
    let target = place.target(found.collect(), named)?;
    Ok((place.url, target))
}

/// The service behind a Unix socket: the host of the URL is what it is told, and nothing is looked up.
pub(super) fn behind_a_socket(url: &str) -> Result<(Url, Target), Failure> {
    let place = Place::of(url)?;
    let nowhere = SocketAddr::from(([127, 0, 0, 1], place.port));
    let target = place.target(vec![nowhere], true)?;
    Ok((place.url, target))
}

/// The same target, with an address first that takes connections: a service may listen on one of its host's alone.
pub(super) fn answering_first(mut target: Target) -> Target {
    let mut addresses: Vec<SocketAddr> = target.addresses().collect();
    let answers = |address: &SocketAddr| TcpStream::connect_timeout(address, LOOK).is_ok();
    if addresses.len() > 1
        && let Some(at) = addresses.iter().position(answers)
    {
        addresses[..=at].rotate_right(1);
        (target.address, target.others) = (addresses[0], addresses[1..].to_vec());
    }
    target
}

/// A URL, taken apart.
struct Place {
    url: Url,
    /// The host with the brackets of an IPv6 address, if it is one.
    host: String,
    /// Without them.
    bare: String,
    port: u16,
}

impl Place {
    fn of(typed: &str) -> Result<Self, Failure> {
        let bad = |why: &str| Failure::usage(format!("{typed}: {why}"));
        if let Some(rest) = ["unix://", "unix:", "http+unix://"].iter().find_map(|scheme| typed.strip_prefix(scheme)) {
            let hint = format!("name the socket by --unix-socket {rest}, beside the URL: http://localhost/path");
            return Err(bad(&hint));
        }
        // As curl does: a host without a scheme is one of plain HTTP.
        let has_scheme = typed.contains("://") || ["http:", "https:"].iter().any(|scheme| typed.starts_with(scheme));
        let whole = if has_scheme { typed.to_owned() } else { format!("http://{typed}") };
        let url = Url::parse(&whole)
            .map_err(|error| bad(&format!("{error}; a URL is written like http://127.0.0.1:8080/path")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("only http and https can be loaded; write http://127.0.0.1:8080/path"));
        }
        let missing = |what: &str| bad(&format!("there is no {what}; write http://127.0.0.1:8080/path"));
        let host = url.host_str().ok_or_else(|| missing("host"))?.to_owned();
        let port = url.port_or_known_default().ok_or_else(|| missing("port"))?;
        if !url.username().is_empty() || url.password().is_some() {
            let hint = "a name and password in the URL end up in shell histories: lab load has --user @FILE, and all \
                        take a header (-H)";
            return Err(bad(hint));
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { url, host, bare, port })
    }

    fn is_among(&self, allowed: &[String]) -> bool {
        allowed.iter().any(|name| *name == self.host || *name == self.bare)
    }

    fn beyond(&self) -> Failure {
        let Self { host, bare, .. } = self;
        Failure::usage(format!(
            "{host} is beyond this machine: load only what is yours and prepared for it, then say --allow-host {bare}"
        ))
    }

    /// The target at these addresses; `named`: it may be beyond this machine.
    fn target(&self, found: Vec<SocketAddr>, named: bool) -> Result<Target, Failure> {
        // A hosts file may say anything of localhost.
        if !named && found.iter().any(|address| !address.ip().is_loopback()) {
            return Err(self.beyond());
        }
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for address in found {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        let Some(address) = addresses.first().copied() else {
            return Err(Failure::because(format!("{} has no address", self.host)));
        };
        let authority = match self.url.port() {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        };
        let url = format!("{}://{authority}", self.url.scheme());
        Ok(Target { url, address, others: addresses.split_off(1), host: authority, entries: Vec::new() })
    }
}

/// The time that each arm takes to start and stop service and proxy, and to read the last requests; measured with services that start at once.
const EACH_ARM: Duration = Duration::from_millis(1500);
/// The time to measure the generator, once a run.
const ONCE: Duration = Duration::from_secs(6);

/// Refuses a live run of an experiment that must not run.
///
/// # Errors
/// A host beyond this machine that `--allow-host` does not name.
pub fn may_run(experiment: &Experiment, allowed: &[String]) -> Result<(), Failure> {
    let AppPlan::Own(own) = &experiment.target.app else { return Ok(()) };
    let metrics = own.metrics.as_ref().map(|metrics| &metrics.url).filter(|url| !url.starts_with('/'));
    own.url.iter().chain(metrics).try_for_each(|url| destination(url, allowed).map(drop))
}

/// The length of a live run in all, if users get answers soon after the last phase; `None`: the service is the lab's, whose
/// time of preparation is not known beforehand.
pub fn whole_time(experiment: &Experiment) -> Option<Duration> {
    let AppPlan::Own(_) = &experiment.target.app else { return None };
    let arms = u32::try_from(experiment.arms.len()).unwrap_or(u32::MAX).saturating_mul(experiment.repeat);
    Some(experiment.planned_time() + EACH_ARM * arms + ONCE)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn addresses(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|address| address.parse().expect("an address")).collect()
    }

    fn message(failed: Result<(Url, Target), Failure>) -> String {
        failed.expect_err("it is refused").in_words()
    }

    #[test]
    fn each_address_of_a_host_that_was_not_named_is_of_this_machine() {
        let place = Place::of("http://localhost:8080/x").expect("a place");
        let both = place.target(addresses(&["[::1]:8080", "127.0.0.1:8080", "[::1]:8080"]), false).expect("allowed");
        assert_eq!(both.addresses().collect::<Vec<_>>(), addresses(&["[::1]:8080", "127.0.0.1:8080"]));
        let one_beyond = addresses(&["127.0.0.1:8080", "192.0.2.1:8080"]);
        assert!(place.target(one_beyond.clone(), false).is_err());
        assert_eq!(place.target(one_beyond, true).expect("it was named").others, addresses(&["192.0.2.1:8080"]));
    }

    #[test]
    fn the_address_that_answers_comes_first() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let alive = listener.local_addr().expect("an address");
        let dead = SocketAddr::from(([127, 0, 0, 2], alive.port()));
        let target = Target { others: vec![alive], ..Target::at(dead) };
        assert_eq!(answering_first(target.clone()).addresses().collect::<Vec<_>>(), [alive, dead]);
        drop(listener);
        assert_eq!(answering_first(target.clone()), target, "none does");
    }

    #[test]
    fn what_people_type_is_understood_or_answered_with_their_own_words() {
        let url = |typed| destination(typed, &[]).expect("a destination").1.url;
        assert_eq!(url("127.0.0.1:8081/items"), "http://127.0.0.1:8081");
        assert_eq!(url("[::1]:8081"), "http://[::1]:8081");
        assert_eq!(behind_a_socket("http://api.example/x").expect("nothing is looked up").1.host, "api.example");
        let unix = message(destination("unix:///run/app.sock", &[]));
        assert!(unix.contains("--unix-socket /run/app.sock") && unix.contains("http://localhost/"), "{unix}");
        assert!(message(destination("ftp://127.0.0.1/x", &[])).contains("only http and https"));
        assert!(message(destination("http://", &[])).starts_with("http://: empty host"));
    }
}

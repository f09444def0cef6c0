//! Loads that agents do not send: one line says who does not and why, and nothing is sent.

use std::{fs, process::Stdio, thread, time::Duration};

use super::{
    super::{
        load::service::{Behaves, Service},
        program::{self, ran, told, wait_until},
    },
    server::{AGENT, Server, Started},
};

#[track_caller]
fn assert_refused(server: &Server, args: &[&str], said: &str) -> String {
    let output = server.coordinator(args).output().expect("lab runs");
    let text = told(&output);
    assert!(output.status.code() == Some(2) && text.contains(said), "{args:?}: {:?}: {text}", output.status);
    let lines = text.lines().filter(|line| !line.contains("waiting for the others")).count();
    assert_eq!(lines, 1, "{args:?}: {text}");
    let out = args.iter().rposition(|arg| *arg == "--out").expect("there");
    assert!(!server.folder().join(args[out + 1]).exists(), "{args:?} has left something");
    text
}

#[test]
fn an_agent_sends_what_its_owner_lets_through() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let url = service.url();
    let agent = server.agent_with("a", &["--most-rate", "200", "--most-users", "20", "--longest", "60s"]);
    let begins = ["--no-tui", "--agents", "1", "--out"];
    let refused = |url: &str, more: &[&str], said: &str| {
        assert_refused(&server, &[&["load", url][..], &begins, &["refused"], more].concat(), said);
    };
    refused("http://192.0.2.7/", &["--allow-host", "192.0.2.7", "-R", "10", "-d", "1s"], "agent a: ");
    refused(&url, &["-R", "500", "-d", "1s"], "agent a: its part has over 200 arrivals in a second");
    refused(&url, &["-c", "21", "-d", "1s"], "agent a: its part has over 20 users");
    refused(&url, &["-R", "10", "-d", "61s"], "agent a: it lasts 61 s");

    // What a closed load comes to is seen when it is sent.
    let closed = [&["load", &url][..], &begins, &["run", "-c", "4", "-d", "20s"]].concat();
    let output = server.coordinator(&closed).output().expect("lab runs");
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    let arm = super::loads::arm_of(&server.folder(), "run");
    let wrong = arm["parts"][0]["wrong"].as_str().unwrap_or_default();
    assert!(wrong.contains("--most-rate"), "{wrong}");

    // One load at a time.
    let first = [&["load", &url][..], &begins, &["first", "-R", "20", "-d", "60s"]].concat();
    let first = server.coordinator(&first).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("lab starts");
    let mut first = Started(first);
    let read = service.requests();
    service.wait_for(read + 5);
    refused(&url, &["-R", "10", "-d", "1s"], "--agents 1: busy: a (with load-127-0-0-1");
    first.signal("INT");
    assert_eq!(first.0.wait().expect("it ends").code(), Some(130));
    drop(agent);
}

#[test]
fn what_is_of_one_machine_is_not_sent_to_agents() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let url = service.url();
    let client = crate::load::carriers::file("client.pem");
    let key = crate::load::carriers::file("client-key.pem");
    let socket = server.folder().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
    let socket = socket.to_str().expect("a path");
    let load = ["load", &url, "--no-tui", "-c", "1", "-n", "1", "--agents", "2", "--out", "run"];
    for (more, said) in [
        (&["--cert", &client, "--key", &key][..], "--cert"),
        (&["--unix-socket", socket], "--unix-socket"),
        (&["--source-address", "127.0.0.1"], "--source-address"),
        (&["--shard", "1/2"], "--shard 1/2: agents share the users"),
    ] {
        assert_refused(&server, &[&load[..], more].concat(), said);
    }
    let file = "
name: together
target: {app: emulated, servers: 2, service: {exponential: 10ms}}
objective: {response_time: 100ms}
users:
  model: url
  phases: [{requests: 100/s, for: 500ms}]
arms: [none: {client: {throttle: {scope: all}}}]
";
    fs::write(server.folder().join("together.yaml"), file).expect("written");
    let run = ["run", "together.yaml", "--no-tui", "--agents", "2", "--out", "run"];
    assert_refused(&server, &run, "one policy decides for all users (scope: all)");
    assert_refused(&server, &[&run[..], &["--virtual"]].concat(), "--agents 2: in virtual time nothing is sent");
    let nowhere = ran(&server.folder(), &load);
    assert!(nowhere.status.code() == Some(2) && told(&nowhere).contains("--nats"), "{}", told(&nowhere));
    assert_eq!(service.requests(), 0);
}

#[test]
fn an_agent_that_is_there_by_its_name_alone_is_named() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    server.connected("maker", super::server::COORDINATOR).make_stores().expect("made");
    let gone = server.connected("gone", AGENT);
    let (version, program) = (lab_cli::workers::version(), "0.1.0".to_owned());
    let note = fleet::AgentNote { name: "gone".to_owned(), version, program, jobs: 1 };
    let _lease = gone.announce(&note, &|| false).expect("it is let in");
    let args = ["load", &service.url(), "--no-tui", "--agents", "1", "-n", "1", "-c", "1", "--out", "run"];
    assert_refused(&server, &args, "--agents 1: without an answer: gone");
    assert_eq!(service.requests(), 0);
}

/// Half a minute is given to those who are still to come.
#[test]
#[ignore = "half a minute; docs/benchmarks.md: cargo test -p lab-cli --features fleet --test integration fleet::load -- --ignored"]
fn fewer_agents_than_were_asked_for_are_named() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    server.connected("maker", super::server::COORDINATOR).make_stores().expect("made");
    let other = server.connected("old", AGENT);
    let (version, program) = ("0123456789abcdef".to_owned(), "0.0.1".to_owned());
    let note = fleet::AgentNote { name: "old".to_owned(), version, program, jobs: 1 };
    let _lease = other.announce(&note, &|| false).expect("it is let in");
    let _agent = server.agent("young");
    let args = ["load", &service.url(), "--no-tui", "--agents", "2", "-n", "2", "-c", "2", "--out", "run"];
    let said = "--agents 2: there are only 1: young; of other versions, or with other policies than lab";
    let text = assert_refused(&server, &args, said);
    assert!(text.contains("old (lab 0.0.1)"), "{text}");
    assert_eq!(service.requests(), 0);
}

/// A disk that is full where the server keeps what it is given.
#[test]
#[ignore = "a minute; docs/benchmarks.md: cargo test -p lab-cli --features fleet --test integration fleet::load -- --ignored"]
fn a_record_that_the_server_has_no_room_for_stays_with_its_agent() {
    let Some(mut server) = Server::start() else { return };
    let store = server.folder().join("lab-nats");
    server.kill();
    fs::create_dir_all(&store).expect("made");
    let mounted =
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(&store).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    }
    let _mount = Mount(store.clone());
    server.again();
    let service = Service::start(Behaves::Well);
    let _agents = server.agents("a b");
    let folder = server.folder();
    let args = ["load", &service.url(), "--no-tui", "--agents", "2", "-R", "50", "-d", "4s", "--out", "run"];
    let said = fs::File::create(folder.join("said")).expect("made");
    let load = server.coordinator(&args).stdout(Stdio::null()).stderr(said).spawn().expect("lab starts");
    let mut load = Started(load);
    service.wait_for(50);
    // No byte is left.
    let _ = fs::write(store.join("full"), vec![0; 8 << 20]);
    let said = || fs::read_to_string(folder.join("said")).expect("there");
    let ended = (0..1200).any(|_| {
        thread::sleep(Duration::from_millis(100));
        load.ended()
    });
    assert!(ended, "{}", said());
    let text = said();
    assert_eq!(load.0.wait().expect("it has ended").code(), Some(1), "{text}");
    assert!(text.contains("agent a") && text.contains("agent b") && text.contains("stays in its folder"), "{text}");
    let kept = fs::read_dir(folder.join("cache/parts")).expect("there").flatten().map(|entry| entry.path());
    let kept: Vec<_> = kept.filter(|path| path.join("digests.json").exists()).collect();
    assert_eq!((kept.len(), service.requests()), (2, 200), "{text}");
    for part in kept {
        program::done(&folder, &["recheck", part.to_str().expect("a path")]);
    }
    // Agents are free again.
    fs::remove_file(store.join("full")).expect("removed");
    let next = ["load", &service.url(), "--no-tui", "--agents", "2", "-n", "4", "-c", "2", "--out", "next"];
    wait_until("agents are free", || server.coordinator(&next).output().expect("lab runs").status.code() != Some(2));
}

struct Mount(std::path::PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

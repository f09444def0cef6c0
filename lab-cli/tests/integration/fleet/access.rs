//! Ways to show who one is, and what each role may do.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use super::{
    super::{
        load::service::{Behaves, Service},
        program::{lab_in, told},
    },
    loads::assert_ended,
    server::{AGENT, COORDINATOR, Server, Started},
};

/// A secret: in the environment, or in a file.
#[derive(Clone)]
enum Shown {
    Nothing,
    InVariable(&'static str),
    InFile(&'static str),
}

/// A way in.
struct Way {
    settings: String,
    right: Shown,
    wrong: Shown,
}

fn beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(beside("fleet/access").join(name)).expect("there")
}

fn shows(command: &mut Command, folder: &Path, shown: &Shown) {
    match shown {
        Shown::Nothing => {}
        Shown::InVariable(secret) => _ = command.env("LAB_NATS_TOKEN", secret),
        Shown::InFile(name) => {
            let file = folder.join(name);
            fs::write(&file, text(name)).expect("written");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("set");
            command.arg("--nats-creds").arg(file);
        }
    }
}

#[track_caller]
fn assert_refused(output: &Output, said: &str) {
    let text = told(output);
    assert!(output.status.code() == Some(2) && text.contains(said), "{:?}: {text}", output.status);
    assert_eq!(text.lines().count(), 1, "{text}");
}

impl Way {
    fn goes(self) {
        let Some(server) = Server::with_settings(&self.settings) else { return };
        let service = Service::start(Behaves::Well);
        let at = &server.folder();
        let load = ["load", &service.url(), "--no-tui", "--agents", "1", "-c", "2", "-n", "4"];
        let command = |args: &[&str], shown: &Shown| {
            let mut command = lab_in(at);
            command.args(args).args(["--nats", &server.url()]);
            shows(&mut command, at, shown);
            command
        };
        for args in [&["agent"][..], &load] {
            let refused = command(args, &self.wrong).output().expect("lab runs");
            assert_refused(&refused, "does not let us in");
        }
        let mut agent = command(&["agent", "--name", "a"], &self.right);
        let _agent = Started(agent.stdout(Stdio::null()).spawn().expect("lab starts"));
        assert_ended(&command(&load, &self.right).output().expect("lab runs"));
        assert_eq!(service.requests(), 4);
    }
}

#[test]
fn agents_and_coordinators_come_in_with_the_right_secret_alone() {
    let to_one = |user: &str| format!("authorization {{ {user} }}\n");
    let ways = [
        (to_one("token: let-me-in"), Shown::InVariable("let-me-in"), Shown::InVariable("let-us-in")),
        (to_one("user: me, password: hush"), Shown::InVariable("me:hush"), Shown::InVariable("me:hash")),
        (text("nkey.conf"), Shown::InFile("user.nk"), Shown::InFile("stranger.nk")),
        (text("operator.conf"), Shown::InFile("user.creds"), Shown::InFile("stranger.creds")),
        (text("operator.conf"), Shown::InFile("user.creds"), Shown::Nothing),
    ];
    thread::scope(|scope| {
        for (settings, right, wrong) in ways {
            scope.spawn(|| Way { settings, right, wrong }.goes());
        }
    });
}

#[test]
fn a_server_with_a_certificate_is_trusted_by_its_authority() {
    let tls = |name: &str| beside("load/tls").join(name);
    let [certificate, key] = ["server.pem", "server-key.pem"].map(tls);
    let settings = format!("tls {{ cert_file: {certificate:?}, key_file: {key:?} }}\n");
    let Some(server) = Server::with_settings(&settings) else { return };
    let service = Service::start(Behaves::Well);
    let url = server.url().replace("nats://", "tls://");
    let lab = |args: &[&str], authority: &str| {
        let mut command = lab_in(&server.folder());
        command.env("SSL_CERT_FILE", tls(authority)).args(args).args(["--nats", &url]);
        command
    };
    let load = ["load", &service.url(), "--no-tui", "--agents", "1", "-c", "2", "-n", "4"];
    for args in [&["agent"][..], &load] {
        let refused = lab(args, "self-ca.pem").output().expect("lab runs");
        let text = told(&refused);
        assert!(refused.status.code() == Some(2) && text.contains("SSL_CERT_FILE"), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    let mut agent = lab(&["agent", "--name", "a"], "authority.pem");
    let _agent = Started(agent.stdout(Stdio::null()).spawn().expect("lab starts"));
    assert_ended(&lab(&load, "authority.pem").output().expect("lab runs"));
    assert_eq!(service.requests(), 4);
}

/// What the server says to a line of its protocol; `None`: nothing is wrong with it.
fn denied(server: &Server, role: &str, line: &str) -> Option<String> {
    let mut stream = TcpStream::connect(server.url().trim_start_matches("nats://")).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    let (user, password) = role.split_once(':').expect("both");
    let who = format!(r#"{{"verbose":false,"pedantic":false,"user":"{user}","pass":"{password}"}}"#);
    write!(stream, "CONNECT {who}\r\n{line}\r\nPING\r\n").expect("sent");
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.find_map(|line| match &*line {
        "PONG" => Some(None),
        _ if line.starts_with("-ERR") => Some(Some(line)),
        _ => None,
    })?
}

#[test]
fn each_role_may_do_what_it_has_to_do() {
    let Some(server) = Server::start() else { return };
    let publish = |subject: &str| format!("PUB {subject} 0\r\n");
    let subscribe = |subject: &str| format!("SUB {subject} 1");
    let may = [
        (AGENT, publish("$KV.lab_loads.mine.a.end"), true),
        (AGENT, publish("$KV.lab_agents.a"), true),
        (AGENT, subscribe("lab.agent.a"), true),
        (AGENT, publish("lab.agent.b"), false),
        (AGENT, publish("lab.work.v.g.k"), false),
        (AGENT, publish("$KV.others"), false),
        (AGENT, subscribe("lab.work.>"), false),
        (AGENT, subscribe("$KV.>"), false),
        (AGENT, publish("$JS.API.STREAM.CREATE.mine"), false),
        (AGENT, publish("$JS.API.STREAM.DELETE.KV_lab_loads"), false),
        (AGENT, publish("$JS.API.STREAM.PURGE.KV_lab_loads"), false),
        (AGENT, publish("$JS.API.STREAM.MSG.DELETE.KV_lab_loads"), false),
        (COORDINATOR, publish("lab.agent.b"), true),
        (COORDINATOR, publish("lab.work.v.g.k"), true),
        (COORDINATOR, publish("$KV.lab_loads.mine"), true),
        (COORDINATOR, publish("$KV.lab_agents.a"), false),
        (COORDINATOR, subscribe("lab.agent.>"), false),
    ];
    for (role, line, may) in may {
        let denied = denied(&server, role, &line);
        assert_eq!(denied.is_none(), may, "{role} {line:?}: {denied:?}");
        assert!(denied.is_none_or(|said| said.contains("Permissions Violation")), "{line:?}");
    }
}

#[test]
fn an_agent_with_a_user_of_its_own_posts_for_itself_alone() {
    let own = |listen: &str| {
        let printed = lab_in(Path::new(".")).args(["agent", "--print-nats-config", "--name", "a, b-1"]).output();
        let text = String::from_utf8(printed.expect("lab runs").stdout).expect("text");
        assert!(text.contains("password: $LAB_AGENT_PASSWORD_B_1"), "{text}");
        text.replace("listen: \"127.0.0.1:4222\"\n", &format!("listen: \"{listen}\"\n"))
    };
    let Some(server) = Server::with_file(own) else { return };
    let (of_a, of_b) = (AGENT.replace("agent:", "a:"), AGENT.replace("agent:", "b-1:"));
    let may = [
        (&of_a, "PUB $KV.lab_loads.mine.a.end 0\r\n", true),
        (&of_b, "PUB $KV.lab_loads.mine.b-1.end 0\r\n", true),
        (&of_a, "PUB $KV.lab_loads.mine.b-1.end 0\r\n", false),
        (&of_a, "PUB $KV.lab_loads.mine 0\r\n", false),
        (&of_a, "PUB $KV.lab_agents.b-1 0\r\n", false),
        (&of_a, "SUB lab.agent.b-1 1", false),
        (&of_a, "SUB lab.agent.a 1", true),
    ];
    for (role, line, may) in may {
        let denied = denied(&server, role, line);
        assert_eq!(denied.is_none(), may, "{role} {line:?}: {denied:?}");
    }
    // They send a load.
    let service = Service::start(Behaves::Well);
    let _agents =
        [("a", of_a), ("b-1", of_b)].map(|(name, secret)| server.agent_in(name, &[], &[("LAB_NATS_TOKEN", &secret)]));
    let load = ["load", &service.url(), "--no-tui", "--agents", "2", "-R", "20", "-d", "1s", "--out", "run"];
    assert_ended(&server.coordinator(&load).output().expect("lab runs"));
    assert_eq!(service.requests(), 20);
    let bad =
        lab_in(Path::new(".")).args(["agent", "--print-nats-config", "--name", "a,b c"]).output().expect("lab runs");
    assert!(bad.status.code() == Some(2) && told(&bad).contains("is no name of an agent"));
}

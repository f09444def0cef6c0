//! The crates that `lab new-policy` writes, outside of the workspace: their own tests, and their policies in a live run, a virtual run, a
//! proxy and the tower layer of an axum app.
//!
//! It builds the lab a second time, with the features that a crate outside of the workspace selects, so that it is a step of its own:
//! `cargo test --workspace --test integration written_policy:: -- --ignored`.

use std::{
    env,
    ffi::OsStr,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::Instant,
};

use serde_json::Value;

use crate::{
    proxy::{backend::Backend, proxied::get},
    served::Kept,
};

const FILE: &str = "
name: mine
target: {app: emulated, service: 20ms, servers: 4, workers: 200}
objective: {percentile: 90, response_time: 200ms}
users:
  model: url
  timeout: 1s
  on_reject: {then: leave}
  on_failure: {then: leave}
  phases: [{name: crowd, requests: 600/s, for: 3s}]
arms: [none, {my-limit: {limit_max: 50}}, {my-rate: {scope: single}}]
";

/// What the app needs, and what tests of the workspace depend on beside it. With the same features selected, this build finds all crates of
/// others built, and builds the lab's alone; `cargo test --unit-graph` of both shows where they part.
const TEST_DEPENDENCIES: &str = r#"
axum = { version = "0.8", default-features = false, features = ["http1", "tokio"] }
criterion = { version = "0.8", default-features = false, features = ["cargo_bench_support"] }
either = { version = "1", features = ["use_std"] }
fastrand = "2"
getrandom = { version = "0.2", features = ["std"] }
serde_json = { version = "1.0", features = ["float_roundtrip"] }
tokio = { version = "1.54", features = ["macros", "net", "rt-multi-thread", "sync", "test-util", "time"] }
tonic = { version = "0.14", default-features = false, features = ["transport"] }
tower = { version = "0.5", features = ["limit", "load-shed"] }
"#;

/// What build scripts and macros of the workspace have in addition.
const BUILD_DEPENDENCIES: &str = r#"[build-dependencies]
fastrand = "2"
serde = { version = "1", features = ["alloc"] }

[profile.dev]
"#;

/// The layer's example with this policy: 4 requests at a time, 50 ms each.
const APP: &str = r#"
use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
    response::IntoResponse,
    routing::get,
};
use controllers::Reason;
use tokio::{net::TcpListener, sync::Semaphore, time::sleep};
use tower_admission::{AdmissionLayer, PolicyChoice, Refused};

async fn work(State(places): State<Arc<Semaphore>>) -> &'static str {
    let _place = places.acquire().await;
    sleep(Duration::from_millis(50)).await;
    "done"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let policy = PolicyChoice::entry(&my_limit::ENTRY).set("limit_initial", 8).set("limit_max", 8);
    let layer = AdmissionLayer::new(policy)
        .refuse_with(|_: Request<Body>, refused: Refused| {
            let reason = refused.reason.map_or("unsaid", Reason::name);
            (StatusCode::SERVICE_UNAVAILABLE, [("x-refused", reason)], "busy\n").into_response()
        })
        .build()?;
    let admission = layer.admission()?;
    assert_eq!(admission.gauges().gauges.get("limit"), Some(&8.0));
    let app = Router::new().route("/", get(work)).with_state(Arc::new(Semaphore::new(4))).layer(layer);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
"#;

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// Builds of crates outside lie beside those of the workspace, and stay for the next time.
fn target() -> PathBuf {
    let of_workspace = Path::new(env!("CARGO_BIN_EXE_lab")).ancestors().nth(2).expect("target/debug/lab");
    of_workspace.to_owned()
}

struct Written {
    folder: PathBuf,
}

impl Written {
    /// A crate in this folder, with dependencies for tests in addition.
    fn new(outside: &Path, arguments: &[&str], dependencies: &str) -> Self {
        let lab = ["new-policy", "--lab", workspace().to_str().expect("text")];
        done(Command::new(env!("CARGO_BIN_EXE_lab")).args(lab).args(arguments).current_dir(outside));
        let written = Self { folder: outside.join(arguments[0]) };
        written.replace("Cargo.toml", "[dev-dependencies]\n", &format!("[dev-dependencies]\n{dependencies}"));
        written
    }

    fn replace(&self, file: &str, old: &str, new: &str) {
        let path = self.folder.join(file);
        let text = fs::read_to_string(&path).expect("written");
        assert!(text.contains(old), "{file}: {old:?} in {text}");
        fs::write(path, text.replace(old, new)).expect("written");
    }

    fn cargo(&self, arguments: &[&str]) {
        let mut command = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
        command.args(arguments).arg("--offline").current_dir(&self.folder).env("CARGO_TARGET_DIR", target());
        // What cargo tells this test of its package would have crates built again whose build scripts look at it: TLS, and all that uses it.
        for (name, _) in env::vars_os().filter(|(name, _)| is_of_a_package(name)) {
            command.env_remove(name);
        }
        done(&mut command);
    }

    fn lab(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(target().join("debug/my-limit"));
        command.args(arguments).current_dir(&self.folder).env("LAB_CACHE", self.folder.join("cache"));
        command
    }
}

fn is_of_a_package(variable: &OsStr) -> bool {
    variable.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
}

#[track_caller]
fn done(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    // 3: on a busy machine a live run may be INVALID, whose figures are not the point.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{command:?}: {out}{err}");
    output
}

/// A process that says on its first line where it listens, and ends with the test.
fn server(command: &mut Command) -> (Kept, String) {
    let mut server = Kept(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts"));
    let line = server.first_line().trim().to_owned();
    (server, line)
}

fn statuses(address: SocketAddr, at_once: usize) -> Vec<u16> {
    let all: Vec<_> = (0..at_once).map(|_| thread::spawn(move || get(address, "/").status)).collect();
    all.into_iter().map(|one| one.join().expect("it ends")).collect()
}

fn of_arm(summary: &Output, arm: usize) -> Value {
    let summary: Value = serde_json::from_slice(&summary.stdout).expect("JSON");
    assert_eq!(summary["arms"][1]["policy"], "my-limit");
    summary["arms"][arm]["phases"][0].clone()
}

#[test]
#[ignore = "builds the lab a second time; docs/policies.md: cargo test --workspace --test integration written_policy:: -- --ignored"]
fn a_written_policy_decides_in_all_hosts() {
    let outside = tempfile::tempdir().expect("a folder");
    let more =
        format!("{TEST_DEPENDENCIES}tower-admission = {{ path = \"{}/controllers/tower\" }}\n", workspace().display());
    let written = Written::new(outside.path(), &["my-limit"], &more);
    // A policy with a timer: its own tests, without the lab. One program has both policies.
    let timed = Written::new(outside.path(), &["my-rate", "--kind", "policy"], "");
    timed.cargo(&["test", "--no-default-features"]);
    let other = "[dependencies]\nmy-rate = { path = \"../my-rate\", default-features = false }\n";
    written.replace("Cargo.toml", "[dependencies]\n", other);
    written.replace("Cargo.toml", "[profile.dev]\n", BUILD_DEPENDENCIES);
    written.replace("src/main.rs", "&[my_limit::ENTRY]", "&[my_limit::ENTRY, my_rate::ENTRY]");
    fs::create_dir(written.folder.join("examples")).expect("made");
    fs::write(written.folder.join("examples/app.rs"), APP).expect("written");
    fs::write(written.folder.join("mine.yaml"), FILE).expect("written");
    let began = Instant::now();
    // Builds its program and its examples too.
    written.cargo(&["test"]);
    eprintln!("built and tested in {:.0} s", began.elapsed().as_secs_f64());

    let common = ["run", "mine.yaml", "--no-tui", "--output", "json", "--out"];
    for (world, more) in [("virtual", &["--virtual"][..]), ("live", &[])] {
        let ran = done(written.lab(&common).arg(world).args(more));
        let (none, mine) = (of_arm(&ran, 0), of_arm(&ran, 1));
        assert_eq!(none["rejected"], 0, "{world}");
        assert!(mine["rejected"].as_u64() > Some(0) && mine["served"].as_u64() > Some(0), "{world}: {mine}");
        let timed = of_arm(&ran, 2);
        assert!(timed["rejected"].as_u64() > Some(0) && timed["served"].as_u64() > Some(0), "{world}: {timed}");
    }
    done(&mut written.lab(&["recheck", "live"]));

    let to = Backend::start().url();
    let before = ["proxy", "--json", "--listen", "127.0.0.1:0", "--to", &to, "--policy", "my-limit"];
    let (_proxy, line) = server(&mut written.lab(&before));
    let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
    let address = ready["url"].as_str().and_then(|url| url.strip_prefix("http://")?.parse().ok()).expect("an address");
    assert_eq!(statuses(address, 3), [200; 3]);

    let (_app, line) = server(&mut Command::new(target().join("debug/examples/app")));
    let address = line.parse().expect("an address");
    assert_eq!(statuses(address, 1), [200]);
    let crowd = statuses(address, 40);
    let answered = |status| crowd.iter().filter(|other| **other == status).count();
    assert_eq!(answered(200) + answered(503), 40, "{crowd:?}");
    assert!(answered(200) >= 8 && answered(503) > 0, "eight inside at the most: {crowd:?}");
}

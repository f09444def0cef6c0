//! Searches whose runs agents compute, and loads that they send, over a real server of NATS. A program without the feature `fleet` says that it has none:
//! `cargo test --workspace --features lab-cli/fleet --test integration -- fleet` has the rest.

#[cfg(feature = "fleet")]
mod access;
#[cfg(feature = "fleet")]
mod cost;
#[cfg(feature = "fleet")]
mod failures;
#[cfg(feature = "fleet")]
mod far;
#[cfg(feature = "fleet")]
mod load_endurance;
#[cfg(feature = "fleet")]
mod load_failures;
#[cfg(feature = "fleet")]
mod load_refusals;
#[cfg(feature = "fleet")]
mod loads;
#[cfg(feature = "fleet")]
mod refusals;
#[cfg(feature = "fleet")]
mod same;
#[cfg(feature = "fleet")]
mod server;

#[cfg(not(feature = "fleet"))]
#[test]
fn a_program_without_workers_says_so() {
    use super::program::{ran, told};
    let scratch = tempfile::tempdir().expect("a folder");
    let at = ["--workers", "--nats", "nats://127.0.0.1:4222"];
    let sweep = ["sweep", "flash-crowd", "--policy", "concurrency", "--set", "max=2..20"];
    for args in [&["agent", "--print-nats-config"][..], &[&sweep[..], &at].concat(), &[&["suite"][..], &at].concat()] {
        let output = ran(scratch.path(), args);
        let text = told(&output);
        assert!(output.status.code() == Some(2) && text.contains("--features fleet"), "{args:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    assert_eq!(std::fs::read_dir(scratch.path()).expect("read").count(), 0, "something was written");
}

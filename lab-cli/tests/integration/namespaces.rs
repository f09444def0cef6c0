//! Network namespaces with links between them: the nearest that one machine has to several.

use std::{
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

/// Namespaces that go with it: one for the service, one for each generator, each with a link to the first.
pub struct Namespaces(Vec<String>);

impl Namespaces {
    /// `None` where nobody may make any.
    pub fn made(generators: u32) -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let these = MADE.fetch_add(1, Ordering::Relaxed);
        let name = |number: u32| format!("lab-{}-{these}-{number}", std::process::id());
        let mut made = Self(Vec::new());
        for number in 0..=generators {
            if !ip(&["netns", "add", &name(number)]) {
                eprintln!("no network namespaces can be made here");
                return None;
            }
            made.0.push(name(number));
            assert!(made.inside(number, &["link", "set", "lo", "up"]));
        }
        assert!(made.inside(0, &["address", "add", "10.77.0.1/32", "dev", "lo"]));
        for number in 1..=generators {
            let [here, there] = ["a", "b"].map(|end| format!("lab{end}{number}"));
            let [ours, theirs] = [1, 2].map(|host| format!("10.77.{number}.{host}"));
            assert!(ip(&[
                "link",
                "add",
                &here,
                "netns",
                &name(0),
                "type",
                "veth",
                "peer",
                "name",
                &there,
                "netns",
                &name(number)
            ]));
            for (number, end, address) in [(0, &here, &ours), (number, &there, &theirs)] {
                assert!(made.inside(number, &["address", "add", &format!("{address}/24"), "dev", end]));
                assert!(made.inside(number, &["link", "set", end, "up"]));
            }
            assert!(made.inside(number, &["route", "add", "10.77.0.1", "via", &ours]));
        }
        Some(made)
    }

    fn inside(&self, number: u32, args: &[&str]) -> bool {
        ip(&[&["-n", &self.0[number as usize]], args].concat())
    }

    /// A program in one of them.
    pub fn command(&self, number: u32, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[number as usize], program]);
        command
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.0 {
            ip(&["netns", "delete", name]);
        }
    }
}

fn ip(args: &[&str]) -> bool {
    Command::new("ip").args(args).output().is_ok_and(|output| output.status.success())
}

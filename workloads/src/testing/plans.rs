//! Plans for tests.

use std::time::Duration;

use controllers::Class;

use crate::{
    behaviour::Home,
    plan::{Behaviour, ConnectionHabit, Load, LoadPlan, Marks, Phase, Target, UrlUsers, Users},
};

/// Users of `/` on a host that is not there, in these phases: name, seconds, closed users of class 0. They think 100 ms,
/// and their objective is 1 s.
#[must_use]
pub fn url_plan(phases: &[(&str, u64, u32)]) -> LoadPlan {
    let phase = |&(name, seconds, users): &(&str, u64, u32)| Phase {
        name: name.into(),
        duration: Duration::from_secs(seconds),
        loads: vec![Load::Users { from: users, to: users, class: Class(0) }],
    };
    LoadPlan {
        seed: 7,
        target: target(),
        users: Users::Url(UrlUsers {
            path: "/".into(),
            method: "GET".into(),
            headers: Vec::new(),
            body: None,
            think: traces::Think::Constant(Duration::from_millis(100)),
            behaviour: Behaviour::default(),
            connections: ConnectionHabit::PerUser,
        }),
        phases: phases.iter().map(phase).collect(),
        timeout: Duration::from_secs(60),
        connect_timeout: Duration::from_secs(10),
        objective: Duration::from_secs(1),
        drain: Duration::from_secs(10),
        sources: 1,
        marks: Marks::default(),
        client: None,
    }
}

fn target() -> Target {
    let address = ([127, 0, 0, 1], 80).into();
    Target { url: "http://127.0.0.1".into(), address, host: "127.0.0.1".into(), entries: Vec::new() }
}

/// The home of the users of [`url_plan`].
///
/// # Panics
/// Never: its address can be read.
#[must_use]
pub fn home() -> Home {
    Home::of(&target()).expect("its address can be read")
}

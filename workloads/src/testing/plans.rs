//! Plans for tests.

use std::time::Duration;

use crate::{
    behaviour::Home,
    plan::{Load, LoadPlan, Phase, Target, UrlUsers, Users},
};

/// Users of `/` on a host that does not exist, in these phases: name, seconds, closed users of class 0. They think 100
/// ms, and their objective is 1 s.
#[must_use]
pub fn url_plan(phases: &[(&str, u64, u32)]) -> LoadPlan {
    let phase = |&(name, seconds, users): &(&str, u64, u32)| Phase {
        name: name.into(),
        duration: Duration::from_secs(seconds),
        loads: vec![Load::users(users)],
    };
    let think = traces::Think::Constant(Duration::from_millis(100));
    let users = Users::Url(UrlUsers { think, ..UrlUsers::new("/") });
    LoadPlan { seed: 7, ..LoadPlan::new(target(), users, phases.iter().map(phase).collect()) }
}

fn target() -> Target {
    let address = ([127, 0, 0, 1], 80).into();
    Target { url: "http://127.0.0.1".into(), host: "127.0.0.1".into(), ..Target::at(address) }
}

/// The home of the users of [`url_plan`].
///
/// # Panics
/// Never: its address is valid.
#[must_use]
pub fn home() -> Home {
    Home::of(&target()).expect("its address can be read")
}

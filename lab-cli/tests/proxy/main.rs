//! `lab proxy` as a person runs it, before services that are not the lab's.

#[path = "../program/mod.rs"]
mod program;
#[path = "../terminal/mod.rs"]
mod terminal;

mod accepted;
mod backend;
mod backends;
mod checked;
mod chromium;
mod connections;
mod crowd;
mod decisions;
mod ending;
mod exported;
mod flooded;
mod full_disk;
mod http2_cases;
mod http2_floods;
mod http2_wire;
mod notes;
mod observed;
mod opening;
mod own_rooms;
mod proxied;
mod reload;
mod replicas;
mod retries;
mod sentry;
mod settings;
mod strangers;
mod tokens;
mod transport;
mod waiting_room;

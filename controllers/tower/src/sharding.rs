//! Which policies can run as several sites side by side, each with requests and a lock of its own.

use controllers::Entry;

/// The largest number of shards.
const MOST: u32 = 256;

/// Checks that a policy can be sharded.
pub(crate) fn check(entry: &Entry, at_client: bool, shards: u32) -> Result<(), String> {
    if !(1..=MOST).contains(&shards) {
        return Err(format!("{shards} is out of range: 1 to {MOST}"));
    }
    if shards == 1 {
        return Ok(());
    }
    if at_client {
        return Err("a client's policy learns from all requests of the client: leave `shards` at 1".to_owned());
    }
    match why_not(entry) {
        None => Ok(()),
        Some(why) => Err(format!("{} cannot be sharded: {why}: leave `shards` at 1", entry.name)),
    }
}

/// The reason why a policy must see every request of the layer; `None`: it need not.
fn why_not(entry: &Entry) -> Option<&'static str> {
    match entry.name {
        // Nothing is counted together; or what is decided is a probability or a level, for which a part of the requests
        // is as good
        // as all, if each shard sees the same mix.
        "none" | "utilization" | "dont-retry" => None,
        // Each shard learns a limit for its own requests; together they are as many as the service can do.
        "aimd" | "vegas" | "gradient2" | "dagor" | "seda" | "pid" => None,
        "fixed-rate" | "concurrency" | "queue-length" => Some("its limit is a number for all requests together"),
        "quota" | "sre" => Some("a customer's account is one for all requests together"),
        _ if entry.keeps_queue() => Some("it keeps one queue, whose order shards would lose"),
        _ => Some("it is not known what its parts would add up to"),
    }
}

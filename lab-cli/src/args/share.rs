//! Arguments of what several machines carry out together.

use std::time::Duration;

use analysis::manifest::ShardBy;
use clap::Args;
use measure::Shard;

use super::fleet::AgentsArgs;

/// A part of the users of one load, each sent by a machine of its own.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Several machines")]
pub struct ShareArgs {
    /// One of several parts of the users, each sent by a machine of its own; lab merge puts them together.
    ///
    /// Part 2/8 has users 2, 10, 18 and so on, with the times, accounts and draws that they have in the whole load.
    #[arg(long, hide_short_help = true, value_name = "I/N")]
    pub shard: Option<Shard>,
    #[command(flatten)]
    pub start: StartArgs,
    #[command(flatten)]
    pub agents: AgentsArgs,
}

/// When it begins.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Several machines")]
pub struct StartArgs {
    /// When it begins, by this machine's clock: 2026-12-01T10:00:00Z.
    ///
    /// All is made ready before; of a load, the first request is sent then.
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = moment)]
    pub start_at: Option<Duration>,
}

/// What a part has of the whole, as typed.
pub(super) fn shared_by(text: &str) -> Result<ShardBy, String> {
    match text {
        "users" => Ok(ShardBy::Users),
        "block" => Ok(ShardBy::Block),
        _ => Err("write users or block".to_owned()),
    }
}

/// A moment, as the time since 1970.
fn moment(text: &str) -> Result<Duration, String> {
    let moment: Option<jiff::Timestamp> = text.parse().ok();
    let since = moment.and_then(|moment| u64::try_from(moment.as_microsecond()).ok());
    since.map(Duration::from_micros).ok_or_else(|| "write a day, a time and its zone: 2026-12-01T10:00:00Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_a_day_a_time_and_a_zone() {
        let ten = moment("2026-12-01T10:00:00Z").expect("a moment");
        assert_eq!(moment("2026-12-01T11:00:00.000+01:00"), Ok(ten));
        assert_eq!(moment("1970-01-01T00:00:01.5Z"), Ok(Duration::from_millis(1500)));
        for wrong in ["", "10:00", "2026-12-01", "2026-12-01T10:00:00", "1969-12-31T23:59:59Z", "soon"] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}

//! What a coordinator says on standard error while it waits.

use std::time::{Duration, Instant};

use fleet::AgentNote;

use super::item::version;
use crate::{args, exit::complain};

/// Between two lines that say the same.
const STILL: Duration = Duration::from_secs(30);

/// Lines, each once in a while.
#[derive(Debug, Default)]
pub struct Told(Option<(String, Instant)>);

impl Told {
    /// The server did not do something, and is asked again.
    pub fn trouble(&mut self, why: &str) {
        self.say(format!("NATS: {why}; it is tried again"));
    }

    /// Nothing has come for some time.
    pub fn quiet(&mut self, agents: &[AgentNote]) {
        let ours = version();
        if agents.iter().any(|agent| agent.version == ours) {
            return;
        }
        let others: Vec<String> =
            agents.iter().map(|agent| format!("{} (lab {})", agent.name, agent.program)).collect();
        self.say(match others.is_empty() {
            true => format!("no agent is there yet: start lab agent --nats URL, with lab {}", args::VERSION),
            false => format!("no agent of lab {} is there, only: {}", args::VERSION, others.join(", ")),
        });
    }

    fn say(&mut self, line: String) {
        let said = self.0.as_ref().is_some_and(|(last, at)| *last == line && at.elapsed() < STILL);
        if !said {
            complain(&line);
            self.0 = Some((line, Instant::now()));
        }
    }
}

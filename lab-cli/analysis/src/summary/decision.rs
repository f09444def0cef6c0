//! End of a comparison that ran until it was decided.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::counted;

/// What each look found, and why no further block was run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SequentialOutcome {
    /// The most blocks that might have run.
    pub most_blocks: u32,
    /// Those that the run came to.
    pub looks: Vec<LookFound>,
    /// Why it ended; `None`: it was stopped before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<DecisionEnd>,
    /// What is not decided after the last look.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<Undecided>,
}

/// A look.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LookFound {
    /// After so many blocks.
    pub blocks: u32,
    /// The level that it spent.
    pub level: f64,
    /// Comparisons that are decided at it.
    pub decided: usize,
    /// All that decide the run.
    pub of: usize,
}

/// Why no further block is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionEnd {
    /// Everything that decides the run is known.
    Decided,
    /// The most blocks have run.
    MostBlocks,
    /// Some comparison has no figures: no number of blocks decides it.
    NeverDecided,
}

/// A comparison that is not decided.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Undecided {
    /// The arm that is compared.
    pub policy: String,
    /// Why it is not decided, in words.
    pub why: String,
}

impl SequentialOutcome {
    /// `decided after 16 blocks (looks after 8, 16; at most 64)`
    pub fn in_words(&self) -> String {
        let looks: Vec<String> = self.looks.iter().map(|look| look.blocks.to_string()).collect();
        let Some(last) = self.looks.last() else {
            return format!(
                "not decided: no look was reached (at most {})",
                counted(self.most_blocks as usize, "block")
            );
        };
        let found = format!("{} of {}", last.decided, counted(last.of, "comparison"));
        let how = match self.ended {
            Some(DecisionEnd::Decided) => "decided".to_owned(),
            Some(DecisionEnd::MostBlocks) => format!("{found} decided, and no more blocks are allowed"),
            Some(DecisionEnd::NeverDecided) => format!("{found} decided, and no number of blocks decides the rest"),
            None => format!("{found} decided when the run was stopped"),
        };
        let after = counted(last.blocks as usize, "block");
        format!("{how} after {after} (looks after {}; at most {})", looks.join(", "), self.most_blocks)
    }

    /// A line for each comparison that is not decided.
    pub fn open_points(&self) -> impl Iterator<Item = String> {
        self.undecided.iter().map(|Undecided { policy, why }| format!("{policy} is not decided: {why}"))
    }
}

//! Parts of a run that several machines carry out.

use std::{net::SocketAddr, path::Path};

use analysis::{
    FolderError,
    live::TimelineSecond,
    manifest::ShardBy,
    record::{ArmRecord, PartFacts, PartStart},
    sha256,
    whole_arm::{self, WholeArm, whole_arm},
};
use health::clock::{Start, boot, wall_error};
use measure::Shard;
use traces::UserModel;

use crate::store::folder::ResultsFolder;

/// A part of a run.
#[derive(Debug, Clone)]
pub struct RunShare {
    /// Which of how many.
    pub shard: Shard,
    /// What it has of the whole.
    pub of: ShareOf,
}

/// What a part has of the whole.
#[derive(Debug, Clone)]
pub enum ShareOf {
    /// Blocks.
    Blocks,
    /// Users of its one arm.
    Users(UsersShare),
}

/// Users of one load, of which other generators send the rest.
#[derive(Debug, Clone, Default)]
pub struct UsersShare {
    /// When the load begins; `None`: once all is set up.
    pub start: Option<Start>,
    /// Where the service is that another part has started; `None`: it is this one's.
    pub target_at: Option<String>,
    /// Where the service of this part listens; `None`: on loopback.
    pub listen: Option<SocketAddr>,
    /// Its beginning as a coordinator told it; `None`: by this machine's clock.
    pub began: Option<PartStart>,
}

impl RunShare {
    /// Users of a load on a service that runs already.
    pub fn of_users(shard: Shard) -> Self {
        Self { shard, of: ShareOf::Users(UsersShare::default()) }
    }

    /// Users, where users are shared.
    pub fn users(&self) -> Option<&UsersShare> {
        match &self.of {
            ShareOf::Blocks => None,
            ShareOf::Users(users) => Some(users),
        }
    }

    /// As manifests have it.
    pub fn by(&self) -> ShardBy {
        if self.users().is_some() { ShardBy::Users } else { ShardBy::Block }
    }

    /// True if this block is run here.
    pub fn has_block(&self, block: u32) -> bool {
        self.users().is_some() || self.shard.holds(u64::from(block - 1))
    }
}

/// The beginning of a part, by this machine's clock as it is set before it.
pub fn beginning(start: Start) -> PartStart {
    PartStart {
        unix_us: u64::try_from(start.wall().as_micros()).unwrap_or(u64::MAX),
        error_us: wall_error().and_then(|error| u64::try_from(error.as_micros()).ok()),
        kernel: sha256::of(boot().as_bytes()),
    }
}

/// Facts about a part. `plan`: the digest of the whole plan.
pub fn facts(plan: String, began: Option<PartStart>) -> PartFacts {
    PartFacts { lab: env!("CARGO_PKG_VERSION").to_owned(), plan, began, agent: None, stopped: None }
}

/// Parts of an arm's users that agents have sent.
#[derive(Debug)]
pub struct AgentParts {
    /// Their names, in the order of parts, whether or not their records came.
    pub agents: Vec<String>,
    /// The digest of the whole plan.
    pub plan: String,
    /// The model that users walk, if they have one.
    pub model: Option<UserModel>,
    pub records: Vec<ArmRecord>,
}

impl AgentParts {
    /// Makes an arm's record that of the whole, without figures of its own, and gives what the parts add up to.
    pub fn whole(
        &self,
        record: &mut ArmRecord,
        folder: &Path,
        seconds: &[TimelineSecond],
    ) -> Result<WholeArm, FolderError> {
        let of = u32::try_from(self.agents.len()).unwrap_or(u32::MAX);
        (record.measured, record.parts) = (None, of);
        record.agents.clone_from(&self.agents);
        let found = |shard: Shard| self.records.iter().find(|part| part.seen.part == Some(shard)).cloned();
        let parts = (1..=of).filter_map(|number| Shard::new(number, of)).map(|shard| Ok((shard, found(shard))));
        whole_arm(folder, (record, parts), (Some(&self.plan), env!("CARGO_PKG_VERSION")), self.model.as_ref(), seconds)
    }

    /// Writes the parts' records beside that of the whole.
    pub fn save(&self, label: &str, block: u32, folder: &mut ResultsFolder) -> Result<(), FolderError> {
        let named = self.records.iter().filter_map(|part| Some((part.seen.part?, part)));
        named.into_iter().try_for_each(|(shard, part)| folder.put(&whole_arm::file_name(label, block, shard), part))
    }
}

//! The costs of a plant: the contents of a plant file.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use workloads::sim::LinkSpec;

use super::measured_service::MeasuredService;

/// What [`PlantSpec::measured`] says of a debug build.
pub const DEBUG_BUILD: &str = "debug build, of no use";

/// The program and the machine that measured a plant, and the verdict on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantOrigin {
    /// Version of the lab.
    pub lab: String,
    /// Processors of the machine.
    pub cores: u64,
    /// Their model; empty where the kernel does not name it.
    #[serde(default)]
    pub cpu: String,
    /// `VALID`, `WARN` or `INVALID`.
    pub verdict: String,
    /// Codes of the gates that found something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// The costs of a plant: times in milliseconds of a whole core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlantSpec {
    /// The source of the numbers: machine, date, command.
    pub measured: String,
    /// What measured it, and how well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_by: Option<PlantOrigin>,
    /// The number of cores that all work shares.
    pub cores: u32,
    /// The one-way delay between users and service, milliseconds.
    pub link_ms: f64,
    /// Accepting a connection.
    pub accept_ms: f64,
    /// Reading a request, whatever its end.
    pub read_ms: f64,
    /// Refusing a request that was read.
    pub refuse_ms: f64,
    /// Policing a request by batches, in addition to reading it: where the policy at dispatch is a sentry.
    pub police_batch_ms: f64,
    /// Policing a request by a threshold.
    pub police_threshold_ms: f64,
    /// Answering a health check, in addition to reading it.
    pub check_ms: f64,
    /// An open connection, for each second.
    pub idle_ms: f64,
    /// The memory of an open connection, thousands of bytes.
    pub connection_kb: f64,
    /// The memory of a request from its reading to its answer, thousands of bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub request_kb: f64,
    /// The memory of the machine, millions of bytes; 0: not emulated.
    pub memory_mb: f64,
    /// The time from the crash of a process whose memory passes `memory_mb` to its restart; 0: it does not crash.
    #[serde(skip_serializing_if = "is_zero")]
    pub restart_ms: f64,
    /// One extra database operation (Arashi's work knob).
    pub operation_ms: f64,
    /// One read of the checksum service.
    pub checksum_read_ms: f64,
    /// The number of connections for changes: SQLite has one writer.
    pub writers: u32,
    /// The factor by which all work takes longer while one connection for reading is in use, two, …; the last holds for
    /// more, and an empty list means no difference. Arashi's threads hand each operation over and back; the more of
    /// them are busy, the fewer of these hand-overs put one to sleep and wake another.
    pub slowdown: Vec<f64>,
    /// Costs by request type.
    pub types: BTreeMap<String, TypeCost>,
    /// A service that is not the lab's, as it was measured from outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<MeasuredService>,
}

/// The cost of a request of one type in addition to reading it, without extra operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TypeCost {
    /// Work outside of the database.
    pub cpu_ms: f64,
    /// Work on one of the connections for reading.
    pub read_ms: f64,
    /// Work on the connection for changes.
    pub write_ms: f64,
    /// The spread: standard deviation of the logarithm, 0 for none. It leaves the mean unchanged.
    pub spread: f64,
}

/// A number of a plant that is out of its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plant: {what} must be {wanted}")]
pub struct PlantNumberError {
    /// Its key.
    pub what: String,
    /// Its range.
    pub wanted: &'static str,
}

impl Default for PlantSpec {
    /// An empty plant with one core and without costs.
    fn default() -> Self {
        Self {
            measured: String::new(),
            measured_by: None,
            cores: 1,
            link_ms: 0.03,
            accept_ms: 0.0,
            read_ms: 0.0,
            refuse_ms: 0.0,
            police_batch_ms: 0.0,
            police_threshold_ms: 0.0,
            check_ms: 0.0,
            idle_ms: 0.0,
            connection_kb: 0.0,
            request_kb: 0.0,
            memory_mb: 0.0,
            restart_ms: 0.0,
            operation_ms: 0.0,
            checksum_read_ms: 0.0,
            writers: 1,
            slowdown: Vec::new(),
            types: BTreeMap::new(),
            service: None,
        }
    }
}

impl PlantSpec {
    /// Whether a debug build of the lab measured it: times from outside are then those of an unoptimised sender too.
    #[must_use]
    pub fn from_debug_build(&self) -> bool {
        self.measured.contains(DEBUG_BUILD)
    }

    /// The link between users and service.
    #[must_use]
    pub fn link(&self) -> LinkSpec {
        LinkSpec { delay: ms(self.link_ms), ..LinkSpec::default() }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// The first invalid number.
    pub fn check(&self) -> Result<(), PlantNumberError> {
        let times = [
            ("link_ms", self.link_ms),
            ("accept_ms", self.accept_ms),
            ("read_ms", self.read_ms),
            ("refuse_ms", self.refuse_ms),
            ("police_batch_ms", self.police_batch_ms),
            ("police_threshold_ms", self.police_threshold_ms),
            ("check_ms", self.check_ms),
            ("idle_ms", self.idle_ms),
            ("operation_ms", self.operation_ms),
            ("checksum_read_ms", self.checksum_read_ms),
            ("restart_ms", self.restart_ms),
        ];
        let of_types = self.types.iter().flat_map(|(name, cost)| {
            let times = [("cpu_ms", cost.cpu_ms), ("read_ms", cost.read_ms), ("write_ms", cost.write_ms)];
            times.map(|(field, time)| (format!("{name}.{field}"), time))
        });
        let mut all = times.map(|(name, time)| (name.to_owned(), time)).into_iter().chain(of_types);
        if let Some((what, _)) = all.find(|(_, time)| !(0.0..=3.6e6).contains(time)) {
            return Err(PlantNumberError { what, wanted: "a time from 0 to an hour, in milliseconds" });
        }
        if let Some((name, _)) = self.types.iter().find(|(_, cost)| !(0.0..=3.0).contains(&cost.spread)) {
            return Err(PlantNumberError { what: format!("{name}.spread"), wanted: "a number from 0 to 3" });
        }
        if self.slowdown.iter().any(|factor| !(0.1..=10.0).contains(factor)) {
            return Err(PlantNumberError { what: "slowdown".to_owned(), wanted: "a list of factors from 0.1 to 10" });
        }
        let sizes =
            [("connection_kb", self.connection_kb), ("request_kb", self.request_kb), ("memory_mb", self.memory_mb)];
        for (what, size) in sizes {
            if !(0.0..=1e9).contains(&size) {
                return Err(PlantNumberError { what: what.to_owned(), wanted: "a size from 0 to 1e9" });
            }
        }
        if self.restart_ms > 0.0 && self.memory_mb == 0.0 {
            return Err(PlantNumberError {
                what: "memory_mb".to_owned(),
                wanted: "over 0 where restart_ms is: a task crashes beyond its memory",
            });
        }
        if let Some(service) = &self.service {
            service.check().map_err(|(what, wanted)| PlantNumberError { what, wanted })?;
        }
        if !(1..=1024).contains(&self.cores) {
            return Err(PlantNumberError { what: "cores".to_owned(), wanted: "a number from 1 to 1024" });
        }
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// A checked time in milliseconds as a duration.
#[must_use]
pub fn ms(time: f64) -> Duration {
    Duration::from_nanos((time * 1e6).round() as u64)
}

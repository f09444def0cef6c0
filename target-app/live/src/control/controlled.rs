//! What the control port reads and changes: a service, or a proxy before one.

use std::fmt;

use controllers::PeerReport;
use serde_json::Value;
use service_core::events::Events;
use spec::{
    WorkSpec,
    wire::{Gauges, Halted, InjectFault, Policies, ReadRequests, SetCallees, SetMachines, SetPolicy},
};

use crate::{clock::ServiceClock, reports::Reports};

/// A form of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigForm {
    /// As people write files.
    Yaml,
    /// As programs do.
    Json,
}

/// A running process behind a control port. Changes return everything that is wrong with them; then nothing has changed.
pub trait Controlled: fmt::Debug + Send + Sync + 'static {
    /// The clock of all its sites.
    fn clock(&self) -> ServiceClock;

    /// False: paths that only an experiment uses are not there.
    fn is_in_experiment(&self) -> bool;

    /// The current gauges of all sites and ledgers.
    fn gauges(&self) -> Gauges;

    /// The numbers of the requests that were read.
    fn requests(&self) -> ReadRequests;

    /// The policy at each site, and the names of all policies.
    fn policies(&self) -> Policies;

    /// The event stream.
    fn events(&self) -> &Events;

    /// The outgoing usage reports; `None` if no host carries them.
    fn reports(&self) -> Option<&Reports>;

    /// Delivers a report to the site that it names.
    fn hear(&self, report: PeerReport);

    /// Switches the policy, at one site or at all.
    fn set_policy(&self, change: &SetPolicy) -> Result<(), Vec<String>>;

    /// Switches the machines, at one stage or at all.
    fn set_machines(&self, change: &SetMachines) -> Result<(), Vec<String>>;

    /// The settings in force, as a file has them.
    fn config(&self, form: ConfigForm) -> Result<String, Vec<String>>;

    /// Changes the settings as a whole.
    fn configure(&self, settings: &Value) -> Result<(), Vec<String>>;

    /// Changes the settings that `part` names.
    fn amend(&self, part: &Value) -> Result<(), Vec<String>>;

    /// Replaces the policies of the process's own calls by new ones of the same kind.
    fn renew_callers(&self);

    /// Sends the process's next calls to these tasks.
    fn set_callees(&self, change: &SetCallees) -> Result<(), Vec<String>>;

    /// Turns the work knob.
    fn set_work(&self, work: &WorkSpec) -> Result<(), Vec<String>>;

    /// Injects a fault for a limited time.
    fn hinder(&self, hinder: &InjectFault) -> Result<(), Vec<String>>;

    /// Refuses new requests from now on; admitted requests are finished.
    fn drain(&self);

    /// Stops the process, in order.
    fn stop(&self);

    /// Lets nothing happen any more, for good. Returns what was counted until then.
    fn halt(&self) -> Result<Halted, Vec<String>>;
}

//! The panels of a run, and of a trace.

/// One of them; each can have the screen for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Panel {
    /// Requests a second.
    Rates,
    /// Response time against the target.
    Times,
    /// Outcomes other than answers in time, as a stack.
    Outcomes,
    /// The service's stages and their policies.
    Stages,
    /// Requests by type and by class.
    Groups,
    /// Users by what they do.
    Users,
    /// Arms that are over.
    Arms,
    /// Events, newest last.
    Log,
    /// Waiting rooms and sentries.
    Doors,
    /// Agents that send the load.
    Agents,
}

/// The panels of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Requests and sessions over time.
    Time,
    /// Actions: how often, how long, how large.
    Mix,
    /// Ways from page to page.
    Matrix,
    /// Pauses.
    Think,
    /// Sessions.
    Sessions,
    /// The account of its import: entries read, merged, dropped and not understood.
    Account,
}

/// The screen that is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Screen {
    /// Experiments to choose from.
    #[default]
    Home,
    /// Arms and parameters of one.
    Setup,
    /// A run.
    Live,
    /// A load on one URL (`lab load`).
    Load,
    /// A run that is over, on the same panels.
    Replay,
    /// Runs that are over.
    Past,
    /// Arms and runs side by side.
    Compare,
    /// A trace: rate, mix, ways, pauses, sessions.
    Trace,
}

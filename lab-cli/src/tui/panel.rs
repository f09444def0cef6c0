//! The panels of a run, and of a trace.

/// One of them; each can have the screen for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Panel {
    /// Requests a second.
    Rates,
    /// Response time against the target.
    Times,
    /// What went wrong, as a stack.
    Outcomes,
    /// The service's stages and their policies.
    Stages,
    /// Requests by type and by class.
    Groups,
    /// Users by what they do.
    Users,
    /// Arms that are over.
    Arms,
    /// What happened.
    Log,
    /// Waiting rooms and sentries.
    Doors,
}

/// Those of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Requests and sessions over time.
    Time,
    /// Actions: how often, how long, how large.
    Mix,
    /// From page to page.
    Matrix,
    /// Pauses.
    Think,
    /// Sessions.
    Sessions,
    /// What its import read, merged, dropped and did not understand.
    Account,
}

/// What is on the terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Screen {
    /// Experiments to choose from.
    #[default]
    Home,
    /// Arms and parameters of one.
    Setup,
    /// A run.
    Live,
    /// A run that is over, on the same panels.
    Replay,
    /// Runs that are over.
    Past,
    /// Arms and runs side by side.
    Compare,
    /// What a trace has.
    Trace,
}

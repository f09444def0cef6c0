//! Formats of logs.

/// A format that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// A packet capture.
    Capture,
    /// Lines of Dovecot and Courier, and Dovecot's events.
    MailLog,
    /// One side of a Dovecot session.
    Rawlog,
    /// A Cyrus session.
    Telemetry,
    /// Roundcube's imap log.
    Roundcube,
    /// Common or Combined log format.
    AccessLog,
    /// A browser's recording.
    Har,
    /// h2load's timing script.
    Script,
    /// A trace: it needs no import.
    Trace,
}

impl Format {
    /// The format's name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capture => "packet capture",
            Self::MailLog => "mail log",
            Self::Rawlog => "Dovecot rawlog",
            Self::Telemetry => "Cyrus telemetry",
            Self::Roundcube => "Roundcube imap log",
            Self::AccessLog => "access log",
            Self::Har => "HAR",
            Self::Script => "h2load timing script",
            Self::Trace => "trace",
        }
    }
}

//! The reasons that keep a proxy from serving.

use live_service::serve::ServeError;

/// The error that kept a proxy from serving.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// A setting that makes no sense, with its key.
    #[error("{key}: {message}")]
    Setting {
        /// The key, dotted.
        key: &'static str,
        /// The error and its correction.
        message: String,
    },
    /// Several of these, or one that has its key already.
    #[error("{}", .0.join("\n"))]
    Settings(Vec<String>),
    /// An error that keeps a service from serving too: a policy that does not exist, an address that cannot be bound.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

impl ProxyError {
    pub(super) fn setting(key: &'static str, message: impl Into<String>) -> Self {
        Self::Setting { key, message: message.into() }
    }
}

//! The answer to a request that is refused.

use std::{error::Error, fmt, time::Duration};

use controllers::{Note, Reason, RetryHint, site::TurnedAway};

/// A refusal of the policy, with its advice on retrying. As an error, it is what a client's layer returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The reason; `None` at a client, whose policies do not give one.
    pub reason: Option<Reason>,
    /// Advice on retrying.
    pub retry: RetryHint,
    /// The note of the policy to the sender's policy.
    pub note: Option<Note>,
}

impl Refused {
    pub(crate) fn at_server(TurnedAway { refusal, note }: TurnedAway) -> Self {
        Self { reason: Some(refusal.reason), retry: refusal.retry, note }
    }

    pub(crate) fn at_client(retry: RetryHint) -> Self {
        Self { reason: None, retry, note: None }
    }

    /// The time after which a retry can succeed, if the policy says one.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self.retry {
            RetryHint::After(wait) => Some(wait),
            RetryHint::Unsaid | RetryHint::Never => None,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("refused by admission control")?;
        if let Some(reason) = self.reason {
            write!(f, " ({})", reason.name())?;
        }
        match self.retry {
            RetryHint::Unsaid => Ok(()),
            RetryHint::After(wait) => write!(f, "; retry after {wait:?}"),
            RetryHint::Never => f.write_str("; do not retry"),
        }
    }
}

impl Error for Refused {}

/// A boxed error, as in other layers of tower.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Answers a request that is refused.
pub trait OnRefusal<Req, Res, Err> {
    /// The error of the service round the inner one.
    type Error;

    /// The answer to a request that is refused.
    ///
    /// # Errors
    /// Where a refusal is an error.
    fn refuse(&self, request: Req, refused: Refused) -> Result<Res, Self::Error>;

    /// The inner service's error as one of the outer service.
    fn error(&self, error: Err) -> Self::Error;
}

/// Refuses with the response that a closure builds: see [`crate::AdmissionLayer::refuse_with`].
#[derive(Clone)]
pub struct RefuseWith<F>(pub(crate) F);

impl<F> fmt::Debug for RefuseWith<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefuseWith(..)")
    }
}

impl<Req, Res, Err, F: Fn(Req, Refused) -> Res> OnRefusal<Req, Res, Err> for RefuseWith<F> {
    type Error = Err;

    fn refuse(&self, request: Req, refused: Refused) -> Result<Res, Err> {
        Ok((self.0)(request, refused))
    }

    fn error(&self, error: Err) -> Err {
        error
    }
}

/// Refuses with the error [`Refused`], boxed: the default at clients.
#[derive(Debug, Clone, Copy, Default)]
pub struct RefuseWithError;

impl<Req, Res, Err: Into<BoxError>> OnRefusal<Req, Res, Err> for RefuseWithError {
    type Error = BoxError;

    fn refuse(&self, _: Req, refused: Refused) -> Result<Res, BoxError> {
        Err(Box::new(refused))
    }

    fn error(&self, error: Err) -> BoxError {
        error.into()
    }
}

//! What a policy is told about the end of a request.

use controllers::Outcome;

/// Says how a request ended. Closures `Fn(Result<&Response, &Error>) -> Outcome` do.
pub trait Outcomes<Res, Err> {
    /// The outcome of a response or an error.
    fn outcome(&self, result: Result<&Res, &Err>) -> Outcome;
}

impl<Res, Err, F: Fn(Result<&Res, &Err>) -> Outcome> Outcomes<Res, Err> for F {
    fn outcome(&self, result: Result<&Res, &Err>) -> Outcome {
        self(result)
    }
}

/// A response is a success, whatever it says, and an error a failure.
#[derive(Debug, Clone, Copy, Default)]
pub struct ErrorsAreFailures;

impl<Res, Err> Outcomes<Res, Err> for ErrorsAreFailures {
    fn outcome(&self, result: Result<&Res, &Err>) -> Outcome {
        if result.is_ok() { Outcome::Served } else { Outcome::Failed }
    }
}

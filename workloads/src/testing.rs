//! Users against a service that is a function, in virtual time: for tests of users.

mod function;
mod plans;

pub use crate::sim::{Mailboxes, Response};
pub use function::{Reaction, run, run_where};
pub use plans::{home, url_plan};

#[cfg(test)]
mod tests;

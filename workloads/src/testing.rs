//! Users against a service that is a function, in virtual time: for tests of users, and the seed of a simulator.

mod fake_mail;
mod plans;
mod virtual_host;

pub use fake_mail::FakeMail;
pub use plans::{home, url_plan};
pub use virtual_host::{Reaction, Response, run};

#[cfg(test)]
mod tests;

//! Who sends.
#![warn(missing_docs)]

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "hosts need to know the time: they read it here"
)]
pub mod clock;
pub mod health;
pub mod http1;
pub mod persona;
pub mod plan;

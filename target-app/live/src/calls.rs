//! Calls of a live service to other services, over kept connections.

pub mod asking;
mod callees;
mod caller;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use caller::Callers;

//! A policy of the catalogue as an HTTP filter of Envoy 1.40: a dynamic module, configured by JSON (docs/envoy.md).
//!
//! The workers of a process share one policy, so that a limit of 20 is one of 20 for the process. Requests that the policy holds wait in
//! Envoy; a thread of the module wakes it when it has work, and has it publish counts and gauges once a second. Whatever goes wrong
//! inside lets requests through.

mod abi;
mod config;
mod hooks;
mod host;
mod metrics;
mod stream;
mod tags;

//! The service's edge as the network sees it: raw bytes to `lab serve`, with Arashi and with an emulated service.

mod conformance;
mod control;
mod crowd;
mod download;
mod rfc9112;
mod security_headers;
mod service;
mod smuggling;
mod wire;

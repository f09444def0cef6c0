//! A service without I/O: what live services and plants in virtual time share of the way of a request.

pub mod calls;
pub mod class;
pub mod events;
pub mod ledger;
pub mod load_report;
pub mod mail;
pub mod own_headers;
pub mod policies;
pub mod request;
pub mod route;
pub mod synthetic;
pub mod tree;
pub mod waiting_room;

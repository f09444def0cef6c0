//! Arashi: the web-mail service of the paper (USITS'03, section 4.1; Welsh's thesis, chapter 6.3).

mod answer;
mod arashi;
pub mod corpus;
pub mod deliver;
pub mod html;
pub mod import;
mod input;
mod limited_log;
mod pages;
pub mod parse;
pub mod password;
mod session;
mod sign_in;
pub mod store;

pub use arashi::Arashi;

//! Arashi: the web-mail service of the paper (USITS'03, section 4.1; Welsh's thesis, chapter 6.3).

pub mod clean;
pub mod corpus;
pub mod html;
pub mod import;
pub mod parse;
pub mod password;
pub mod store;

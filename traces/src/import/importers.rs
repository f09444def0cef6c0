//! The importers: for each format a file with all that is known of it, and a line in the list below.

mod capture;
mod mail_log;
pub mod rawlog;
mod roundcube;
mod telemetry;
mod web;

use super::importer::{Importer, Reads};
use crate::{
    spread::UserSpread,
    tally::{FileTally, Tally},
};

macro_rules! formats {
    ($($format:ident: $importer:path,)*) => {
        /// A format that can be imported.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Format {
            $(#[doc = concat!("The format of `", stringify!($importer), "`.")] $format,)*
        }

        /// All formats with their importers.
        pub const IMPORTERS: &[(Format, &Importer)] = &[$((Format::$format, &$importer)),*];
    };
}

// An error names them in this order. If equally many lines are of two formats, the file is of the later one.
formats! {
    MailLog: mail_log::IMPORTER,
    Rawlog: rawlog::IMPORTER,
    Capture: capture::IMPORTER,
    Telemetry: telemetry::IMPORTER,
    Roundcube: roundcube::IMPORTER,
    AccessLog: web::ACCESS_LOG,
    Har: web::HAR,
    Script: web::SCRIPT,
}

impl Tally {
    /// How its actions are spread over users.
    #[must_use]
    pub fn spread(&self) -> UserSpread {
        let recordings = || IMPORTERS.iter().filter(|(_, importer)| matches!(importer.reads, Reads::Recording(_)));
        let is_of_one = |file: &FileTally| recordings().any(|(_, importer)| importer.name == file.format);
        UserSpread {
            users: self.users,
            requests: self.actions,
            busiest: self.busiest,
            sessions: self.sessions,
            login_only: self.login_only,
            of_one: self.files.iter().all(is_of_one),
        }
    }
}

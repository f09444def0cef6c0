//! The importers: for each format a file with all that is known of it, and a line in the list below.

mod capture;
mod mail_log;
pub mod rawlog;
mod roundcube;
mod telemetry;
mod web;

use super::importer::Importer;

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

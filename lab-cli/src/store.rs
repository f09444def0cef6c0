//! Runs on disk: the folder that a run writes, where it is found again, and the index of past runs.

pub mod folder;
pub mod histograms;
pub mod history;
mod named_run;
mod schema_file;
pub mod seconds_log;

pub use folder::{new_search, new_suite, put_in_place, rfc3339, utc};
pub use named_run::{RUNS, named as find_run};
pub use schema_file::write_beside as write_schema_beside;

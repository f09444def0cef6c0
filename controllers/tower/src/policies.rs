//! Policies as types: a builder for each, with a method for each parameter.
//!
//! They are generated from the catalogue, from the rows that also check the settings of experiment files and print the
//! tables of `lab policies`: names, units, ranges,
//! defaults and sources are those. A value out of range is an error of [`crate::AdmissionLayer::build`].
//!
//! ```
//! use tower_admission::{AdmissionLayer, policies::Gradient2};
//!
//! let layer = AdmissionLayer::new(Gradient2::default().limit_initial(50).limit_max(500));
//! ```

use std::time::Duration;

use controllers::{Settings, catalogue::Setting};

use crate::{IntoSetting, PolicyChoice};

include!(concat!(env!("OUT_DIR"), "/policies.rs"));

/// Sets a value in a table of a policy's settings.
fn set_in_table(settings: &mut Settings, table: &str, key: String, value: Setting) {
    let entry = settings.entry(table.to_owned()).or_insert_with(|| Setting::Map(Settings::new()));
    if let Setting::Map(entries) = entry {
        entries.insert(key, value);
    }
}

//! Many settings in virtual time: `lab sweep` and `lab tune`.
//!
//! A *case* is an experiment with some keys set; the *bench* runs cases on seeds, on all cores, and keeps each run in a *journal*, from
//! which a killed search goes on. What comes of a run is its phases alone: no folder, no timeline.

mod bench;
mod journal;
mod knob;
mod range;

pub use bench::{Bench, BenchError, CaseFound, Seed, SweepCase, SweepFile, seeds};
pub use journal::Journal;
pub use knob::{Knob, KnobSearch, knobs};
pub use range::{Grid, Spread, spread};

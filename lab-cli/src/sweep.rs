//! Many settings in virtual time: `lab sweep` and `lab tune`.
//!
//! A *case* is an experiment with some keys set; the *bench* runs cases on seeds, on all cores or those of other machines, and keeps each run in a *journal*, from
//! which a killed search goes on. What comes of a run is its phases alone: no folder, no timeline.

mod bench;
mod journal;
mod knob;
mod pool;
mod range;
mod run;

pub use bench::{Bench, CaseFound, SweepCase, SweepFile, seeds};
pub use journal::Journal;
pub use knob::{Knob, KnobSearch, knobs};
pub use pool::{BenchError, HearPool, PoolNews, RunPool, Threads};
pub use range::{Grid, Spread, spread};
pub use run::{Seed, SweepRun, SweepWorld};

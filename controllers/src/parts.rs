//! What policies are made of.
//!
//! | part | what it does |
//! |---|---|
//! | [`Ewma`], [`PercentileOfN`], [`WindowCounts`], [`RunningJobs`] | *estimate*: an average, a percentile, counts over a sliding window, the jobs in progress |
//! | [`Aimd`], [`Pid`] | *laws*: from an error to the next setting |
//! | [`LimitLaw`] in a [`Limiter`] | a limit on jobs in flight: the law computes it from [`LimitSample`]s, the limiter decides; [`SampleWindow`] makes one sample of many jobs, [`Ends`] says how an end counts ([`Counted`]) |
//! | [`TokenBucket`] | *enforces* a rate |
//! | [`JobQueue`] | the jobs that a queue discipline holds, any of which may leave; [`hold`], [`Head`], [`LinuxCodel`] and [`FollyCodel`] are the parts of disciplines |
//! | [`Guard`]s in [`Guarded`] | mechanisms that refuse or abstain, one after the other; [`Attempts`] advises senders on retrying |
//! | [`LevelCursor`] | the levels of priority that are admitted |
//!
//! All of them get the time as an argument, and none of them allocates per job but [`JobQueue`] and [`RunningJobs`].
//! A limit law with its limiter is a whole policy: `docs/policies.md` writes one from start to verdict.

pub use crate::{
    estimate::{Ewma, PercentileOfN, RunningJobs, WindowCounts},
    law::{Aimd, AimdStep, Increase, Pid},
    modern::{
        codel::{FollyCodel, LinuxCodel},
        dagor::LevelCursor,
        discipline::{self, Head, hold},
        limiter::{self, Counted, Ends, EndsParams, LimitLaw, LimitSample, Limiter, SampleWindow},
    },
    primitives::{JobQueue, TokenBucket, TokenClock},
    sre::{
        attempts::{Attempts, AttemptsParams},
        guard::{Guard, Guarded},
    },
};

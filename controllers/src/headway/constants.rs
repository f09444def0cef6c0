//! Constants of the law, beside those of `estimate::need`. None is a rate, a time or a size of a service: they are shares, ratios and
//! numbers of samples.

/// Limit at the start: enough for small services, and few doublings away from large ones.
pub const FIRST_LIMIT: f64 = 4.0;

/// Largest limit: no limit at all to any service, and a number to compute with.
pub const MOST_LIMIT: f64 = 1e6;

/// Jobs in a generation of the start, at least: the mean of so many exponential times is known to a quarter.
pub const GENERATION: f64 = 16.0;

/// Ratio of a generation's mean time to the healthy one up to which nothing queues.
pub const START_ROOM: f64 = 1.3;

/// Standard errors over the healthy time from which a generation queues, if it is over [`START_ROOM`] too.
pub const START_DOUBT: f64 = 3.0;

/// Multiple of the known time as which a job of the start counts at most: a single long one of a wide law is no queue.
pub const START_LONGEST: f64 = 4.0;

/// Share of the objective that a job may take inside at the start: twice as many must not make all late.
pub const START_MOST: f64 = 0.5;

/// Ends in a window: the number of 64 random ends varies by an eighth.
pub const WINDOW_ENDS: u32 = 64;

/// Shortest window, in objectives: most of what ends in it was let in by the limit of its time.
pub const WINDOW_LEAST: f64 = 0.5;

/// Longest window, in objectives, after which fewer ends must do.
pub const WINDOW_MOST: f64 = 4.0;

/// Share of a window with jobs waiting at the door from which the limit counts as binding.
pub const LIMITED: f64 = 0.3;

/// Raise of the limit in every second window. A dip in its place would cost throughput whenever the limit is at the knee.
pub const DITHER: f64 = 0.3;

/// Raise of the limit in a window of which no baseline explains the time inside: more is learnt at once where more is at stake.
pub const BOLD: f64 = 1.0;

/// Ratio of the time inside to the time to rest at from which it is not explained.
pub const BOLD_CROWD: f64 = 1.5;

/// Elasticity before the first pair of windows: neither more nor less is called for.
pub const ELASTICITY_PRIOR: f64 = 0.35;

/// Variance of the elasticity before the first pair: it lies between 0 and 1.
pub const ELASTICITY_DOUBT: f64 = 0.12;

/// Variance that is added a pair, since load and service change: a pair of 64 ends then weighs a fifth.
pub const ELASTICITY_DRIFT: f64 = 0.02;

/// Largest observed elasticity that counts: a single pair of windows must not outweigh all others.
pub const ELASTICITY_MOST: f64 = 2.0;

/// Elasticity over which more inside buys more answers: halfway between saturation (0) and proportion (1).
pub const BELOW_KNEE: f64 = 0.5;

/// Elasticity under which more inside buys nothing.
pub const ABOVE_KNEE: f64 = 0.2;

/// Elasticity that is remembered after a raise: part of the evidence is used up.
pub const AFTER_RAISE: f64 = 0.45;

/// Raise of the limit while nothing queues inside, a window.
pub const GROW: f64 = 1.1;

/// Least and greatest factor of the limit above the knee, a pair of windows.
pub const DESCENT: [f64; 2] = [0.7, 0.95];

/// Factor of the limit while it is searched for downwards, a pair of windows.
pub const SEARCH_DOWN: f64 = 0.9;

/// Decay of the limit that was found too low, a pair of windows above the knee.
pub const FLOOR_DECAY: f64 = 0.99;

/// Room for waiting inside, as a share of the baseline for each share of offers that is refused. The ratio of the time inside to the
/// baseline is a common price: doors that rest at the same price refuse the same share.
pub const ROOM_BY_REFUSALS: f64 = 0.4;

/// Share of refusals that counts at least: the mean of a window varies by an eighth, and a quarter of room is not lost in that.
pub const REFUSALS_LEAST: f64 = 0.5;

/// Weight of a window in the share of refusals.
pub const REFUSALS_GAIN: f64 = 0.2;

/// Weight of a window of [`WINDOW_ENDS`] in the baseline.
pub const BASELINE_GAIN: f64 = 0.1;

/// Standard errors below the baseline at which a limited window counts as faster: one in 160 by chance.
pub const FASTER: f64 = 2.5;

/// Ratio of jobs inside over which a trend is read: over less, noise decides.
pub const TREND: f64 = 1.5;

/// Trend of the time inside over the jobs inside that divides service (0) from queue (1).
pub const QUEUE_TREND: f64 = 0.5;

/// Pairs of windows without a claim after the first that was refuted, and the most after many.
pub const PAUSE: [f64; 2] = [4.0, 64.0];

/// Share of ends later than the objective, beyond that of health, that calls for the emergency rule.
pub const EMERGENCY: f64 = 0.2;

/// Ratio of the time inside to the baseline from which lateness comes of a queue.
pub const EMERGENCY_CROWD: f64 = 1.5;

/// Factor of the limit at an emergency, a window.
pub const EMERGENCY_CUT: f64 = 0.6;

/// Share of the objective that may be spent inside at an emergency (Little's law).
pub const EMERGENCY_BUDGET: f64 = 0.4;

/// Part of a customer's admissions that is remembered after a window.
pub const SHARE_MEMORY: f64 = 0.9;

//! Parameters of an entry: the macro that declares them, and their types.
//!
//! Each constructor gives the type, the range (both ends allowed) and the default of a parameter:
//!
//! | constructor | in files | field |
//! |---|---|---|
//! | [`number`] | `0.7`; with a unit also `12.5/s` | `f64` |
//! | [`count`] | `20` | `u32` |
//! | [`time`] | `20ms`, `5s`, `15m` | [`Duration`](std::time::Duration) |
//! | [`time_or`] | the same, or nothing | `Option<Duration>` |
//! | [`flag`] | `true`, `false` | `bool` |
//! | [`choice`] | one of several words | any `Copy` type |
//! | [`STAGE_TIMES`], [`CLASS_TIMES`], [`class_numbers`], [`customer_numbers`] | a table | a `BTreeMap` |

pub use crate::{
    entry::{
        CLASS_TIMES, Choice, Count, Flag, Number, OptionalTime, ParamDeclaration, ParamReader, ParamTable, ParamType,
        Parameters, STAGE_TIMES, Time, choice, class_numbers, count, customer_numbers, flag, ms, number, s, time,
        time_or, us,
    },
    params,
};

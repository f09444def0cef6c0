//! The policies in a seat and in a closed loop. Their laws are checked by hand beside each.

mod dagor;
mod drift;
mod limits;
mod queues;
mod sharing;
mod starving;

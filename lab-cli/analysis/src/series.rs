//! A run over time, from its seconds: rows of whole numbers (a change shows as a difference of lines), and a picture.

pub mod axis;
mod rows;
#[cfg(test)]
mod tests;
pub mod value;

pub use rows::rows;

use crate::live::TimelineSecond;

/// One arm of one block, second by second.
#[derive(Debug)]
struct ArmSeries<'a> {
    name: String,
    seconds: Vec<&'a TimelineSecond>,
}

/// Arms in the order in which they ran. With several blocks each is named with its own.
fn arms(seconds: &[TimelineSecond]) -> Vec<ArmSeries<'_>> {
    let several = seconds.iter().any(|second| second.block > 1);
    let mut arms: Vec<ArmSeries<'_>> = Vec::new();
    for second in seconds {
        let name = if several { format!("{} ({})", second.arm, second.block) } else { second.arm.clone() };
        match arms.iter_mut().find(|arm| arm.name == name) {
            Some(arm) => arm.seconds.push(second),
            None => arms.push(ArmSeries { name, seconds: vec![second] }),
        }
    }
    arms
}

//! A run over time, from its seconds: rows of whole numbers (a change shows as a difference of lines), and a picture; and its
//! figures over the load, from its summary.

pub mod axis;
mod curves;
pub(crate) mod drawing;
mod picture;
mod rows;
#[cfg(test)]
mod tests;
pub mod value;

pub use curves::curves_svg;
pub use picture::svg;
pub use rows::rows;

use crate::live::TimelineSecond;

/// One arm of one block, second by second.
#[derive(Debug)]
struct Course<'a> {
    name: String,
    seconds: Vec<&'a TimelineSecond>,
}

/// Arms in the order in which they ran. With several blocks each is named with its own.
fn courses(seconds: &[TimelineSecond]) -> Vec<Course<'_>> {
    let several = seconds.iter().any(|second| second.block > 1);
    let mut courses: Vec<Course<'_>> = Vec::new();
    for second in seconds {
        let name = if several { format!("{} ({})", second.arm, second.block) } else { second.arm.clone() };
        match courses.iter_mut().find(|course| course.name == name) {
            Some(course) => course.seconds.push(second),
            None => courses.push(Course { name, seconds: vec![second] }),
        }
    }
    courses
}

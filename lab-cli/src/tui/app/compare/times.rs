//! Response times of arms as their logs have them: asked for when their picture is looked at, and kept.

use analysis::report::ArmTimes;

use super::{Compare, Course, View};
use crate::tui::requests::TimesWanted;

impl Compare {
    /// Those of an arm; `None`: they are not there yet.
    pub fn times(&self, course: Course) -> Option<&ArmTimes> {
        self.known.times.get(&course)?.as_ref()
    }

    /// What has to be read now, for the picture that is shown: once for each arm.
    pub fn times_wanted(&mut self) -> Option<TimesWanted> {
        let course = self.course().filter(|_| self.look.view == View::Latencies)?;
        if self.known.times.contains_key(&course) {
            return None;
        }
        self.known.times.insert(course, None);
        let folder = self.runs[course.run].folder.clone();
        Some(TimesWanted { folder, arm: self.arm_name(course).to_owned(), block: self.drawn_block(course.run) })
    }

    /// What was read. Of runs that are not shown any more it is of no use.
    pub fn receive_times(&mut self, of: &TimesWanted, times: ArmTimes) {
        let is_it = |course: &&Course| self.runs[course.run].folder == of.folder && self.arm_name(**course) == of.arm;
        if let Some(course) = self.courses.iter().find(is_it).copied() {
            self.known.times.insert(course, Some(times));
        }
    }
}

//! Targets of the mouse, and what a click on each does.

use super::{App, Pane, View};
use crate::{
    keymap::Action,
    panel::{Panel, Screen},
    requests::Effect,
};

/// The thing under the mouse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MouseTarget {
    /// A row of the list that is on the screen, by its number.
    Row(usize),
    /// A row of a pane of a setup.
    Setting(Pane, usize),
    /// An arm of the comparison, by its number.
    Arm(usize),
    /// The name of a figure.
    Header(usize),
    /// The tab of a picture.
    Picture(View),
    /// A second of the comparison's time axis.
    Moment(f64),
    /// A panel of a run.
    Panel(Panel),
}

impl App {
    /// The wheel moves the cursor; of a saved run, the time.
    pub fn wheel(&mut self, down: bool) -> Option<Effect> {
        let action = match (self.screen, down) {
            (Screen::Replay, true) => Action::Scroll(1),
            (Screen::Replay, false) => Action::Scroll(-1),
            (_, true) => Action::Down,
            (_, false) => Action::Up,
        };
        self.acted(action)
    }

    /// A click: what was pointed at already is chosen.
    pub fn clicked(&mut self, target: MouseTarget) -> Option<Effect> {
        if self.help.is_some() || self.overlay.menu.is_some() || self.overlay.prompt.is_some() {
            return None;
        }
        match target {
            MouseTarget::Row(row) => {
                let at = if self.screen == Screen::Past { &mut self.past.at } else { &mut self.home.at };
                if *at == row {
                    return self.acted(Action::Choose);
                }
                *at = row;
            }
            MouseTarget::Setting(pane, row) => {
                let setup = self.setup.as_mut()?;
                let again = setup.pane == pane && setup.row(pane) == row;
                setup.point(pane, row);
                if again {
                    return self.acted(if pane == Pane::Arms { Action::Tick } else { Action::Choose });
                }
            }
            MouseTarget::Arm(arm) => self.compare.at = arm,
            MouseTarget::Picture(view) => self.compare.look.view = view,
            MouseTarget::Header(column) => {
                let again = self.compare.column == column;
                self.compare.column = column;
                // The name of the figure that is looked at already sorts by it, and back.
                self.compare.look.sorted ^= again;
            }
            MouseTarget::Moment(at) => self.compare.look.moment = Some(at),
            MouseTarget::Panel(panel) => return self.acted(Action::Panel(panel)),
        }
        None
    }
}

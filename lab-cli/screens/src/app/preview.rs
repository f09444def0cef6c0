//! Preview of the experiment under the cursor: its run in virtual time, as it comes. A preview is computed elsewhere;
//! here it is asked for, kept and given up.

use std::collections::BTreeMap;

use experiment::Changes;

use crate::{
    messages::{PreviewNews, PreviewPoint, PreviewStep},
    requests::{RunOrder, ScreenJob},
};

/// Previews that are kept.
const MOST: usize = 200;

/// The progress of a preview.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Progress {
    #[default]
    Computing,
    Whole,
    Refused(String),
}

/// A preview, as far as it has come.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Preview {
    /// The file that it is made from.
    text: String,
    pub arms: Vec<(String, Vec<PreviewPoint>)>,
    pub left_out: Vec<String>,
    pub progress: Progress,
}

/// All that were computed, and the one that is.
#[derive(Debug, Default)]
pub(crate) struct Previews {
    kept: BTreeMap<String, Preview>,
    /// For which one the command was asked last.
    asked: Option<String>,
}

impl Previews {
    pub fn get(&self, id: &str) -> Option<&Preview> {
        self.kept.get(id)
    }

    pub fn receive(&mut self, news: PreviewNews) {
        let Some(preview) = self.kept.get_mut(&news.id).filter(|_| self.asked.as_ref() == Some(&news.id)) else {
            // Of one that was given up.
            return;
        };
        match news.step {
            PreviewStep::Begins { arms, left_out } => {
                preview.arms = arms.into_iter().map(|arm| (arm, Vec::new())).collect();
                preview.left_out = left_out;
            }
            PreviewStep::Points(arm, points) => {
                if let Some((_, known)) = preview.arms.get_mut(arm) {
                    known.extend(points);
                }
            }
            PreviewStep::Ended => preview.progress = Progress::Whole,
            PreviewStep::Refused(why) => preview.progress = Progress::Refused(why),
        }
    }

    /// The order to the command about previews; `None`: nothing. `found`: the experiment under the cursor, by its id
    /// and its text, while the list is on the screen.
    pub fn wanted(&mut self, found: Option<(String, String)>) -> Option<ScreenJob> {
        let Self { kept, asked } = self;
        let Some((id, text)) = found else { return asked.take().map(|_| ScreenJob::Preview(None)) };
        let known = kept.get(&id).filter(|preview| preview.text == text);
        match known.map(|preview| &preview.progress) {
            Some(Progress::Computing) if asked.as_ref() == Some(&id) => return None,
            Some(Progress::Whole | Progress::Refused(_)) => return asked.take().map(|_| ScreenJob::Preview(None)),
            Some(Progress::Computing) | None => {}
        }
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(id.clone(), Preview { text: text.clone(), ..Preview::default() });
        *asked = Some(id.clone());
        let order = RunOrder { name: id, text, changes: Changes::default(), virtual_time: true };
        Some(ScreenJob::Preview(Some(Box::new(order))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{app::Home, keymap::Action};

    fn asked(job: Option<ScreenJob>) -> Option<Option<String>> {
        match job {
            Some(ScreenJob::Preview(order)) => Some(order.map(|order| order.name)),
            None => None,
            other => panic!("{other:?}"),
        }
    }

    fn tell(home: &mut Home, id: &str, step: PreviewStep) {
        home.previews.receive(PreviewNews { id: id.to_owned(), step });
    }

    #[test]
    fn one_is_asked_for_once_given_up_when_the_cursor_leaves_and_kept_when_it_is_whole() {
        let mut home = Home::default();
        let first = home.chosen().expect("a list").id.clone();
        assert_eq!(asked(home.preview_wanted(true)), Some(Some(first.clone())));
        assert_eq!(asked(home.preview_wanted(true)), None, "it is being computed");
        tell(&mut home, &first, PreviewStep::Begins { arms: vec!["none".to_owned()], left_out: Vec::new() });
        let point = PreviewPoint { second: 0, goodput: 3.0, p90: None };
        tell(&mut home, &first, PreviewStep::Points(0, vec![point]));
        assert_eq!(home.previews.get(&first).expect("it").arms[0].1, [point]);
        home.pressed(Action::Down);
        let second = home.chosen().expect("a list").id.clone();
        assert_eq!(asked(home.preview_wanted(true)), Some(Some(second.clone())), "in place of the first");
        // What still comes of the first is of no use: it may be asked for again from its beginning.
        tell(&mut home, &first, PreviewStep::Ended);
        assert_eq!(home.previews.get(&first).expect("it").progress, Progress::Computing);
        tell(&mut home, &second, PreviewStep::Ended);
        assert_eq!(asked(home.preview_wanted(true)), Some(None), "nothing is computed any more");
        assert_eq!(asked(home.preview_wanted(true)), None);
        home.pressed(Action::Up);
        assert_eq!(asked(home.preview_wanted(true)), Some(Some(first)), "it had not been whole");
        home.pressed(Action::Down);
        assert_eq!(asked(home.preview_wanted(true)), Some(None));
        assert_eq!(asked(home.preview_wanted(true)), None, "{second} is kept");
    }

    #[test]
    fn away_from_the_list_nothing_is_computed() {
        let mut home = Home::default();
        assert!(home.preview_wanted(true).is_some());
        assert_eq!(asked(home.preview_wanted(false)), Some(None));
        assert_eq!(asked(home.preview_wanted(false)), None);
    }
}

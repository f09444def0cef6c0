//! Whoever watches a load while it goes on: the live view, and readers of metrics.

use std::time::Duration;

use experiment::Experiment;

use super::{
    super::terminal::{has_view, palette},
    asked::in_words,
    export::Exporter,
};
use crate::{
    args::{Colours, LoadArgs, LoadOutput},
    exit::{Failure, complain},
    run::{LoadEvent, StopSignal},
    screens::{LoadShape, Screen, ScreenMessage},
};

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    screen: Option<Screen>,
    exporter: Option<Exporter>,
}

impl Watchers {
    pub(super) fn begin(
        args: &LoadArgs,
        experiment: &Experiment,
        colours: Colours,
        stop: &StopSignal,
    ) -> Result<Self, Failure> {
        let (metrics, otlp) = (args.results.metrics, args.results.otlp.as_deref());
        let wanted = metrics.is_some() || otlp.is_some();
        let exporter = wanted.then(|| Exporter::start(metrics, otlp)).transpose()?;
        if !view_wanted(args) {
            return Ok(Self { screen: None, exporter });
        }
        let shape = LoadShape {
            url: args.url.clone(),
            how: in_words(args),
            lasts: Some(experiment.planned_time()).filter(|_| args.requests.is_none()),
            requests: args.requests,
            deadline: args.deadline,
            percentiles: args.results.percentiles.clone(),
        };
        let asked = stop.clone();
        let screen = Screen::of_a_load(palette(colours), shape, move |_| asked.ask_by_person());
        Ok(Self { screen: Some(screen.map_err(Failure::because)?), exporter })
    }

    pub(super) fn see(&mut self, event: &LoadEvent<'_>) {
        // Without its view the load goes on.
        let tell = |message| self.screen.as_ref().and_then(Screen::teller).is_some_and(|teller| teller.tell(message));
        match event {
            LoadEvent::Note(text) => {
                if !tell(ScreenMessage::LoadNote((*text).to_owned())) {
                    complain(text);
                }
            }
            LoadEvent::Second(window, second) => {
                let _ = tell(ScreenMessage::Window(Box::new((*window).clone()), second.agents.clone()));
                self.exporter.iter().for_each(|exporter| exporter.second(window));
            }
        }
    }

    /// The load is over.
    pub(super) fn end(self) {}
}

/// The live view needs a terminal to draw on, and a load that lasts a moment.
fn view_wanted(args: &LoadArgs) -> bool {
    let moment = args.duration.is_some_and(|lasts| lasts < Duration::from_secs(1));
    !args.results.no_tui && !moment && args.results.output == LoadOutput::Text && has_view()
}

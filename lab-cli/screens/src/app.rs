//! The whole program on a terminal: screens, and the jobs that the command carries out for them.
//!
//! Nothing here reads a file or runs anything: [`ScreenJob`]s go out, [`ScreenMessage`] comes in.

use std::{path::PathBuf, time::Duration};

use analysis::text::scrubbed;
use crossterm::event::KeyEvent;

use super::{
    keymap::{self, Action},
    load::{LoadProgress, LoadShape},
    messages::{FolderContents, OpenTrace, ScreenMessage},
    panel::Screen,
    requests::{Effect, ScreenJob, UserRequest},
    state::State,
    text_input::{Ended, TextInput},
    update,
};

mod compare;
mod cursor;
mod home;
mod mouse_target;
mod overlay;
mod past;
mod pressed;
mod preview;
mod replay;
mod setup;
mod trace;

pub(super) use compare::{ArmSeries, Compare, Rank, View};
pub(super) use home::{Choice, Content, Found, Group, Home};
pub(super) use mouse_target::MouseTarget;
use overlay::Overlay;
pub(super) use overlay::Prompt;
pub(super) use past::Past;
pub(super) use preview::{Preview, Progress};
pub(super) use replay::Replay;
pub(super) use setup::{Pane, Parameter, Setup, Writing, live_time};
pub(super) use trace::Trace;

/// The extent of the program: all of it, or one thing alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Shows {
    /// Everything that the program can do.
    #[default]
    All,
    /// One run (`lab run`): there is nothing before it and nothing after it.
    OneRun,
    /// One trace (`lab trace inspect`): there is nothing behind it.
    OneTrace,
}

/// Everything that is shown.
#[derive(Debug, Default)]
pub(super) struct App {
    pub shows: Shows,
    pub screen: Screen,
    pub home: Home,
    pub setup: Option<Setup>,
    pub live: State,
    /// A load on one URL.
    pub load: Option<LoadProgress>,
    /// An arm of a saved run, as it ran.
    pub replay: Option<Replay>,
    pub past: Past,
    pub compare: Compare,
    /// The trace that was looked into last.
    pub trace: Option<Trace>,
    /// The help lies over all, from this line on.
    pub help: Option<usize>,
    /// A line for the person: what went wrong, or was done.
    pub said: Option<Said>,
    pub overlay: Overlay,
    /// The screen that the run was started from.
    pub ran_from: Screen,
    /// Leaving would lose a setup: the person was told so.
    warned: bool,
}

/// A line for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub text: String,
    /// It went wrong.
    pub bad: bool,
}

impl App {
    /// `lab run` on a terminal.
    pub fn of_one_run() -> Self {
        Self { shows: Shows::OneRun, screen: Screen::Live, ..Self::default() }
    }

    /// `lab load` on a terminal.
    pub fn of_a_load(shape: LoadShape) -> Self {
        let load = Some(LoadProgress::of(shape));
        Self { shows: Shows::OneRun, screen: Screen::Load, load, ..Self::default() }
    }

    /// `lab trace inspect` on a terminal.
    pub fn of_a_trace(trace: OpenTrace) -> Self {
        Self { shows: Shows::OneTrace, screen: Screen::Trace, trace: Some(Trace::new(trace)), ..Self::default() }
    }

    /// Nothing is left to show.
    pub fn is_over(&self) -> bool {
        self.shows == Shows::OneRun && self.live.over
    }

    pub fn receive(&mut self, message: ScreenMessage) {
        match message {
            ScreenMessage::Event(event) => update::happened(&mut self.live, *event),
            ScreenMessage::Window(window, agents) => {
                let Some(load) = &mut self.load else { return };
                load.add(&window);
                load.agents = agents;
            }
            ScreenMessage::LoadNote(text) => self.load.iter_mut().for_each(|load| load.note = scrubbed(&text)),
            ScreenMessage::Found(folder) => self.found(folder),
            ScreenMessage::Compared(found) => self.compare.receive_between(*found),
            ScreenMessage::Preview(news) => self.home.previews.receive(*news),
            // A user who has moved on to another screen is not called back.
            ScreenMessage::Trace(trace) if self.screen == Screen::Home => {
                self.said = None;
                self.trace = Some(Trace::new(*trace));
                self.go(Screen::Trace);
            }
            ScreenMessage::Trace(_) => {}
            ScreenMessage::Opened(runs) if runs.is_empty() => {}
            ScreenMessage::Opened(runs) => {
                self.compare = Compare::of(runs);
                self.compare.of_the_past = self.screen == Screen::Past;
                self.go(Screen::Compare);
            }
            ScreenMessage::Written { path, and_edit, said } => {
                self.done(said);
                if and_edit {
                    self.overlay.queue.push_back(Effect::Edit(path));
                } else if self.screen == Screen::Home {
                    self.overlay.edited = Some(path);
                }
            }
            ScreenMessage::Calibrated { file, plant, said } => self.calibrated(&file, &plant, &said),
            ScreenMessage::Done(message) => self.done(message),
            ScreenMessage::Failed(message) => {
                if self.screen == Screen::Live {
                    self.live.form = None;
                    self.go(self.ran_from);
                }
                self.failed(message);
            }
        }
    }

    /// Takes the folder's contents. An experiment that is set up is read anew if its file was edited.
    fn found(&mut self, folder: FolderContents) {
        self.home.add_own(&folder);
        if let Some(path) = self.overlay.edited.take() {
            let id = path.display().to_string();
            self.home.filter.clear();
            self.home.point_at(&id);
            self.set_up_anew(&id);
        }
        self.past.set(folder.runs);
    }

    /// An experiment as it was changed, in place of the file's.
    pub fn changed(&self, id: &str) -> Option<String> {
        self.setup.iter().find(|setup| setup.name == id).or_else(|| self.overlay.left.get(id))?.changed_in_words()
    }

    fn set_up_anew(&mut self, id: &str) {
        self.overlay.left.remove(id);
        let Some(choice) = self.home.chosen().filter(|choice| choice.id == id) else { return };
        let problem = choice.read.as_ref().err().cloned();
        let fresh = choice.found().map(home::Found::setup);
        if self.setup.as_ref().is_some_and(|setup| setup.name == id) || self.screen == Screen::Setup {
            if fresh.is_none() && self.screen == Screen::Setup {
                self.go(Screen::Home);
            }
            self.setup = fresh;
        }
        if let Some(problem) = problem {
            self.failed(problem);
        }
    }

    fn done(&mut self, text: impl Into<String>) {
        self.said = Some(Said { text: text.into(), bad: false });
    }

    fn failed(&mut self, text: impl Into<String>) {
        self.said = Some(Said { text: text.into(), bad: true });
    }

    /// Takes the next effect beside those that keys have led to.
    pub fn wanted(&mut self) -> Option<Effect> {
        if let Some(effect) = self.overlay.queue.pop_front() {
            return Some(effect);
        }
        let here = self.screen == Screen::Home && self.shows == Shows::All;
        self.home.preview_wanted(here).map(Effect::Job)
    }

    /// Done at once, or after what waits already.
    pub fn now(&mut self, wanted: Effect) -> Option<Effect> {
        if matches!(wanted, Effect::Quit) {
            return Some(wanted);
        }
        self.overlay.queue.push_back(wanted);
        None
    }

    /// The person has left the editor.
    pub fn edited(&mut self, path: PathBuf, problem: Option<String>) {
        match problem {
            Some(problem) => self.failed(problem),
            None => self.said = None,
        }
        self.overlay.edited = Some(path);
        self.overlay.queue.push_back(Effect::Job(ScreenJob::Look));
    }

    /// So much time has passed: `true` if there is something new to be seen.
    pub fn passed(&mut self, time: Duration) -> bool {
        match self.screen {
            Screen::Replay => self.replay.as_mut().is_some_and(|replay| replay.passed(time)),
            Screen::Load => self.load.as_mut().is_some_and(|load| load.passed(time)),
            _ => false,
        }
    }

    pub fn key(&mut self, key: KeyEvent) -> Option<Effect> {
        let stops = keymap::is_interrupt(key);
        if self.screen == Screen::Live && self.live.form.is_some() && !stops {
            return update::typed(&mut self.live, key).map(Effect::Ask);
        }
        if let Some(setup) = self.open_form().filter(|_| !stops) {
            setup.typed(key);
            return None;
        }
        if let Some(line) = self.line().filter(|_| !stops) {
            if let Some(written) = line.key(key) {
                self.written(written);
            }
            return None;
        }
        let action = keymap::action(key, self.screen)?;
        self.acted(action)
    }

    pub fn acted(&mut self, action: Action) -> Option<Effect> {
        self.said = None;
        let warned = std::mem::take(&mut self.warned);
        self.live.said = None;
        if let Some(from) = self.help {
            let to = match action {
                Action::Up => Some(Some(from.saturating_sub(1))),
                Action::Down => Some(Some((from + 1).min(keymap::KEYS.len()))),
                Action::Help | Action::Back => Some(None),
                _ => None,
            };
            if let Some(to) = to {
                self.help = to;
                return None;
            }
        }
        match action {
            Action::Help => self.help = Some(0),
            _ if self.screen == Screen::Live => return update::pressed(&mut self.live, action).map(Effect::Ask),
            Action::Stop if self.screen == Screen::Load => {
                self.load.iter_mut().for_each(|load| load.stopping = true);
                return Some(Effect::Ask(UserRequest::Stop));
            }
            Action::Stop if !warned && self.is_unwritten() => {
                self.warned = true;
                self.failed("what is set up is in no file (w in the setup writes it); q again: leave all the same");
            }
            Action::Stop => return Some(Effect::Quit),
            _ if self.overlay.menu.is_some() => {
                let chosen = self.overlay.chosen(action)?;
                return self.export(chosen);
            }
            Action::Back => return self.back(),
            _ => return self.pressed(action),
        }
        None
    }

    /// A setup has changes that are in no file.
    fn is_unwritten(&self) -> bool {
        self.setup.iter().chain(self.overlay.left.values()).any(Setup::is_unwritten)
    }

    /// Pasted text is never keys: what is being written takes it in, and nothing else does.
    pub fn pasted(&mut self, text: &str) {
        if let Some(form) = self.live.form.as_mut().filter(|_| self.screen == Screen::Live) {
            form.pasted(text);
        } else if let Some(form) = self.open_form().and_then(|setup| setup.form.as_mut()) {
            form.pasted(text);
        } else if let Some(line) = self.line() {
            line.pasted(text);
        }
    }

    /// The setup in which a form is filled in.
    fn open_form(&mut self) -> Option<&mut Setup> {
        self.setup.as_mut().filter(|setup| self.screen == Screen::Setup && setup.form.is_some())
    }

    /// The line that is being written, if one is.
    fn line(&mut self) -> Option<&mut TextInput> {
        if let Some(prompt) = &mut self.overlay.prompt {
            return Some(&mut prompt.line);
        }
        match self.screen {
            Screen::Home => self.home.finding.as_mut(),
            Screen::Setup => self.setup.as_mut()?.line(),
            Screen::Past => self.past.finding.as_mut(),
            Screen::Live | Screen::Load | Screen::Replay | Screen::Compare | Screen::Trace => None,
        }
    }

    /// A line was ended: taken, or given up.
    fn written(&mut self, written: Ended) {
        if self.overlay.prompt.is_some() {
            self.overlay.prompted(written);
            return;
        }
        match (self.screen, &mut self.setup) {
            (Screen::Home, _) => self.home.found(written),
            (Screen::Past, _) => self.past.found(written),
            (Screen::Setup, Some(setup)) => setup.written(written),
            _ => {}
        }
    }

    fn go(&mut self, screen: Screen) {
        self.screen = screen;
        self.help = None;
    }

    fn back(&mut self) -> Option<Effect> {
        let to = match self.screen {
            Screen::Load => return None,
            Screen::Home if self.home.back() => return None,
            Screen::Past if self.past.back() => return None,
            Screen::Replay if self.replay.as_mut().is_some_and(Replay::back) => return None,
            Screen::Replay => Screen::Compare,
            Screen::Trace if self.trace.as_mut()?.back() => return None,
            Screen::Compare if self.compare.back() => return None,
            Screen::Setup if self.setup.as_mut().is_some_and(Setup::back) => return None,
            Screen::Trace if self.shows == Shows::OneTrace => return Some(Effect::Quit),
            Screen::Home | Screen::Setup | Screen::Past | Screen::Live | Screen::Trace => Screen::Home,
            Screen::Compare if self.compare.of_the_past => Screen::Past,
            Screen::Compare => self.ran_from,
        };
        if to == Screen::Home && self.screen != Screen::Home {
            // Files may have been mended in another window.
            self.overlay.queue.push_back(Effect::Job(ScreenJob::Look));
        }
        self.go(to);
        None
    }
}

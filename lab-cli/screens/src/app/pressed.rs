//! Keys: their effects on each screen of the program.

use std::path::{Path, PathBuf};

use experiment::Changes;

use super::{App, Choice, Content, Group, Pane, Replay, Setup};
use crate::{
    keymap::Action,
    panel::Screen,
    requests::{Effect, Export, ScreenJob},
    state::State,
};

impl App {
    pub(super) fn pressed(&mut self, action: Action) -> Option<Effect> {
        match self.screen {
            Screen::Home => return self.pressed_at_home(action),
            Screen::Setup => return self.pressed_in_setup(action),
            Screen::Past => match action {
                Action::Choose => match self.past.chosen() {
                    Ok(folders) if folders.is_empty() => {}
                    Ok(folders) => return Some(Effect::Job(ScreenJob::Open(folders))),
                    Err(why) => self.failed(why),
                },
                Action::ReadAgain => return Some(Effect::Job(ScreenJob::Look)),
                _ => self.past.pressed(action),
            },
            Screen::Compare => match action {
                Action::Replay => {
                    self.replay = Replay::of(&self.compare);
                    match self.replay {
                        Some(_) => self.go(Screen::Replay),
                        None => self.failed("nothing was recorded second by second of this arm"),
                    }
                }
                Action::Export => self.overlay.menu = Some(0),
                Action::Copy => return self.copy_command(),
                Action::Across => {
                    if let Err(why) = self.compare.toggle_across() {
                        self.failed(why);
                    }
                }
                _ => self.compare.pressed(action),
            },
            Screen::Replay => {
                if let (Action::Arm(by), Some(before)) = (action, &self.replay) {
                    self.compare.next_arm(by);
                    if let Some(next) = Replay::of(&self.compare) {
                        self.replay = Some(next.seen_as(before));
                    }
                } else if let Some(replay) = &mut self.replay {
                    replay.pressed(action);
                }
            }
            Screen::Trace => self.trace.as_mut()?.pressed(action),
            Screen::Live | Screen::Load => {}
        }
        None
    }

    fn pressed_at_home(&mut self, action: Action) -> Option<Effect> {
        match action {
            Action::Choose | Action::RunLive | Action::SetUp => match &self.home.chosen()?.read {
                Ok(Content::Experiment(found)) => {
                    let fresh = found.setup();
                    self.set_up(fresh);
                    if action == Action::SetUp {
                        self.go(Screen::Setup);
                        return None;
                    }
                    match self.setup.as_mut()?.choose_world(action == Action::Choose) {
                        Ok(()) => return self.run(),
                        Err(why) => self.failed(why),
                    }
                }
                Ok(Content::Trace { path, .. }) => {
                    let path = path.clone();
                    self.done(format!("reading {} ...", path.display()));
                    return Some(Effect::Job(ScreenJob::Inspect(path)));
                }
                Err(problem) => {
                    let problem = problem.clone();
                    self.failed(problem);
                }
            },
            Action::Past => {
                self.go(Screen::Past);
                return Some(Effect::Job(ScreenJob::Look));
            }
            Action::ReadAgain => return Some(Effect::Job(ScreenJob::Look)),
            Action::Calibrate => match self.home.chosen()? {
                Choice { group: Group::Own, id, read: Ok(Content::Experiment(found)), .. }
                    if found.experiment.has_no_plant() =>
                {
                    let job = ScreenJob::Calibrate(PathBuf::from(id));
                    self.done("measuring what its requests cost (lab calibrate): about two minutes ...");
                    return Some(Effect::Job(job));
                }
                _ => self
                    .failed("there is nothing to measure: this is for a service of your own whose costs are not known"),
            },
            Action::Edit if self.home.chosen()?.group == Group::Own => {
                return Some(Effect::Edit(PathBuf::from(&self.home.chosen()?.id)));
            }
            // What comes with the program has no file here: a copy is edited.
            Action::Edit | Action::New => match self.home.chosen()?.found() {
                Some(found) => {
                    let text = experiment::written(&found.text, &Changes::default()).unwrap_or(found.text.clone());
                    let id = found.id.clone();
                    self.overlay.ask_for_new(&id, text);
                }
                None => self.failed("choose an experiment that can be read: the new one begins as a copy of it"),
            },
            _ => self.home.pressed(action),
        }
        None
    }

    /// An experiment is set up: as it was left, if its file is still the same.
    fn set_up(&mut self, fresh: Setup) {
        let left = &mut self.overlay.left;
        left.extend(self.setup.take().map(|last| (last.name.clone(), last)));
        let before = left.remove(&fresh.name).filter(|before| before.is_of(&fresh));
        self.setup = Some(before.unwrap_or(fresh));
    }

    /// Runs what is set up.
    fn run(&mut self) -> Option<Effect> {
        let setup = self.setup.as_mut()?;
        match setup.order() {
            Ok(order) => {
                // The folder of the run has it.
                setup.kept = Some(setup.command());
                self.live = State::default();
                self.ran_from = self.screen;
                self.go(Screen::Live);
                return Some(Effect::Job(ScreenJob::Run(Box::new(order))));
            }
            Err(problem) => self.failed(problem),
        }
        None
    }

    /// What a service costs was measured: it is set up to be run in virtual time.
    pub(super) fn calibrated(&mut self, file: &Path, plant: &Path, said: &str) {
        let id = file.display().to_string();
        self.home.point_at(&id);
        let Some(fresh) = self.home.chosen().and_then(|choice| Some(choice.found()?.setup())) else { return };
        self.set_up(fresh);
        let Some(setup) = &mut self.setup else { return };
        let chosen =
            setup.change_key("virtual.plant", &plant.display().to_string()).and_then(|()| setup.choose_world(true));
        match chosen {
            Ok(()) => {
                self.go(Screen::Setup);
                self.done(format!(
                    "{said}\nEnter runs it in virtual time with {}; w keeps that in a file",
                    plant.display()
                ));
            }
            Err(why) => self.failed(why),
        }
    }

    fn pressed_in_setup(&mut self, action: Action) -> Option<Effect> {
        let setup = self.setup.as_mut()?;
        match action {
            Action::Choose if setup.pane == Pane::Arms => return self.run(),
            Action::Write | Action::Edit => {
                let is_own = experiment::Library::find(&setup.name).is_none();
                if action == Action::Edit && is_own && !setup.is_changed() {
                    return Some(Effect::Edit(PathBuf::from(&setup.name)));
                }
                match setup.as_file() {
                    Ok(text) if action == Action::Edit => self.overlay.ask_for_new(&setup.name, text),
                    Ok(text) => {
                        setup.kept = Some(setup.command());
                        self.overlay.ask_for_written(setup, text);
                    }
                    Err(problem) => self.failed(problem),
                }
            }
            _ => setup.pressed(action),
        }
        None
    }

    /// The first way to deploy what is recommended.
    fn copy_command(&mut self) -> Option<Effect> {
        let recommended = self.compare.chosen().and_then(|arm_series| self.compare.recommended(arm_series.run));
        match recommended.map(|recommended| recommended.deploy.first().cloned()) {
            Some(Some(way)) => {
                self.done(format!("copied: {way}"));
                return Some(Effect::Copy(way));
            }
            Some(None) => self.failed("what is recommended is to deploy nothing"),
            None => self.failed("nothing can be recommended of this run (Enter: why)"),
        }
        None
    }

    pub(super) fn export(&mut self, what: Export) -> Option<Effect> {
        let folder = self.compare.folder()?.to_owned();
        let table = self.compare.as_markdown();
        match what {
            Export::Folder => {
                self.done(format!("{}", folder.display()));
                return Some(Effect::Copy(folder.display().to_string()));
            }
            Export::Table => self.overlay.queue.push_back(Effect::Copy(table.clone())),
            Export::Report | Export::Picture => {}
        }
        Some(Effect::Job(ScreenJob::Export { what, folder, table }))
    }
}

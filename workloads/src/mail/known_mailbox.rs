//! The mailbox as a user with a script knows it: the folders, the open folder, and the message shown last.

use std::sync::Arc;

use super::model::State;
use crate::{
    page::{PageKind, ScannedPage},
    replay::Object,
};

/// Links to the lists of folders, in the order of the page of folders. They belong to a session, whose key they may
/// carry.
#[derive(Debug, Default)]
pub(super) struct KnownMailbox {
    lists: Vec<Arc<str>>,
    /// The folder that the user is in.
    open: Option<usize>,
    /// The message that was shown last, and its path.
    shown: Option<(Object, Arc<str>)>,
}

/// The largest number of folders that a user remembers.
const MOST: usize = 1000;

impl KnownMailbox {
    /// Takes in a requested page that has arrived; `about`: the object of its step.
    pub(super) fn see(&mut self, asked: State, about: Object, path: &Arc<str>, page: &ScannedPage<'_>) {
        match asked {
            State::Login => *self = Self::default(),
            State::ListFolders if page.kind() == PageKind::Folders => {
                self.lists = page.lists().take(MOST).map(Arc::from).collect();
            }
            State::ListMessages => self.open = self.lists.iter().position(|list| list == path),
            State::ShowMessage => self.shown = Some((about, path.clone())),
            _ => {}
        }
    }

    /// The list of the folder with this number; `None` as long as no folders are known. Numbers beyond the last folder
    /// wrap round to the first.
    pub(super) fn list(&self, number: u32) -> Option<&Arc<str>> {
        self.lists.get(self.index(number)?)
    }

    /// True if the user is in the folder with this number.
    pub(super) fn is_in(&self, number: u32) -> bool {
        self.open.is_some() && self.open == self.index(number)
    }

    /// The path where the message of a step was shown last.
    pub(super) fn shown(&self, about: Object) -> Option<&Arc<str>> {
        self.shown.as_ref().filter(|(shown, _)| *shown == about).map(|(_, path)| path)
    }

    fn index(&self, number: u32) -> Option<usize> {
        (number as usize).checked_rem(self.lists.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDERS: &[u8] = br#"<body data-page="folders"><a data-do="folders" href="/folderlist">x</a>
<a data-do="list" href="/list?folderid=4">in</a><a data-do="show" href="/show">x</a>
<a data-do="list" href="/list?folderid=7&amp;key=2">out</a><a data-do="list" href="http://elsewhere/">y</a>"#;

    fn see(mailbox: &mut KnownMailbox, asked: State, message: u32, path: &str) {
        mailbox.see(asked, Object { folder: Some(1), message }, &path.into(), &ScannedPage::read(FOLDERS));
    }

    #[test]
    fn numbers_stand_for_folders_and_begin_again_after_the_last() {
        let mut mailbox = KnownMailbox::default();
        assert_eq!((mailbox.list(0), mailbox.is_in(0)), (None, false));
        see(&mut mailbox, State::ListFolders, 0, "/folderlist");
        let list = |number| mailbox.list(number).map(ToString::to_string);
        let (first, second) = ("/list?folderid=4", "/list?folderid=7&key=2");
        assert_eq!([0, 1, 2, 3].map(list), [first, second, first, second].map(|list| Some(list.to_owned())));
    }

    #[test]
    fn it_knows_the_folder_that_was_opened_until_another_is_or_a_session_begins() {
        let mut mailbox = KnownMailbox::default();
        see(&mut mailbox, State::ListFolders, 0, "/folderlist");
        assert!(!mailbox.is_in(0) && !mailbox.is_in(1), "none is open yet");
        see(&mut mailbox, State::ListMessages, 0, "/list?folderid=7&key=2");
        see(&mut mailbox, State::ShowMessage, 0, "/show?folderid=7&entry=1");
        assert!(mailbox.is_in(1) && mailbox.is_in(3) && !mailbox.is_in(0));
        see(&mut mailbox, State::ListMessages, 0, "/list?folderid=4");
        assert!(mailbox.is_in(0) && !mailbox.is_in(1));
        see(&mut mailbox, State::Login, 0, "/login");
        assert!(!mailbox.is_in(0) && mailbox.list(0).is_none());
    }

    #[test]
    fn it_knows_the_message_that_was_shown_last() {
        let mut mailbox = KnownMailbox::default();
        see(&mut mailbox, State::ShowMessage, 3, "/show?entry=9");
        see(&mut mailbox, State::Delete, 3, "/delete");
        let shown = |folder, message| mailbox.shown(Object { folder, message }).map(ToString::to_string);
        assert_eq!(shown(Some(1), 3).as_deref(), Some("/show?entry=9"));
        assert_eq!((shown(Some(1), 4), shown(Some(0), 3), shown(None, 3)), (None, None, None));
    }
}

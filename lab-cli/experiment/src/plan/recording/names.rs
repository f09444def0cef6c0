//! The names of a trace: users and their folders as numbers, texts that steps share.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use controllers::{random::mix, seed_for};
use traces::{regroup, trace::split_object};
use workloads::replay::{Object, Texts};

/// Names of a trace so far. They grow with users and their folders, and not with records.
#[derive(Debug, Default)]
pub(crate) struct Names {
    users: HashMap<String, Known>,
    /// A user's number and what its folder's name hashes to, to the folder's number.
    folders: HashMap<(u32, u64), u32>,
    /// `None`: texts are not needed.
    texts: Option<HashSet<Arc<str>>>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    number: u32,
    folders: u32,
}

/// Most texts that are kept to be shared.
const TEXTS: usize = 100_000;

impl Names {
    /// Empty table: with the trace's own words, or with numbers alone.
    pub fn new(with_texts: bool) -> Self {
        Self { texts: with_texts.then(HashSet::new), ..Self::default() }
    }

    /// Users are numbered as they come.
    pub fn user(&mut self, name: &str) -> u32 {
        if let Some(known) = self.users.get(name) {
            return known.number;
        }
        let number = u32::try_from(self.users.len()).unwrap_or(u32::MAX);
        self.users.insert(name.to_owned(), Known { number, folders: 0 });
        number
    }

    /// Object of a step of this user. A user's folders are numbered as they come. Of several messages the first
    /// counts. What is not known is another one each time, by this key.
    pub fn object(&mut self, user: &str, object: &str, key: u64) -> Object {
        let (folder, messages) = split_object(object);
        let folder = (!folder.is_empty()).then(|| self.folder(user, folder));
        let first = messages.split([':', ',', '*']).next().unwrap_or_default();
        let message = match (first.parse::<u64>(), messages) {
            (Ok(number), _) => number as u32,
            (Err(_), "") => (mix(key) >> 32) as u32,
            (Err(_), text) => (seed_for(0, text) >> 32) as u32,
        };
        Object { folder, message }
    }

    fn folder(&mut self, user: &str, folder: &str) -> u32 {
        let number = self.user(user);
        let Some(known) = self.users.get_mut(user) else { return 0 };
        *self.folders.entry((number, seed_for(0, folder))).or_insert_with(|| {
            known.folders += 1;
            known.folders - 1
        })
    }

    /// The trace's words for a step.
    pub fn texts(&mut self, step: &regroup::Step) -> Texts {
        Texts { action: self.text(&step.action), object: self.text(&step.object) }
    }

    /// A text, shared by all records that have it; empty if texts are not needed.
    pub fn text(&mut self, text: &str) -> Arc<str> {
        let Some(known) = &mut self.texts else { return Arc::default() };
        if let Some(known) = known.get(text) {
            return known.clone();
        }
        if known.len() >= TEXTS {
            // Steps keep theirs. To look which are still in use would take longer than to share some of them no more.
            known.clear();
        }
        let text: Arc<str> = text.into();
        known.insert(text.clone());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_folders_are_numbered_as_they_come_and_keep_their_numbers() {
        let mut names = Names::new(false);
        let folders = [
            ("joe", "INBOX/3"),
            ("joe", "Work"),
            ("ann", "Work/1"),
            ("joe", "INBOX"),
            ("joe", "Work/9:12"),
            ("joe", "a/b"),
        ];
        let numbers = folders.map(|(user, object)| names.object(user, object, 0).folder);
        assert_eq!(numbers, [Some(0), Some(1), Some(0), Some(0), Some(1), Some(2)]);
        assert_eq!(["ann", "joe", "new"].map(|user| names.user(user)), [1, 0, 2]);
    }

    #[test]
    fn messages_are_their_numbers_and_what_is_not_known_is_another_one_each_time() {
        let mut names = Names::new(false);
        let mut message = |object: &str, key| names.object("joe", object, key).message;
        assert_eq!((message("f/12", 1), message("f/12", 2)), (12, 12));
        assert_eq!((message("f/313:322", 1), message("f/7,9", 1)), (313, 7));
        assert_eq!(message("/5", 1), 5);
        assert_ne!(message("f", 1), message("f", 2));
        assert_eq!(message("f/*", 1), message("f/*", 2));
        assert_eq!(names.object("joe", "/5", 1).folder, None);
    }

    #[test]
    fn texts_are_shared_and_their_number_is_bounded() {
        assert_eq!(&*Names::new(false).text("INBOX"), "");
        let mut names = Names::new(true);
        let held = names.text("INBOX");
        assert!(Arc::ptr_eq(&held, &names.text("INBOX")));
        for n in 0..2 * TEXTS {
            names.text(&n.to_string());
        }
        assert_eq!((&*held, &*names.text("INBOX")), ("INBOX", "INBOX"));
        assert!(names.texts.is_some_and(|texts| texts.len() <= TEXTS));
    }
}

//! Users' mail as it has to be, by what they were told.

use std::{collections::BTreeMap, path::Path};

use arashi::store::{EntryId, Folder, FolderId, ListOrder, Store, StoreOptions, UserId};
use service_core::mail::CorpusSpec;

use crate::arashi::visit::{Visit, between};

/// Where a message may be, as far as its user was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    In(FolderId),
    Deleted,
}

/// One user's mail as it has to be.
pub struct Model {
    user: UserId,
    name: String,
    password: String,
    inbox: FolderId,
    other: FolderId,
    /// Where each message is. Two places: the last request was not answered.
    messages: BTreeMap<EntryId, Vec<Place>>,
    /// Whether each folder made by the test is there; `None`: not told.
    folders: BTreeMap<String, Option<bool>>,
    /// Changes that were acknowledged.
    pub changes: u32,
    /// Changes that were not.
    pub unanswered: u32,
}

impl Model {
    /// Everybody's, as it was generated.
    pub fn all(database: &Path, spec: &CorpusSpec) -> Vec<Self> {
        blocking(async {
            let store = Store::open(database, &StoreOptions::default()).await.expect("opens");
            let mut models = Vec::new();
            for (name, password) in service_core::mail::accounts(spec) {
                models.push(Self::of(&store, name, password).await);
            }
            store.close().await.expect("closes");
            models
        })
    }

    async fn of(store: &Store, name: String, password: String) -> Self {
        let user = store.account(&name).await.expect("account").expect("is there").id;
        let folders = store.folders(user).await.expect("folders");
        let (inbox, other) = (folders[0].id, folders[1].id);
        let mut messages = BTreeMap::new();
        for folder in [&folders[0], &folders[1]] {
            let entries = entries(store, user, folder).await;
            messages.extend(entries.into_iter().map(|entry| (entry, vec![Place::In(folder.id)])));
        }
        Self { user, name, password, inbox, other, messages, folders: BTreeMap::new(), changes: 0, unanswered: 0 }
    }

    /// Changes one thing after the other until the service is gone; remembers what was acknowledged.
    pub fn live(&mut self, address: &str, round: u32) {
        let Some(mut visit) = Visit::begin(address, &self.name, &self.password) else { return };
        for turn in 0_usize.. {
            let there = self.messages.iter().filter_map(|(entry, places)| match places[..] {
                [Place::In(folder)] => Some((*entry, folder)),
                _ => None,
            });
            let there: Vec<_> = there.collect();
            assert!(!there.is_empty(), "{} has no mail left to change", self.name);
            let (entry, from) = there[turn % there.len()];
            // Few are deleted, so that some are left after all rounds.
            if self.change(&mut visit, entry, from, matches!(turn, 3 | 17)).is_none() {
                return;
            }
            let keep = turn == 5;
            if turn % 5 == 0 && self.change_folders(&mut visit, &format!("f-{round}-{turn}"), keep).is_none() {
                return;
            }
        }
    }

    /// Deletes a message, or moves it to the other one of two folders.
    fn change(&mut self, visit: &mut Visit, entry: EntryId, from: FolderId, delete: bool) -> Option<String> {
        let to = if from == self.inbox { self.other } else { self.inbox };
        let (path, fields, next) = match delete {
            true => ("/delete", format!("folderid={from}&message={entry}"), Place::Deleted),
            false => ("/refile", format!("folderid={from}&message={entry}&to={to}"), Place::In(to)),
        };
        let told = self.count(visit.change(path, &fields));
        let places = if told.is_some() { vec![next] } else { vec![Place::In(from), next] };
        self.messages.insert(entry, places);
        told
    }

    /// Makes a folder, and deletes it again unless it is to be kept.
    fn change_folders(&mut self, visit: &mut Visit, name: &str, keep: bool) -> Option<String> {
        let page = self.count(visit.change("/createfolder", &format!("name={name}")));
        self.folders.insert(name.to_owned(), page.is_some().then_some(true));
        let page = page?;
        if keep {
            return Some(page);
        }
        let id = between(&page, "data-do=\"list\" href=\"/list?folderid=", "\"").expect("a link to the new folder");
        let told = self.count(visit.change("/deletefolder", &format!("folderid={id}")));
        self.folders.insert(name.to_owned(), told.is_some().then_some(false));
        told
    }

    fn count(&mut self, told: Option<String>) -> Option<String> {
        let counter = if told.is_some() { &mut self.changes } else { &mut self.unanswered };
        *counter += 1;
        told
    }

    /// Compares what is there with what the user was told. What it was not told is now known.
    async fn check(&mut self, store: &Store) {
        let folders = store.folders(self.user).await.expect("folders");
        let mut found: BTreeMap<EntryId, Vec<Place>> = BTreeMap::new();
        for folder in &folders {
            for entry in entries(store, self.user, folder).await {
                found.entry(entry).or_default().push(Place::In(folder.id));
            }
        }
        let mut total = 0;
        for (entry, places) in &mut self.messages {
            let mut is = found.remove(entry).unwrap_or_default();
            assert!(is.len() <= 1, "{entry} is there twice: {is:?}");
            let is = is.pop().unwrap_or(Place::Deleted);
            assert!(places.contains(&is), "{entry} of {}: told {places:?}, is {is:?}", self.name);
            total += i64::from(is != Place::Deleted);
            *places = vec![is];
        }
        let of_test = folders.iter().filter(|folder| [self.inbox, self.other].contains(&folder.id));
        assert_eq!(of_test.map(|folder| folder.messages).sum::<i64>(), total, "no message came from nowhere");
        for (name, told) in &mut self.folders {
            let there = folders.iter().filter(|folder| folder.name == *name).count();
            assert!(there <= 1, "{name} is there twice");
            assert!(told.is_none_or(|told| told == (there == 1)), "{name}: told {told:?}, is there {there} times");
            *told = Some(there == 1);
        }
    }
}

/// Compares what the killed program left with what users were told.
pub fn check(database: &Path, models: &mut [Model]) {
    blocking(async {
        let store = Store::open(database, &StoreOptions::default()).await.expect("opens");
        assert_eq!(store.damage().await.expect("checks"), [""; 0]);
        for model in models {
            model.check(&store).await;
        }
        store.close().await.expect("closes");
    });
}

async fn entries(store: &Store, user: UserId, folder: &Folder) -> Vec<EntryId> {
    let mut found = Vec::new();
    for start in (0..u32::try_from(folder.messages).expect("a count")).step_by(10) {
        let rows = store.list(user, folder.id, ListOrder::default(), start).await.expect("list");
        found.extend(rows.iter().map(|row| row.entry));
    }
    found
}

pub fn blocking<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    runtime.block_on(work)
}

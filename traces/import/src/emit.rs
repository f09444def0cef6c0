//! Converts the actions of sessions to records under pseudonyms.

use std::io;

use serde::{Deserialize, Deserializer, Serialize};
use traces::{
    pseudonym::{NameKind, Pseudonyms},
    spool::{Sorted, Spool},
    spread::UserRequests,
    tally::Tally,
    trace::{LEAVE, LOGIN, Record, Totals, split_object},
};

use super::{
    entry::{Cost, Page},
    open_session::OpenSession,
    page::{ActionProgress, OpenPage},
};

/// A record before it is sorted.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Emitted(pub Record<'static>);

impl<'de> Deserialize<'de> for Emitted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Record::deserialize(deserializer).map(|record| Self(record.into_owned()))
    }
}

impl Sorted for Emitted {
    fn key(&self) -> i64 {
        i64::try_from(self.0.offset).unwrap_or(i64::MAX)
    }
}

/// Takes actions, and keeps the account of the trace. Offsets are still microseconds since 1970.
#[derive(Debug)]
pub struct Emit<'a> {
    /// The replacement of names.
    pub names: &'a Pseudonyms,
    /// The account.
    pub tally: &'a mut Tally,
    /// The destination of records.
    pub out: &'a mut Spool<Emitted>,
    /// Actions by user.
    pub by_user: UserRequests,
}

impl Emit<'_> {
    /// Takes an action of a session, if one is complete.
    pub fn some(&mut self, session: &mut OpenSession, complete: Option<OpenPage>) -> io::Result<()> {
        let Some(page) = complete else { return Ok(()) };
        if !session.shown && page.action != LOGIN {
            self.infer_login(session, page.at)?;
        }
        self.tally.coarse_logins += u64::from(page.stage == ActionProgress::Login { coarse: true });
        let object = self.names.of_object(&page.folder, &page.messages);
        let cost = Cost { lasted: page.lasted(), ..page.cost };
        self.action(session, page.at, page.action, object, &cost)
    }

    /// Takes a complete page of a web server. Such sessions need no login: a cookie may be older than the log.
    pub fn whole(&mut self, session: &mut OpenSession, at: i64, page: &Page) -> io::Result<()> {
        let (folder, messages) = split_object(&page.object);
        self.action(session, at, &page.action, self.names.of_object(folder, messages), &page.cost)
    }

    /// Writes the numbers of users into the account, at the end.
    pub fn finish(self) {
        (self.tally.users, self.tally.busiest) = self.by_user.found();
    }

    /// Takes the end of a session: it has no further actions.
    pub fn end(&mut self, session: &OpenSession) -> io::Result<()> {
        if !session.shown {
            return Ok(());
        }
        self.tally.sessions += 1;
        self.tally.login_only += u64::from(!session.has_pages);
        let Some(left) = session.left else {
            self.tally.without_end += 1;
            return Ok(());
        };
        let totals = (session.totals != Totals::default()).then_some(session.totals);
        let end = Record { totals, ..self.record(session, left.max(session.last_shown()), LEAVE) };
        self.out.push(Emitted(end))
    }

    fn infer_login(&mut self, session: &mut OpenSession, at: i64) -> io::Result<()> {
        self.tally.without_login += 1;
        self.tally.actions += 1;
        session.shown_at(at);
        let login = Record { inferred: true, ..self.record(session, at, LOGIN) };
        self.by_user.add(&login.user);
        self.out.push(Emitted(login))
    }

    fn action(
        &mut self,
        session: &mut OpenSession,
        at: i64,
        action: &str,
        object: String,
        cost: &Cost,
    ) -> io::Result<()> {
        self.tally.actions += 1;
        session.shown_at(at);
        session.has_pages |= action != LOGIN;
        let Cost { lasted, sent, received, outcome } = *cost;
        let record = self.record(session, at, action);
        let record = Record { object: object.into(), duration: lasted, sent, received, outcome, ..record };
        self.by_user.add(&record.user);
        self.out.push(Emitted(record))
    }

    fn record(&self, session: &OpenSession, at: i64, action: &str) -> Record<'static> {
        let name = self.names.of(NameKind::Session, &session.name);
        // If the user is not known, each session is a user of its own.
        let user = if session.user.is_empty() { name.clone() } else { self.names.of(NameKind::User, &session.user) };
        Record {
            offset: u64::try_from(at).unwrap_or(0),
            user: user.into(),
            session: name.into(),
            action: action.to_owned().into(),
            ..Record::default()
        }
    }
}

//! The sessions of signed-in users. Kept in memory: a restart signs all users out, and loses nothing else.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::store::UserId;

/// Bounds on sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// The largest number of sessions; beyond it the one that was idle for longest ends.
    pub count: usize,
    /// The largest number of sessions of one user; likewise. With few accounts each has its share of all instead, if
    /// that is more: many emulated users sign in to one account.
    pub of_one_user: usize,
    /// The longest time without a request.
    pub idle: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { count: 65_536, of_one_user: 1024, idle: Duration::from_secs(30 * 60) }
    }
}

impl SessionLimits {
    /// The limits for a service with this number of accounts; 0: not known yet.
    pub fn shared_by(self, accounts: usize) -> Self {
        let share = self.count.checked_div(accounts).unwrap_or(0);
        Self { of_one_user: self.of_one_user.max(share), ..self }
    }
}

/// A session's secret: 128 random bits. (The thesis has 64; the OWASP verification standard, 7.2.3, asks for 128.)
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionKey(u128);

/// Formats and parses 32 hexadecimal digits. There is no `Display`, so that a key gets into a page only where that is
/// intended.
impl SessionKey {
    /// A new random key.
    ///
    /// # Panics
    /// If the system has no random numbers: no secret would be possible then.
    fn random() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system gives random numbers");
        Self(u128::from_ne_bytes(bytes))
    }

    /// The key as text for a cookie, link or form.
    #[must_use]
    pub fn to_text(self) -> String {
        format!("{:032x}", self.0)
    }

    /// Parses a key; `None` for any text that [`SessionKey::to_text`] does not write.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let well_formed = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !well_formed {
            return None;
        }
        u128::from_str_radix(text, 16).ok().map(Self)
    }

    /// True if two keys are equal, compared in constant time.
    #[must_use]
    pub fn matches(self, other: Self) -> bool {
        std::hint::black_box(self.0 ^ other.0) == 0
    }
}

impl std::fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKey(secret)")
    }
}

/// A signed-in user.
#[derive(Debug)]
pub struct MailSession {
    /// The user.
    pub user: UserId,
    /// The name used to sign in.
    pub name: String,
    /// The session's secret.
    pub key: SessionKey,
    /// The token in forms of this session, so that another site's forms are refused.
    pub form_token: SessionKey,
}

/// All sessions.
#[derive(Debug)]
pub struct MailSessions {
    limits: SessionLimits,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    sessions: HashMap<SessionKey, Entry>,
    of_user: HashMap<UserId, Vec<SessionKey>>,
    /// Every session once, roughly by last use: an entry whose session was used since goes to the back when it is
    /// reached.
    oldest_first: VecDeque<(SessionKey, Instant)>,
}

#[derive(Debug)]
struct Entry {
    session: Arc<MailSession>,
    used: Instant,
}

impl MailSessions {
    /// An empty table.
    #[must_use]
    pub fn new(limits: SessionLimits) -> Self {
        Self { limits, table: Mutex::default() }
    }

    /// Begins a session under a new key.
    #[must_use]
    pub fn begin(&self, user: UserId, name: &str, now: Instant) -> Arc<MailSession> {
        let session = Arc::new(MailSession {
            user,
            name: name.to_owned(),
            key: SessionKey::random(),
            form_token: SessionKey::random(),
        });
        let mut table = self.lock();
        table.forget(self.limits, now);
        table.make_room_for(user, self.limits.of_one_user);
        table.sessions.insert(session.key, Entry { session: Arc::clone(&session), used: now });
        table.of_user.entry(user).or_default().push(session.key);
        table.oldest_first.push_back((session.key, now));
        table.tidy();
        session
    }

    /// The session with this key, if there is one; it counts as used now.
    #[must_use]
    pub fn find(&self, key: SessionKey, now: Instant) -> Option<Arc<MailSession>> {
        let mut table = self.lock();
        let entry = table.sessions.get_mut(&key)?;
        if now.saturating_duration_since(entry.used) > self.limits.idle {
            table.remove(key);
            return None;
        }
        entry.used = now;
        Some(Arc::clone(&entry.session))
    }

    /// Ends a session: its key is invalid from now on.
    pub fn end(&self, key: SessionKey) {
        self.lock().remove(key);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Table> {
        // A panic elsewhere leaves the table usable: a key that one part of it lacks opens nothing.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn remove(&mut self, key: SessionKey) {
        let Some(Entry { session, .. }) = self.sessions.remove(&key) else { return };
        if let Some(keys) = self.of_user.get_mut(&session.user) {
            keys.retain(|other| *other != key);
            if keys.is_empty() {
                self.of_user.remove(&session.user);
            }
        }
    }

    /// Removes entries of sessions that have ended, once they outnumber the others.
    fn tidy(&mut self) {
        const FEW: usize = 64;
        if self.oldest_first.len() > 2 * self.sessions.len() + FEW {
            self.oldest_first.retain(|(key, _)| self.sessions.contains_key(key));
        }
    }

    /// Ends the user's session with the longest idle time, if the user has the largest number of sessions.
    fn make_room_for(&mut self, user: UserId, most: usize) {
        let Some(keys) = self.of_user.get(&user).filter(|keys| keys.len() >= most) else { return };
        let idlest = keys.iter().min_by_key(|key| self.sessions.get(key).map(|entry| entry.used)).copied();
        if let Some(key) = idlest {
            self.remove(key);
        }
    }

    /// Makes room for one more session, and removes a few that were idle for too long: a few at each sign-in instead of
    /// many at once.
    fn forget(&mut self, limits: SessionLimits, now: Instant) {
        const AT_ONCE: usize = 4;
        let mut looked = 0;
        while let Some(&(key, seen)) = self.oldest_first.front() {
            let full = self.sessions.len() >= limits.count;
            if !full && looked >= AT_ONCE {
                return;
            }
            looked += 1;
            match self.sessions.get(&key).map(|entry| entry.used) {
                Some(used) if used > seen => {
                    self.oldest_first.pop_front();
                    self.oldest_first.push_back((key, used));
                }
                Some(used) if !full && now.saturating_duration_since(used) <= limits.idle => return,
                _ => {
                    self.remove(key);
                    self.oldest_first.pop_front();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(count: usize) -> MailSessions {
        MailSessions::new(SessionLimits { count, of_one_user: 1000, idle: Duration::from_secs(60) })
    }

    #[test]
    fn a_key_opens_its_session_until_it_ends() {
        let all = sessions(10);
        let now = Instant::now();
        let session = all.begin(UserId(7), "ann", now);
        let again = all.begin(UserId(7), "ann", now);
        assert_ne!(session.key, again.key, "a new key at every sign-in");
        let read = SessionKey::parse(&session.key.to_text()).expect("reads back");
        assert_eq!(all.find(read, now).expect("found").user, UserId(7));
        all.end(session.key);
        assert!(all.find(session.key, now).is_none());
        assert!(all.find(again.key, now).is_some(), "the other session goes on");
    }

    #[test]
    fn idle_sessions_end() {
        let all = sessions(10);
        let start = Instant::now();
        let session = all.begin(UserId(1), "ann", start);
        let after = |s| start + Duration::from_secs(s);
        assert!(all.find(session.key, after(50)).is_some());
        assert!(all.find(session.key, after(100)).is_some(), "it was used in between");
        assert!(all.find(session.key, after(161)).is_none());
    }

    #[test]
    fn their_number_is_bounded_and_the_idlest_goes() {
        let all = sessions(3);
        let start = Instant::now();
        let after = |s| start + Duration::from_secs(s);
        let first: Vec<_> = (0..3).map(|i| all.begin(UserId(i), "x", after(i as u64))).collect();
        assert!(all.find(first[0].key, after(5)).is_some());
        let _fourth = all.begin(UserId(4), "x", after(6));
        assert!(all.find(first[0].key, after(7)).is_some(), "was used lately");
        assert!(all.find(first[1].key, after(7)).is_none(), "was idle for longest");
        for i in 0..1000 {
            let _more = all.begin(UserId(i), "x", after(8));
        }
        let table = all.lock();
        assert!(table.sessions.len() <= 3 && table.oldest_first.len() <= 4);
    }

    #[test]
    fn a_user_with_many_sessions_ends_none_of_others() {
        let limits = SessionLimits { count: 10, of_one_user: 3, idle: Duration::from_secs(60) };
        let all = MailSessions::new(limits);
        let start = Instant::now();
        let after = |s| start + Duration::from_secs(s);
        let ann = all.begin(UserId(1), "ann", start);
        let bobs: Vec<_> = (0..1000).map(|i| all.begin(UserId(2), "bob", after(i / 100))).collect();
        assert!(all.find(ann.key, after(20)).is_some());
        let left: Vec<_> =
            bobs.iter().filter(|bob| all.find(bob.key, after(20)).is_some()).map(|bob| bob.key).collect();
        assert_eq!(left, bobs[997..].iter().map(|bob| bob.key).collect::<Vec<_>>(), "his newest");
        let _used = all.find(bobs[997].key, after(30));
        let _another = all.begin(UserId(2), "bob", after(31));
        assert!(
            all.find(bobs[997].key, after(32)).is_some() && all.find(bobs[998].key, after(32)).is_none(),
            "the idlest goes"
        );
        for bob in &bobs {
            all.end(bob.key);
        }
        let table = all.lock();
        assert_eq!((table.sessions.len(), table.of_user.len()), (2, 2));
        assert!(table.oldest_first.len() <= 100, "{} places", table.oldest_first.len());
    }

    #[test]
    fn few_accounts_have_their_share_of_all_sessions() {
        let limits = SessionLimits { count: 10_000, of_one_user: 100, idle: Duration::from_secs(60) };
        let of_one = |accounts| limits.shared_by(accounts).of_one_user;
        assert_eq!([0, 1, 10, 100, 1000].map(of_one), [100, 10_000, 1000, 100, 100]);
    }

    #[test]
    fn only_what_was_written_is_read() {
        for text in ["", "00", "0x000000000000000000000000000000", "+0000000000000000000000000000001", &"G".repeat(32)]
        {
            assert!(SessionKey::parse(text).is_none(), "{text}");
        }
        assert!(SessionKey::parse(&"A".repeat(32)).is_none(), "one key has one spelling");
        assert!(SessionKey(1).matches(SessionKey(1)) && !SessionKey(1).matches(SessionKey(1 << 127)));
    }
}

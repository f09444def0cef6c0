//! Checks passwords so that the checks neither overload the service nor help to guess passwords.
//!
//! An expensive check is not done in the stage: it waits in a short queue of its own ([`checks`]), so that other
//! sign-ins pass it. For an unknown name a check is done only if nobody waits because of it; else the answer just takes
//! as long as a check would.

mod checks;
mod failures;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use self::{
    checks::Checks,
    failures::{FailureOwner, Failures},
};
use super::{
    password,
    store::{Store, StoreError, StoredAccount, UserId},
};

/// The longest name and password that are checked, in bytes.
const MAX_NAME: usize = 200;
const MAX_PASSWORD: usize = 1024;

/// Checks names and passwords.
#[derive(Debug, Default)]
pub struct SignIn {
    checks: Checks,
    failures: Failures,
}

/// The result of a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInOutcome {
    /// The password belongs to the name.
    Welcome(UserId),
    /// The password is wrong, or the name unknown: the answer does not tell which.
    Wrong,
    /// Too many failures with this name: the next attempt may come after this time.
    Wait(Duration),
    /// Too many checks at once.
    Busy,
}

/// The first result of a sign-in.
#[derive(Debug)]
pub enum Begun {
    /// The final result.
    Known(SignInOutcome),
    /// The password must be checked, which takes a while.
    Check(Check),
}

impl SignIn {
    /// Looks up a name and a password, and checks them if that is cheap.
    ///
    /// # Errors
    /// Any error of the store.
    pub async fn begin(
        self: &Arc<Self>,
        store: &Store,
        name: &str,
        password: &str,
        now: Instant,
    ) -> Result<Begun, StoreError> {
        if name.is_empty() || name.len() > MAX_NAME || password.len() > MAX_PASSWORD {
            return Ok(Begun::Known(SignInOutcome::Wrong));
        }
        let account = store.account(name).await?;
        // Generated users have passwords that follow from the seed: nothing to protect, and their sign-ins are the
        // load.
        if let Some(account) = account.as_ref().filter(|account| !password::is_expensive(&account.password)) {
            let fits = password::verify(password, &account.password);
            return Ok(Begun::Known(if fits { SignInOutcome::Welcome(account.id) } else { SignInOutcome::Wrong }));
        }
        let who =
            account.as_ref().map_or_else(|| self.failures.nobody(name), |account| FailureOwner::Account(account.id));
        if let Err(wait) = self.failures.try_begin(who, now) {
            return Ok(Begun::Known(SignInOutcome::Wait(wait)));
        }
        let attempt = Attempt { sign_in: Arc::clone(self), who };
        Ok(Begun::Check(Check { attempt, account, password: password.to_owned() }))
    }
}

/// A password that must be checked.
#[derive(Debug)]
pub struct Check {
    attempt: Attempt,
    account: Option<StoredAccount>,
    password: String,
}

impl Check {
    /// Waits for a turn and checks the password. Dropping the future gives up the turn.
    pub async fn run(self) -> SignInOutcome {
        let Self { attempt, account, password } = self;
        let SignIn { checks, failures } = &*attempt.sign_in;
        let Some(account) = account else {
            let pretended = checks.pretend(password).await;
            return if pretended { attempt.failed() } else { SignInOutcome::Busy };
        };
        // An attempt that waits behind failures of the same name is not checked after them.
        let still_may = || failures.wait(attempt.who, Instant::now()).is_none();
        match checks.verify(password, account.password, still_may).await {
            Some(true) => {
                failures.forgive(attempt.who);
                SignInOutcome::Welcome(account.id)
            }
            Some(false) => attempt.failed(),
            None => SignInOutcome::Busy,
        }
    }
}

/// One of the few attempts with a name that may be under way at once.
#[derive(Debug)]
struct Attempt {
    sign_in: Arc<SignIn>,
    who: FailureOwner,
}

impl Attempt {
    fn failed(&self) -> SignInOutcome {
        // The wait counts from here: while many passwords wait to be checked, a wait that counts from their beginning
        // would be over already.
        let now = Instant::now();
        match self.sign_in.failures.wait(self.who, now) {
            Some(wait) => SignInOutcome::Wait(wait),
            None => {
                self.sign_in.failures.count(self.who, now);
                SignInOutcome::Wrong
            }
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.sign_in.failures.end(self.who);
    }
}

//! The mail service as a [`Service`] behind the stages.

mod change;
mod copies;
mod read;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use controllers::{Reason, Refusal, RetryHint, random::seed_for};
use http::{Method, StatusCode, request::Parts};
use live_service::service::{At, Boxed, Bytes, Handled, Request, Service, deferred};
use maud::html;
use service_core::{
    mail::{self as model, Page, Quality},
    route::{Route, WorkError},
};
use spec::{ArashiSpec, WorkSpec, graph::Graph};

use self::copies::Copies;
use super::{
    answer::{self, MailAnswer},
    input::{self, Fields},
    limited_log::LimitedLog,
    pages::{self, Frame},
    session::{MailSession, MailSessions, SessionKey, SessionLimits},
    sign_in::{Begun, SignIn, SignInOutcome},
    store::{FolderId, Scope, Store, StoreError, StoreOptions},
};

/// The web-mail service.
#[derive(Debug)]
pub struct Arashi {
    store: Store,
    sessions: Arc<MailSessions>,
    sign_in: Arc<SignIn>,
    key_in_links: bool,
    log: LimitedLog,
    copies: Copies,
}

/// The answer of a handler, or the error of the store.
type Answered = Result<MailAnswer, StoreError>;

impl Arashi {
    /// Opens the database.
    ///
    /// # Errors
    /// Any error of the store.
    pub async fn open(database: &Path, work: &WorkSpec, spec: &ArashiSpec) -> Result<Self, StoreError> {
        let ArashiSpec { connections: readers, durability, full_text, .. } = *spec;
        let options = StoreOptions { readers, durability, full_text, ..StoreOptions::default() };
        let store = Store::open(database, &options).await?;
        let sessions = SessionLimits::default().shared_by(store.accounts().await?);
        let service = Self {
            store,
            sessions: Arc::new(MailSessions::new(sessions)),
            sign_in: Arc::default(),
            key_in_links: spec.session_in_links,
            log: LimitedLog::default(),
            copies: Copies::new(spec.stale),
        };
        model::set_work(service.store.work(), work).map_err(|error| StoreError::Work(error.to_string()))?;
        Ok(service)
    }

    async fn answer(&self, request: &Request, quality: Quality) -> Handled {
        let answered = self.try_answer(request, quality).await;
        let error = match answered {
            Ok(answer) => return Ok(answer),
            Err(StoreError::Busy) => return Err(busy()),
            Err(error) => error,
        };
        // For the operator; the user is told nothing about internals.
        self.log.write(&format_args!("{} {}: {error}", request.head.method, request.head.uri.path()));
        Ok(self.failed(request, &error))
    }

    /// The user's answer after an error of the store.
    fn failed(&self, request: &Request, error: &StoreError) -> MailAnswer {
        let (status, text) = match error {
            StoreError::TooLong => (StatusCode::SERVICE_UNAVAILABLE, "The search took too long. Try it in one folder."),
            StoreError::DiskFull => (StatusCode::INSUFFICIENT_STORAGE, "There is no room left."),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong. Nothing was changed."),
        };
        self.problem(request, status, text)
    }

    /// The same as [`answer::error`], for a signed-in user with the way back to the mail.
    fn problem(&self, request: &Request, status: StatusCode, text: &str) -> MailAnswer {
        let key = if self.key_in_links {
            Fields::parse(encoded(request)).and_then(|fields| fields.key("key"))
        } else {
            input::cookie(&request.head.headers)
        };
        match key.and_then(|key| self.sessions.find(key, Instant::now())) {
            Some(session) => {
                let frame = Frame { session: &session, key_in_links: self.key_in_links, folder: None, searched: None };
                let title = status.canonical_reason().unwrap_or("Error");
                answer::page(status, pages::problem(&frame, title, text))
            }
            None => answer::error(status, text),
        }
    }

    fn too_many_fields(&self, request: &Request) -> MailAnswer {
        let in_form = is_form(request);
        let status = if in_form { StatusCode::PAYLOAD_TOO_LARGE } else { StatusCode::BAD_REQUEST };
        let text = format!("There are more than {} fields. Nothing was changed.", input::MAX_FIELDS);
        self.problem(request, status, &text)
    }

    fn foreign_form(&self, request: &Request) -> MailAnswer {
        let text = "This form does not come from your session here. Go back and try again.";
        self.problem(request, StatusCode::FORBIDDEN, text)
    }

    async fn try_answer(&self, request: &Request, quality: Quality) -> Answered {
        let head = &request.head;
        let Some(page) = Page::of(head.uri.path()) else { return Ok(self.no_such_page(head)) };
        let changes = page.is_post();
        let allowed =
            if changes { head.method == Method::POST } else { matches!(head.method, Method::GET | Method::HEAD) };
        if !allowed {
            return Ok(answer::wrong_method(if changes { "POST" } else { "GET, HEAD" }));
        }
        if changes && !input::is_same_site(head) {
            return Ok(self.foreign_form(request));
        }
        let Some(fields) = Fields::parse(encoded(request)) else { return Ok(self.too_many_fields(request)) };
        match page {
            Page::SignIn => return Ok(answer::page(StatusCode::OK, pages::sign_in(None))),
            Page::Logo => return Ok(answer::file("image/png", pages::LOGO)),
            Page::Style => return Ok(answer::file("text/css; charset=utf-8", pages::STYLE)),
            Page::Login => return self.login(head, &fields).await,
            _ => {}
        }
        let Some(session) = self.session(head, &fields) else {
            let again = pages::sign_in(Some("Please sign in: your session has ended."));
            return Ok(answer::page(StatusCode::FORBIDDEN, again));
        };
        if changes && !fields.key("csrf").is_some_and(|token| token.matches(session.form_token)) {
            return Ok(self.foreign_form(request));
        }
        let user = Signed { arashi: self, session: &session, fields: &fields, quality };
        if let Some(copy) = user.as_it_was(page) {
            return Ok(copy);
        }
        self.store.do_work(page.kind(), mailbox(&session.name), quality.of_work(page)).await?;
        match page {
            Page::FolderList => user.folder_list().await,
            Page::List => user.list().await,
            Page::Show => user.show().await,
            Page::Attachment => user.attachment().await,
            Page::Search => user.search().await,
            Page::Delete => user.delete().await,
            Page::Refile => user.refile().await,
            Page::CreateFolder => user.create_folder().await,
            Page::DeleteFolder => user.delete_folder().await,
            Page::Logout => {
                self.sessions.end(session.key);
                let page = answer::page(StatusCode::OK, pages::sign_in(None));
                Ok(answer::with_cookie(page, None))
            }
            Page::SignIn | Page::Logo | Page::Style | Page::Login => unreachable!("answered above"),
        }
    }

    fn no_such_page(&self, head: &Parts) -> MailAnswer {
        let query = head.uri.query().unwrap_or("").as_bytes();
        let Some(fields) = Fields::parse(query) else { return answer::missing() };
        match self.session(head, &fields) {
            Some(session) => {
                Signed { arashi: self, session: &session, fields: &fields, quality: Quality::Full }.missing()
            }
            None => answer::missing(),
        }
    }

    async fn login(&self, head: &Parts, fields: &Fields<'_>) -> Answered {
        let (name, password) = (fields.text("user").unwrap_or(""), fields.text("password").unwrap_or(""));
        self.store.do_work(Page::Login.kind(), mailbox(name), 1.0).await?;
        let entrance = Entrance {
            sessions: Arc::clone(&self.sessions),
            key_in_links: self.key_in_links,
            name: name.to_owned(),
            before: input::cookie(&head.headers),
        };
        Ok(match self.sign_in.begin(&self.store, name, password, Instant::now()).await? {
            Begun::Known(outcome) => return entrance.answer(outcome).or(Err(StoreError::Busy)),
            Begun::Check(check) => deferred(async move { entrance.answer(check.run().await) }),
        })
    }

    /// The session of a request. A key in a link counts only if keys are in links: else a link could sign its reader in
    /// as another user.
    fn session(&self, head: &Parts, fields: &Fields<'_>) -> Option<Arc<MailSession>> {
        let key: SessionKey = if self.key_in_links { fields.key("key") } else { input::cookie(&head.headers) }?;
        self.sessions.find(key, Instant::now())
    }
}

/// A sign-in.
struct Entrance {
    sessions: Arc<MailSessions>,
    key_in_links: bool,
    name: String,
    /// The key of the previous session.
    before: Option<SessionKey>,
}

impl Entrance {
    fn answer(&self, outcome: SignInOutcome) -> Handled {
        let user = match outcome {
            SignInOutcome::Welcome(user) => user,
            SignInOutcome::Wrong => {
                let again = pages::sign_in(Some("That user and password do not belong together."));
                return Ok(answer::page(StatusCode::FORBIDDEN, again));
            }
            SignInOutcome::Wait(wait) => {
                let seconds = match answer::whole_seconds(wait) {
                    1 => "1 second".to_owned(),
                    seconds => format!("{seconds} seconds"),
                };
                let again = pages::sign_in(Some(&format!("Too many attempts. Try again in {seconds}.")));
                return Ok(answer::retry_after(answer::page(StatusCode::TOO_MANY_REQUESTS, again), wait));
            }
            SignInOutcome::Busy => return Err(busy()),
        };
        // A key from before the sign-in is invalid afterwards: nobody can prepare one for another user.
        if let Some(old) = self.before {
            self.sessions.end(old);
        }
        let session = self.sessions.begin(user, &self.name, Instant::now());
        let frame = Frame { session: &session, key_in_links: self.key_in_links, folder: None, searched: None };
        let page = answer::page(StatusCode::OK, pages::welcome(&frame));
        Ok(if self.key_in_links { page } else { answer::with_cookie(page, Some(session.key)) })
    }
}

/// The refusal if too many passwords are being checked, or the store is busy.
fn busy() -> Refusal {
    Refusal { reason: Reason::QueueFull, retry: RetryHint::After(Duration::from_secs(1)) }
}

/// True if the requested page changes data: its fields are in its body.
fn is_form(request: &Request) -> bool {
    Page::of(request.head.uri.path()).is_some_and(Page::is_post)
}

/// The encoded fields of a request.
fn encoded(request: &Request) -> &[u8] {
    if is_form(request) { &request.body } else { request.head.uri.query().unwrap_or("").as_bytes() }
}

/// A request of a signed-in user.
#[derive(Debug, Clone, Copy)]
struct Signed<'a> {
    arashi: &'a Arashi,
    session: &'a MailSession,
    fields: &'a Fields<'a>,
    quality: Quality,
}

impl<'a> Signed<'a> {
    fn store(&self) -> &'a Store {
        &self.arashi.store
    }

    fn frame(&self, folder: Option<FolderId>) -> Frame<'a> {
        Frame { session: self.session, key_in_links: self.arashi.key_in_links, folder, searched: None }
    }

    /// The same as [`answer::missing`], with the way back to the mail.
    fn missing(&self) -> MailAnswer {
        let status = StatusCode::NOT_FOUND;
        answer::page(status, pages::problem(&self.frame(None), "Not Found", answer::MISSING))
    }

    /// The field `folderid`: a folder, or all folders.
    fn scope(&self) -> Option<Scope> {
        if self.fields.text("folderid") == Some("all") {
            return Some(Scope::All);
        }
        self.fields.folder("folderid").map(Scope::Folder)
    }
}

impl Service for Arashi {
    fn graph(&self) -> Graph {
        model::graph()
    }

    fn route(&self, head: &Parts) -> Route {
        model::route(head.uri.path())
    }

    /// Half of a key's bits go into the number, spread by a hash: the key cannot be recovered from it.
    fn session(&self, head: &Parts) -> Option<u64> {
        let key = if self.key_in_links { None } else { input::cookie(&head.headers) }?;
        Some(seed_for(0, &key.to_text()))
    }

    fn handle<'a>(&'a self, request: Request, at: At<'a>) -> Boxed<'a, Handled> {
        Box::pin(async move { self.answer(&request, Quality::of(at.quality)).await })
    }

    fn degrade<'a>(&'a self, request: &'a Request) -> Boxed<'a, Option<answer::MailAnswer>> {
        Box::pin(async move {
            let page = Page::of(request.head.uri.path())?;
            if !matches!(page, Page::List | Page::Show) {
                return None;
            }
            self.answer(request, Quality::Reduced).await.ok()
        })
    }

    fn refused_page(&self, _: Reason) -> Bytes {
        let page = pages::unasked(
            "refused",
            "Too busy",
            self.key_in_links,
            &html! {
                p { "So many people are reading their mail that this request cannot be served now." }
                p { "Nothing was changed. Please wait for some seconds, and load this page again." }
            },
        );
        page.into_string().into()
    }

    fn error_page(&self, status: StatusCode) -> Bytes {
        let title = status.canonical_reason().unwrap_or("Error");
        pages::unasked("error", title, self.key_in_links, &html! { p { "This did not work." } }).into_string().into()
    }

    fn set_work(&self, work: &WorkSpec) -> Result<(), WorkError> {
        model::set_work(self.store.work(), work)
    }

    fn close(&self) -> Boxed<'_, ()> {
        let store = self.store.clone();
        Box::pin(async move {
            if let Err(error) = store.close().await {
                eprintln!("closing the mail store: {error}");
            }
        })
    }
}

/// The number of a user's mailbox, by which its extra work is drawn.
fn mailbox(user: &str) -> u64 {
    seed_for(0, user)
}

#[cfg(test)]
mod tests;

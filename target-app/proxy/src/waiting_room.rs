//! The waiting room of a proxy: the host of [`controllers::webq::WaitingRoom`] before the gate.
//!
//! The machine decides who passes; this host verifies what requests show, signs what is promised, and carries it.

mod keys;
mod page;
mod replicas;
mod rows;
mod schedule;
mod told;
mod turn;

use std::{
    net::IpAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use admission_token::{Audience, Binding, Claims, TokenPurpose};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use controllers::{
    Reason, Timestamp, UnixSeconds,
    webq::{Comer, ReplicaParams, RoomAnswer, Subunits, TokenRefusal, WaitingRoom},
};
use http::{HeaderValue, Response, request::Parts};
use hyper::body::Bytes;

use super::{client::Client, error::ProxyError};
use keys::{Keys, drawn};
use live_service::{clock::ServiceClock, edge::ClientSource, stage::lock};
use page::WaitPage;
use replicas::Replicas;
pub(super) use schedule::keep_time;
use service_core::waiting_room::{
    carried::{self, Carried, PLACE_LETTERS},
    tokens,
};
use spec::waiting_room::{TokenBinding, WaitingRoomSpec};
use told::Told;
pub(super) use turn::put;

/// The waiting room of a process.
#[derive(Debug)]
pub(super) struct Room {
    machine: Mutex<WaitingRoom>,
    spec: WaitingRoomSpec,
    keys: Keys,
    page: Mutex<Arc<WaitPage>>,
    replicas: Option<Replicas>,
    clock: ServiceClock,
    seed: u64,
}

/// The fate of a request.
pub(super) enum Entry {
    /// It passes on to the policy.
    In(Turn),
    /// It is told when to come.
    Told(Response<Bytes>, Reason),
}

/// A request that the room let in. What its end tells the estimate; dropped before, it tells nothing.
#[derive(Debug)]
pub(super) struct Turn {
    room: Arc<Room>,
    kind: usize,
    entered: Timestamp,
    /// Cookies for the answer.
    cookies: Vec<HeaderValue>,
}

/// The sender of a request.
struct Bearer {
    binding: Binding,
    /// The place of a cookie.
    place: Option<String>,
    /// True: the place is new, and has to be kept.
    is_new: bool,
}

impl Room {
    /// An empty room. Needs a runtime.
    ///
    /// # Errors
    /// The keys or the page cannot be read, or the address for replicas cannot be bound.
    pub(super) fn new(spec: &WaitingRoomSpec, clock: ServiceClock, seed: u64) -> Result<Arc<Self>, ProxyError> {
        let now = clock.wall();
        let replica = spec.replicas.as_ref().map_or(Ok(ReplicaParams::alone()), replicas::numbered)?;
        let mut machine = WaitingRoom::new(&spec.params(replica, now))
            .map_err(|wrong| ProxyError::setting("waiting_room", wrong.to_string()))?;
        if spec.capacity.is_some() {
            machine.give(now, spec.capacity(), Vec::new());
        }
        let keys = Keys::new(spec.keys.as_deref(), Audience::named(&spec.name), spec.longest_life_s(), now)?;
        let page = Mutex::new(Arc::new(WaitPage::new(spec.page.as_deref())?));
        let replicas = spec.replicas.as_ref().map(Replicas::bind).transpose()?;
        let machine = Mutex::new(machine);
        Ok(Arc::new(Self { machine, spec: spec.clone(), keys, page, replicas, clock, seed }))
    }

    /// Problems of the files that the settings name.
    pub(super) fn problems(spec: &WaitingRoomSpec) -> Vec<ProxyError> {
        let keys = Keys::new(spec.keys.as_deref(), Audience::named(&spec.name), spec.longest_life_s(), UnixSeconds(0));
        keys.err().into_iter().chain(WaitPage::new(spec.page.as_deref()).err()).collect()
    }

    /// Takes its page from the file again, unless there is none any more.
    pub(super) fn read_page_again(&self) {
        let read = WaitPage::new(self.spec.page.as_deref());
        read.into_iter().for_each(|page| *lock(&self.page) = Arc::new(page));
    }

    /// True if requests are of several types.
    pub(super) fn has_types(&self) -> bool {
        self.spec.hardness.len() > 1
    }

    /// Decides about a request of this class. What it shows is taken out of it.
    pub(super) fn present(self: &Arc<Self>, head: &mut Parts, client: &Client, class: u8) -> Entry {
        let (kind, secure) = (self.spec.kind(class), client.secure);
        let Carried { token, place } = Carried::take(head, secure);
        let mut bearer = self.bearer(place, client);
        let (now, entered) = (self.clock.wall(), self.clock.now());
        let opened = token.as_deref().map(|token| self.keys.open(token, now));
        let answer = {
            let shown = tokens::shown(opened.as_ref(), &bearer.binding);
            let comer = Comer { kind, source: ClientSource::of(client.peer()).number() };
            lock(&self.machine).present(now, entered, comer, &shown)
        };
        match answer {
            RoomAnswer::Pass { visit } => {
                let mut turn = Turn { room: Arc::clone(self), kind, entered, cookies: Vec::new() };
                let had_turn = matches!(&opened, Some(Ok(claims)) if claims.purpose == TokenPurpose::TURN);
                if let Some(until) = visit {
                    self.keep_place(&mut bearer, &mut turn.cookies, secure);
                    let visit = self.seal(TokenPurpose::VISIT, (now, until), &bearer, now);
                    turn.cookies.extend(visit.and_then(|token| self.cookie(&token, until, now, secure)));
                } else if had_turn && !self.is_in_url() {
                    turn.cookies.extend(carried::token_cookie("", 0, secure)); // it is used
                }
                Entry::In(turn)
            }
            RoomAnswer::Wait { at, wait_s, keeps_token, why } => {
                let mut cookies = Vec::new();
                let token = if keeps_token {
                    token
                } else {
                    self.keep_place(&mut bearer, &mut cookies, secure);
                    let last = UnixSeconds(at.0.saturating_add(self.spec.skew_s.into()));
                    let token = self.seal(TokenPurpose::TURN, (at, last), &bearer, now);
                    if !self.is_in_url() {
                        cookies.extend(token.as_deref().and_then(|token| self.cookie(token, last, now, secure)));
                    }
                    token
                };
                let told = Told { token: token.as_deref(), ..self.told(at, wait_s, why, &bearer) };
                let mut answer = told.answer(head, &lock(&self.page).clone());
                put(cookies, answer.headers_mut());
                Entry::Told(answer, tokens::REASON)
            }
            RoomAnswer::Full { full, why } => {
                let wait_s = full.come_back_s(u64::from_ne_bytes(drawn()));
                let at = UnixSeconds(now.0.saturating_add(wait_s.into()));
                let told = Told { is_full: true, ..self.told(at, wait_s, why, &bearer) };
                Entry::Told(told.answer(head, &lock(&self.page).clone()), Reason::QueueFull)
            }
        }
    }

    /// A capacity from outside, of now on.
    pub(super) fn give(&self, capacity: f64) {
        lock(&self.machine).give(self.clock.wall(), Some(Subunits::of(capacity)), Vec::new());
    }

    /// The answer to a client that does not pass.
    fn told<'a>(&self, at: UnixSeconds, wait_s: u32, why: Option<TokenRefusal>, bearer: &'a Bearer) -> Told<'a> {
        let place = bearer.place.as_deref();
        Told { at, wait_s, is_full: false, why, token: None, in_url: self.is_in_url(), place }
    }

    fn is_in_url(&self) -> bool {
        self.spec.binding == TokenBinding::Address
    }

    fn bearer(&self, place: Option<String>, client: &Client) -> Bearer {
        match self.spec.binding {
            TokenBinding::Address => {
                let binding = match client.peer().ip().to_canonical() {
                    IpAddr::V4(address) => Binding::digest(&address.octets()),
                    IpAddr::V6(address) => Binding::digest(&address.octets()),
                };
                Bearer { binding, place: None, is_new: false }
            }
            TokenBinding::Cookie => Bearer {
                binding: Binding::digest(place.as_deref().unwrap_or_default().as_bytes()),
                is_new: place.is_none(),
                place,
            },
        }
    }

    /// Gives a bearer without a place one, which its cookie keeps.
    fn keep_place(&self, bearer: &mut Bearer, cookies: &mut Vec<HeaderValue>, secure: bool) {
        if bearer.is_new {
            let place = URL_SAFE_NO_PAD.encode(drawn::<16>());
            debug_assert_eq!(place.len(), PLACE_LETTERS, "128 bits");
            cookies.extend(carried::place_cookie(&place, secure));
            *bearer = Bearer { binding: Binding::digest(place.as_bytes()), place: Some(place), is_new: false };
        }
    }

    fn seal(
        &self,
        purpose: TokenPurpose,
        (first, last): (UnixSeconds, UnixSeconds),
        bearer: &Bearer,
        now: UnixSeconds,
    ) -> Option<String> {
        let claims = Claims {
            purpose,
            audience: self.keys.audience(),
            not_before: first.0,
            expires: last.0,
            id: u128::from_ne_bytes(drawn()),
            binding: bearer.binding,
        };
        self.keys.seal(&claims, now)
    }

    /// The cookie of a token, for as long as it may be shown: after its last second it is shown once more, so that its bearer is
    /// told that it is late.
    fn cookie(&self, token: &str, last: UnixSeconds, now: UnixSeconds, secure: bool) -> Option<HeaderValue> {
        carried::token_cookie(token, last.0.saturating_sub(now.0) + u64::from(self.spec.horizon_s), secure)
    }

    fn ended(&self, kind: usize, response: Duration, served: bool) {
        lock(&self.machine).ended(self.clock.wall(), kind, response, served);
    }
}

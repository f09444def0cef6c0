//! The layer and its configuration.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{Arc, OnceLock},
    time::Duration,
};

use controllers::{Objective, PeerReport, Place, SiteId, catalogue::Setting, site::Probe};
use tower_layer::Layer;

use crate::{
    Admission, AdmissionService, AtHead, BuildError, IntoSetting, NoNotes, NoTags, PolicyChoice,
    clock::Clock,
    defaults::{ClientOutcomes, ServerOutcomes, ServerRefusal, server_refusal},
    plan::{Side, SitePlan},
    probe::ThisProcessProbe,
    refusal::{RefuseWith, RefuseWithError},
    reports::OnTell,
    service::Handling,
};

/// Admission control in front of a service: a policy decides about each request when it is called.
///
/// All services that one layer (or a clone of it) makes share one policy, which is made with the first of them.
///
/// ```
/// use std::time::Duration;
/// use tower_admission::AdmissionLayer;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tower_admission::BuildError> {
/// let layer = AdmissionLayer::new("gradient2")
///     .set("limit_max", 500)
///     .objective(99.0, Duration::from_millis(250))
///     .build()?;
/// # let _: tower_admission::AdmissionService<()> = tower_layer::Layer::layer(&layer, ());
/// # Ok(())
/// # }
/// ```
///
/// The type parameters are what the layer does with requests and responses, each with a method that sets it: tags
/// ([`classify`]), the answer to a refusal
/// ([`refuse_with`]), outcomes ([`outcome`]), and when a request ends ([`end_at_body`]).
///
/// [`classify`]: AdmissionLayer::classify
/// [`refuse_with`]: AdmissionLayer::refuse_with
/// [`outcome`]: AdmissionLayer::outcome
/// [`end_at_body`]: AdmissionLayer::end_at_body
#[derive(Clone)]
#[must_use = "a layer does nothing until a service is put into it"]
pub struct AdmissionLayer<C = NoTags, R = ServerRefusal, O = ServerOutcomes, E = AtHead, N = NoNotes> {
    choice: PolicyChoice,
    plan: SitePlan,
    handling: Handling<C, R, O, E, N>,
    /// The policy: made with the first service, and shared by clones of the layer.
    running: Arc<OnceLock<Admission>>,
}

impl<C, R, O, E, N> fmt::Debug for AdmissionLayer<C, R, O, E, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { choice, plan, running, .. } = self;
        f.debug_struct("AdmissionLayer")
            .field("choice", choice)
            .field("plan", plan)
            .field("running", running)
            .finish_non_exhaustive()
    }
}

impl AdmissionLayer {
    /// A server's layer with a policy: its name in the catalogue, a builder of [`crate::policies`], or an entry of your
    /// own.
    ///
    /// A refusal is an HTTP response: 503 with `Retry-After`, or a gRPC status if the request is one of gRPC.
    pub fn new(policy: impl Into<PolicyChoice>) -> Self {
        let side = Side::Server(Place::Single);
        let handling =
            Handling { tags: NoTags, refusal: server_refusal(), outcomes: ServerOutcomes, end: AtHead, notes: NoNotes };
        Self { choice: policy.into(), plan: SitePlan::new("server", side), handling, running: Arc::default() }
    }
}

impl AdmissionLayer<NoTags, RefuseWithError, ClientOutcomes, AtHead> {
    /// A client's layer: it asks the policy before a request is sent. A refusal is the error [`crate::Refused`], boxed.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # use tower_admission::AdmissionLayer;
    /// // Google SRE's clients: a throttle, and a retry budget.
    /// let layer = AdmissionLayer::client("sre-client").build().expect("a policy for clients");
    /// # let _: tower_admission::AdmissionService<(), _, _, _, _> = tower_layer::Layer::layer(&layer, ());
    /// # }
    /// ```
    pub fn client(policy: impl Into<PolicyChoice>) -> Self {
        let handling =
            Handling { tags: NoTags, refusal: RefuseWithError, outcomes: ClientOutcomes, end: AtHead, notes: NoNotes };
        Self { choice: policy.into(), plan: SitePlan::new("client", Side::Client), handling, running: Arc::default() }
    }
}

/// The policy and its site.
impl<C, R, O, E, N> AdmissionLayer<C, R, O, E, N> {
    /// Sets a parameter of the policy: `lab policies NAME` lists them, with units and ranges. Wrong ones are errors of
    /// [`AdmissionLayer::build`].
    pub fn set(mut self, key: impl Into<String>, value: impl IntoSetting) -> Self {
        self.choice = self.choice.set(key, value);
        self.anew()
    }

    /// Sets parameters of the policy.
    pub fn settings<K: Into<String>>(mut self, settings: impl IntoIterator<Item = (K, Setting)>) -> Self {
        self.choice = self.choice.settings(settings.into_iter().map(|(key, setting)| (key.into(), setting)).collect());
        self.anew()
    }

    /// Names the layer, for metrics: `server` or `client` unless said otherwise.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.plan.name = name.into();
        self.anew()
    }

    /// Sets the objective of policies that have one (`seda`, `headway`): `percentile` percent of requests (0 to 100) are
    /// answered within `response_time`. The default is 90 % within a second; [`AdmissionLayer::build`] demands one of `headway`.
    pub fn objective(mut self, percentile: f64, response_time: Duration) -> Self {
        self.plan.objective = Some(Objective { percentile, response_time });
        self.anew()
    }

    /// Sets how many requests the service works on at once, at least 1. Queue disciplines (`codel`, `lifo`) admit so many
    /// and hold the others; [`AdmissionLayer::build`] demands it of them. Other policies do without it.
    pub fn capacity(mut self, requests: u32) -> Self {
        self.plan.capacity = Some(requests);
        self.anew()
    }

    /// Starts in shadow mode: the policy decides and is told everything, nothing is refused or made to wait, and what
    /// would have been refused is counted
    /// ([`crate::AdmissionGauges::would_refuse`]). [`Admission::set_shadow`] switches it while the layer runs.
    ///
    /// Requests that would have been refused load the service here, so that a policy that learns from response times sees
    /// those of more load than it would admit.
    pub fn shadow(mut self, shadow: bool) -> Self {
        self.plan.shadow = shadow;
        self.anew()
    }

    /// Divides the layer into this number of shards, 1 to 256; the default is 1. Each has a lock and a policy of its own,
    /// which sees the requests of some threads.
    ///
    /// For services whose threads would wait for one lock (millions of decisions a second). Only policies that need not
    /// see every request can be sharded
    /// (`none`, `aimd`, `vegas`, `gradient2`, `dagor`, `seda`, `pid`, `utilization`, `dont-retry`); for others
    /// [`AdmissionLayer::build`] says why not. Limits
    /// that settings name hold for each shard.
    pub fn shards(mut self, shards: u32) -> Self {
        self.plan.shards = shards;
        self.anew()
    }

    /// Sets the root of the policy's randomness. The default differs from process to process.
    pub fn seed(mut self, seed: u64) -> Self {
        self.plan.seed = seed;
        self.anew()
    }

    /// Sets the source of load samples (`utilization`, `sre`). The default is this process: its CPU time and its
    /// memory.
    pub fn probe(mut self, probe: Arc<dyn Probe>) -> Self {
        self.plan.probe = probe;
        self.anew()
    }

    /// Sets what is done with the reports of the policy for other sites: a closure that sends them there. Only `quota`
    /// and `sre` report, if `report_usage` is set: the usage of their customers, to the process that divides quotas
    /// between replicas. Its answers are given to [`Admission::tell`].
    ///
    /// The closure runs in the task that caused a report, and holds no lock. It must not block: hand the report to a
    /// channel.
    ///
    /// ```
    /// use tower_admission::{AdmissionLayer, SiteId};
    ///
    /// let (reports, for_the_wire) = std::sync::mpsc::channel();
    /// let layer = AdmissionLayer::new("quota")
    ///     .set("report_usage", true)
    ///     .site(SiteId(3))
    ///     .on_tell(move |report| _ = reports.send(report));
    /// ```
    pub fn on_tell(mut self, tell: impl Fn(PeerReport) + Send + Sync + 'static) -> Self {
        self.plan.on_tell = Some(OnTell::new(tell));
        self.anew()
    }

    /// Sets the number that the layer has in reports, one for each replica. The default is 0. Shards have the numbers
    /// from this one on.
    pub fn site(mut self, number: SiteId) -> Self {
        self.plan.site = number;
        self.anew()
    }

    /// Checks the configuration and makes the policy.
    ///
    /// # Errors
    /// Unknown policies and parameters (with a suggestion), values out of range, a policy that has no place in such a
    /// layer, a queue discipline without a
    /// capacity, `headway` without an objective, a policy that cannot be sharded, one that reports while nobody gets its reports.
    pub fn build(self) -> Result<Self, BuildError> {
        self.admission()?;
        Ok(self)
    }

    /// The running policy.
    ///
    /// # Errors
    /// Those of [`AdmissionLayer::build`].
    pub fn admission(&self) -> Result<Admission, BuildError> {
        if let Some(running) = self.running.get() {
            return Ok(running.clone());
        }
        let checked = self.plan.check(&self.choice)?;
        let plan = SitePlan { clock: Clock::start(), ..self.plan.clone() };
        let made = Admission::new(plan, &checked)?;
        Ok(self.running.get_or_init(|| made).clone())
    }

    /// A layer whose configuration was changed does not share the policy of the layer that it was cloned from.
    fn anew(mut self) -> Self {
        self.running = Arc::default();
        self
    }
}

/// Requests and responses.
impl<C, R, O, E, N> AdmissionLayer<C, R, O, E, N> {
    /// Sets what the policy is told about a request: a closure `Fn(&Request) -> RequestTags`.
    ///
    /// ```
    /// use tower_admission::{AdmissionLayer, RequestTags};
    ///
    /// let layer = AdmissionLayer::new("dagor").classify(|request: &http::Request<String>| {
    ///     RequestTags::new().class(if request.uri().path().starts_with("/pay") { 1 } else { 0 })
    /// });
    /// ```
    pub fn classify<T>(self, tags: T) -> AdmissionLayer<T, R, O, E, N> {
        let Handling { refusal, outcomes, end, notes, .. } = self.handling;
        with(self.choice, self.plan, self.running, Handling { tags, refusal, outcomes, end, notes })
    }

    /// Sets the answer to a refusal: a closure `Fn(Request, Refused) -> Response`.
    ///
    /// ```
    /// use tower_admission::{AdmissionLayer, Refused};
    ///
    /// let layer = AdmissionLayer::new("concurrency").refuse_with(|_: http::Request<String>, refused: Refused| {
    ///     http::Response::builder().status(429).body(refused.to_string()).expect("a response")
    /// });
    /// ```
    pub fn refuse_with<F>(self, answer: F) -> AdmissionLayer<C, RefuseWith<F>, O, E, N> {
        let Handling { tags, outcomes, end, notes, .. } = self.handling;
        with(self.choice, self.plan, self.running, Handling { tags, refusal: RefuseWith(answer), outcomes, end, notes })
    }

    /// Makes a refusal the error [`crate::Refused`], boxed, as other layers of tower do.
    pub fn refuse_with_error(self) -> AdmissionLayer<C, RefuseWithError, O, E, N> {
        let Handling { tags, outcomes, end, notes, .. } = self.handling;
        with(self.choice, self.plan, self.running, Handling { tags, refusal: RefuseWithError, outcomes, end, notes })
    }

    /// Sets the answer to a refusal, as a value: for types of your own that implement [`crate::OnRefusal`].
    pub fn on_refusal<T>(self, refusal: T) -> AdmissionLayer<C, T, O, E, N> {
        let Handling { tags, outcomes, end, notes, .. } = self.handling;
        with(self.choice, self.plan, self.running, Handling { tags, refusal, outcomes, end, notes })
    }

    /// Sets what the policy is told about the end of a request: a closure `Fn(Result<&Response, &Error>) -> Outcome`.
    pub fn outcome<T>(self, outcomes: T) -> AdmissionLayer<C, R, T, E, N> {
        let Handling { tags, refusal, end, notes, .. } = self.handling;
        with(self.choice, self.plan, self.running, Handling { tags, refusal, outcomes, end, notes })
    }

    /// Carries notes between the policies of client and server: as headers with [`crate::HttpNotes`]. By default no
    /// notes are carried.
    pub fn notes<T>(self, notes: T) -> AdmissionLayer<C, R, O, E, T> {
        let Handling { tags, refusal, outcomes, end, .. } = self.handling;
        with(self.choice, self.plan, self.running, Handling { tags, refusal, outcomes, end, notes })
    }

    /// Ends requests with the body of their response, instead of its head: for answers that take long to write, or that
    /// are made while they are sent. The
    /// response's body becomes an [`crate::AdmissionBody`]. A body that is dropped before its end is an abandoned
    /// request.
    #[cfg(feature = "http")]
    pub fn end_at_body(self) -> AdmissionLayer<C, R, O, crate::AtBody, N> {
        let Handling { tags, refusal, outcomes, notes, .. } = self.handling;
        with(self.choice, self.plan, self.running, Handling { tags, refusal, outcomes, end: crate::AtBody, notes })
    }
}

fn with<C, R, O, E, N>(
    choice: PolicyChoice,
    plan: SitePlan,
    running: Arc<OnceLock<Admission>>,
    handling: Handling<C, R, O, E, N>,
) -> AdmissionLayer<C, R, O, E, N> {
    AdmissionLayer { choice, plan, handling, running }
}

impl SitePlan {
    fn new(name: &str, side: Side) -> Self {
        Self {
            name: name.to_owned(),
            side,
            capacity: None,
            objective: None,
            shards: 1,
            shadow: false,
            seed: RandomState::new().hash_one(name),
            probe: Arc::new(ThisProcessProbe),
            clock: Clock::start(),
            site: SiteId(0),
            on_tell: None,
        }
    }
}

impl<S, C: Clone, R: Clone, O: Clone, E: Clone, N: Clone> Layer<S> for AdmissionLayer<C, R, O, E, N> {
    type Service = AdmissionService<S, C, R, O, E, N>;

    /// Puts a service into the layer.
    ///
    /// # Panics
    /// If the configuration is wrong, with what [`AdmissionLayer::build`] would say. It says so at the start of a
    /// program, and not at a request.
    fn layer(&self, inner: S) -> Self::Service {
        let admission = self.admission().unwrap_or_else(|wrong| panic!("{wrong}"));
        AdmissionService::new(inner, admission, self.handling.clone())
    }
}

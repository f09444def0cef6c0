use std::{io, sync::Once};

use nix::libc::{EADDRNOTAVAIL, EMFILE, ENFILE};
use reqwest::{Certificate, Identity, Method, Url, header, redirect};

use crate::{
    host::{End, HttpVersion, MEMORY_FOR_ANSWERS, RunError, RunOptions},
    http1::{Budget, FORM, Given, Http1Error, Limits},
    persona::{Call, Connection},
    plan::LoadPlan,
};

/// One user's client: its pool holds one connection, as a browser's would for a service with one address.
pub(super) type Client = reqwest::Client;

static PROVIDER: Once = Once::new();

/// Makes clients.
#[derive(Debug)]
pub(super) struct ClientFactory {
    plan: LoadPlan,
    base: Url,
    insecure: bool,
    /// In place of the system's; `None`: those of the system.
    authorities: Option<Vec<Certificate>>,
    identity: Option<Identity>,
    version: HttpVersion,
    /// True if the users have a `Host` of their own. HTTP/2 has none but the URL's.
    host_given: bool,
    memory: Budget,
}

/// A complete answer.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) status: u16,
    pub(super) headers: header::HeaderMap,
    pub(super) body: Body,
}

/// A body, as far as users read it.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    length: usize,
    limits: Limits,
    memory: Budget,
}

/// An exchange without an answer: how it ended, and why; without a text where there is nothing to add.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) end: End,
    pub(super) why: String,
}

impl From<End> for Lost {
    fn from(end: End) -> Self {
        Self { end, why: String::new() }
    }
}

impl Body {
    /// Appends a piece of the body.
    fn push(&mut self, piece: &[u8]) -> Result<(), Http1Error> {
        self.length += piece.len();
        if self.length > self.limits.body {
            return Err(Http1Error::BodyTooLong(self.limits.body));
        }
        let kept = &piece[..piece.len().min(self.limits.kept - self.bytes.len())];
        if !self.memory.take(kept.len()) {
            return Err(Http1Error::Memory(self.memory.bytes()));
        }
        self.bytes.extend_from_slice(kept);
        Ok(())
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.memory.give_back(self.bytes.len());
    }
}

impl ClientFactory {
    pub(super) fn new(plan: &LoadPlan, options: &RunOptions) -> Result<Self, RunError> {
        // A process has one crypto provider; one that is already installed stays.
        PROVIDER.call_once(|| _ = rustls::crypto::ring::default_provider().install_default());
        let base = Url::parse(&plan.target.url).map_err(|error| RunError::Client(error.to_string()))?;
        let host_given = plan.users.give_host();
        let memory = Budget::of(MEMORY_FOR_ANSWERS);
        let bad = |what| move |error: reqwest::Error| RunError::Certificate { what, cause: told(&error) };
        let tls = &options.tls;
        let authorities = tls.authorities.as_deref().map(Certificate::from_pem_bundle).transpose();
        let authorities = authorities.map_err(bad("the authorities' certificate"))?;
        if authorities.as_ref().is_some_and(Vec::is_empty) {
            let cause = "there is no certificate in it: it is to be in PEM".to_owned();
            return Err(RunError::Certificate { what: "the authorities' certificate", cause });
        }
        let identity = tls.identity.as_deref().map(Identity::from_pem).transpose();
        let identity = identity.map_err(bad("the client's certificate with its key"))?;
        let (insecure, version) = (tls.insecure, options.version);
        let factory = Self { plan: plan.clone(), base, insecure, authorities, identity, version, host_given, memory };
        // A wrong set-up fails with the first client, before the first user arrives.
        factory.build(Connection::Keep).map_err(|error| RunError::Client(told(&error)))?;
        Ok(factory)
    }

    pub(super) fn build(&self, habit: Connection) -> reqwest::Result<Client> {
        let idle = usize::from(habit != Connection::Once);
        let mut builder = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(self.plan.connect_timeout)
            .pool_max_idle_per_host(idle)
            .tcp_nodelay(true)
            .tls_danger_accept_invalid_certs(self.insecure);
        if let Some(authorities) = &self.authorities {
            builder = builder.tls_certs_only(authorities.iter().cloned());
        }
        if let Some(identity) = &self.identity {
            builder = builder.identity(identity.clone());
        }
        builder = match self.version {
            HttpVersion::Http2 => builder.http2_prior_knowledge(),
            HttpVersion::Auto if !self.host_given => builder,
            HttpVersion::Auto | HttpVersion::Http1 => builder.http1_only(),
        };
        if let Some(host) = self.base.host_str() {
            builder = builder.resolve(host, self.plan.target.address);
        }
        builder.build()
    }

    /// Sends a request and receives the answer.
    pub(super) async fn exchange(&self, client: &Client, call: &Call) -> Result<Received, Lost> {
        let Ok(url) = self.base.join(&call.path) else { return Err(End::Broken.into()) };
        let Ok(method) = Method::from_bytes(call.method.name().as_bytes()) else { return Err(End::Broken.into()) };
        let mut request = client.request(method, url);
        for line in call.headers.lines() {
            if let Some((name, value)) = line.split_once(':') {
                request = request.header(name.trim(), value.trim());
            }
        }
        if call.attempt > 0 {
            request = request.header("x-attempt", u16::from(call.attempt));
        }
        if let Some(body) = &call.body {
            if !Given::among(&call.headers).content_type {
                request = request.header(header::CONTENT_TYPE, FORM);
            }
            request = request.body(body.as_bytes().to_vec());
        }
        let mut response = request.send().await.map_err(|error| lost(&error))?;
        let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
        let limits = Limits { kept: self.plan.users.bytes_read(), ..Limits::default() };
        let mut body = Body { bytes: Vec::new(), length: 0, limits, memory: self.memory.clone() };
        while let Some(chunk) = response.chunk().await.map_err(|error| lost(&error))? {
            body.push(&chunk).map_err(|error| {
                let end = if matches!(error, Http1Error::Memory(_)) { End::OutOfMemory } else { End::Broken };
                Lost { end, why: error.to_string() }
            })?;
        }
        Ok(Received { status, headers, body })
    }
}

fn lost(error: &reqwest::Error) -> Lost {
    Lost { end: failure(error), why: root_cause(error) }
}

/// An error and its causes, the innermost last.
fn causes(error: &reqwest::Error) -> impl DoubleEndedIterator<Item = &(dyn std::error::Error + 'static)> {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |error| error.source()).collect::<Vec<_>>().into_iter()
}

/// The text of the innermost cause: the outer ones name the URL, which the reader knows, and the layers of the library.
fn root_cause(error: &reqwest::Error) -> String {
    causes(error).next_back().map(ToString::to_string).unwrap_or_default()
}

fn failure(error: &reqwest::Error) -> End {
    if !error.is_connect() {
        return End::Broken;
    }
    if error.is_timeout() {
        return End::ConnectTimedOut;
    }
    match system_error(error) {
        Some(EADDRNOTAVAIL) => End::OutOfPorts,
        Some(EMFILE | ENFILE) => End::OutOfDescriptors,
        _ => End::ConnectFailed,
    }
}

fn system_error(error: &reqwest::Error) -> Option<i32> {
    causes(error).find_map(|cause| cause.downcast_ref::<io::Error>()?.raw_os_error())
}

/// An error with its causes: reqwest's own text leaves them out.
fn told(error: &reqwest::Error) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

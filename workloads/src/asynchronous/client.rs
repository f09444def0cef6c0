use std::{error::Error as _, io, sync::Once};

use nix::libc::{EADDRNOTAVAIL, EMFILE, ENFILE};
use reqwest::{Method, Url, header, redirect};

use crate::{
    host::{End, Options, RunError},
    http1::Limits,
    persona::{Call, Connection, Method as PersonaMethod},
    plan::LoadPlan,
};

/// One user's client: its pool holds one connection, as a browser's would for a service with one address.
pub(super) type Client = reqwest::Client;

static PROVIDER: Once = Once::new();

/// Makes clients.
#[derive(Debug)]
pub(super) struct Clients {
    plan: LoadPlan,
    base: Url,
    insecure: bool,
}

/// An answer, whole.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) status: u16,
    pub(super) headers: header::HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Clients {
    pub(super) fn new(plan: &LoadPlan, options: &Options) -> Result<Self, RunError> {
        // One crypto provider a process; whoever installed one before chose well.
        PROVIDER.call_once(|| _ = rustls::crypto::ring::default_provider().install_default());
        let base = Url::parse(&plan.target.url).map_err(|error| RunError::Client(error.to_string()))?;
        let clients = Self { plan: plan.clone(), base, insecure: options.insecure };
        // Whatever is wrong with the set-up shows with the first client, before the first user arrives.
        clients.build(Connection::Keep).map_err(|error| RunError::Client(told(&error)))?;
        Ok(clients)
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
        if let Some(host) = self.base.host_str() {
            builder = builder.resolve(host, self.plan.target.address);
        }
        builder.build()
    }

    /// Sends a request and receives the answer.
    pub(super) async fn exchange(&self, client: &Client, call: &Call) -> Result<Received, End> {
        let Ok(url) = self.base.join(&call.path) else { return Err(End::Broken) };
        let method = if call.method == PersonaMethod::Get { Method::GET } else { Method::POST };
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
            request = request
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(body.as_bytes().to_vec());
        }
        let mut response = request.send().await.map_err(|error| failure(&error))?;
        let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| failure(&error))? {
            body.extend_from_slice(&chunk);
            if body.len() > Limits::default().body {
                return Err(End::Broken);
            }
        }
        Ok(Received { status, headers, body })
    }
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
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(code) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return Some(code);
        }
        cause = error.source();
    }
    None
}

/// An error with its causes: reqwest's own text leaves them out.
fn told(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

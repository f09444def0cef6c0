//! A client that keeps off a service that refuses, and retries within a budget: `cargo run --release -p tower-admission
//! --example client -- URL`.
//!
//! Google SRE's client (chapter 21): a throttle in front of every request, and a budget for retries. Try it against the
//! other example while that is overloaded.
use std::{env, time::Duration};

use reqwest::{Client, Method, Request, Response};
use tower::{ServiceBuilder, ServiceExt};
use tower_admission::{AdmissionLayer, BoxError, Outcome, Refused, RequestTags};

fn outcome(result: Result<&Response, &reqwest::Error>) -> Outcome {
    match result {
        Ok(response) if response.status() == 503 => Outcome::Overloaded { retry: true },
        Ok(response) if response.status().is_server_error() => Outcome::Failed,
        Ok(_) => Outcome::Served,
        Err(error) if error.is_timeout() => Outcome::TimedOut,
        Err(_) => Outcome::Unavailable,
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    // reqwest is built without a cryptography provider here.
    _ = rustls::crypto::ring::default_provider().install_default();
    let url: reqwest::Url = env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:3000/".to_owned()).parse()?;
    let attempt = |request: &Request| request.headers().get("x-attempt").map_or(0, |_| 1);
    let layer = AdmissionLayer::client("sre-client")
        .classify(move |request: &Request| RequestTags::new().attempt(attempt(request)))
        .outcome(outcome)
        .build()?;
    let admission = layer.admission()?;
    let client = ServiceBuilder::new().layer(layer).service(Client::builder().timeout(Duration::from_secs(1)).build()?);
    for _ in 0..500 {
        for attempt in 0..2 {
            let mut request = Request::new(Method::GET, url.clone());
            if attempt > 0 {
                request.headers_mut().insert("x-attempt", attempt.into());
            }
            match client.clone().oneshot(request).await {
                Ok(response) if response.status() == 503 => {}
                Err(error) if error.is::<Refused>() => break,
                Ok(_) | Err(_) => break,
            }
        }
    }
    println!("{:#?}", admission.gauges());
    Ok(())
}

//! A client that keeps off a service that refuses, and retries within a budget: `cargo run --release -p tower-admission
//! --example client -- URL`.
//!
//! Google SRE's client (chapter 21): a throttle in front of every request, and a budget for retries. Try it against the
//! other example while that is overloaded.
use std::time::Duration;

use reqwest::{Body, Client, Request};
use tower::{ServiceBuilder, ServiceExt};
use tower_admission::{AdmissionLayer, BoxError, trusted_headers};

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    // reqwest is built without a cryptography provider here.
    _ = rustls::crypto::ring::default_provider().install_default();
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:3000/".to_owned());
    let layer = AdmissionLayer::client("sre-client").classify(trusted_headers::<Body>).build()?;
    let admission = layer.admission()?;
    // The layer understands requests and responses of the crate `http`.
    let client = ServiceBuilder::new()
        .layer(layer)
        .map_request(|request: http::Request<Body>| Request::try_from(request).expect("a URL"))
        .map_response(http::Response::<Body>::from)
        .service(Client::builder().timeout(Duration::from_secs(1)).build()?);
    for _ in 0..500 {
        for attempt in ["0", "1"] {
            let request = http::Request::get(&url).header("x-attempt", attempt).body(Body::default())?;
            let reply = client.clone().oneshot(request).await;
            if !reply.is_ok_and(|response| response.status() == 503) {
                break;
            }
        }
    }
    println!("{:#?}", admission.gauges());
    Ok(())
}

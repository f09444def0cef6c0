//! A service with a known capacity, with a policy inside or without: `cargo run --release -p tower-admission --example workers -- policy=vegas`.
//!
//! Each request holds one of `workers` (8) for `millis` (40 ms), so that the service answers 200 requests per second. `port` is 3000 and `policy` is `none`
//! unless a word of the command line says otherwise; `experiments/services/workers.yaml` compares policies before it.
use std::{io, sync::Arc, time::Duration};

use axum::{Router, extract::State, routing::get};
use tokio::{net::TcpListener, sync::Semaphore, time::sleep};
use tower_admission::{AdmissionLayer, BoxError};

#[derive(Clone)]
struct Workers {
    free: Arc<Semaphore>,
    takes: Duration,
}

async fn work(State(workers): State<Workers>) -> &'static str {
    let _worker = workers.free.acquire().await;
    sleep(workers.takes).await;
    "done\n"
}

/// Serves until the process ends, as the words `port=`, `policy=`, `workers=` and `millis=` say; other words are ignored.
pub async fn serve(words: &[String]) -> Result<(), BoxError> {
    let word = |key: &str| words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let number = |key: &str, default: u32| -> Result<u32, BoxError> {
        let Some(text) = word(key) else { return Ok(default) };
        text.parse().map_err(|_| format!("{key}={text}: a whole number is expected").into())
    };
    let (port, workers, millis) = (number("port", 3000)?, number("workers", 8)?, number("millis", 40)?);
    let port = u16::try_from(port).map_err(|_| io::Error::other(format!("port={port}: the highest is 65535")))?;
    let layer = AdmissionLayer::new(word("policy").unwrap_or("none"))
        .capacity(workers)
        .objective(90.0, Duration::from_millis(200))
        .build()?;
    let state =
        Workers { free: Arc::new(Semaphore::new(workers as usize)), takes: Duration::from_millis(u64::from(millis)) };
    // The layer is outside of the route for health checks: these are no requests of users.
    let app =
        Router::new().route("/", get(work)).with_state(state).layer(layer).route("/health", get(|| async { "up\n" }));
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}/", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    serve(&std::env::args().skip(1).collect::<Vec<_>>()).await
}

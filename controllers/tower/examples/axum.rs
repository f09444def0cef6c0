//! A small service under admission control: `cargo run --release -p tower-admission --example axum`.
//!
//! Each request needs one of four connections for 20 ms, so that it can answer 200 requests a second. Send it three
//! times as many, with the layer and
//! (`-- none`) without it:
//!
//! ```sh
//! cargo run --release -- load http://127.0.0.1:3000/ -R 600 -d 20s
//! ```
use std::{sync::Arc, time::Duration};

use axum::{Router, extract::State, routing::get};
use tokio::{net::TcpListener, sync::Semaphore, time::sleep};
use tower_admission::AdmissionLayer;

async fn work(State(connections): State<Arc<Semaphore>>) -> &'static str {
    let _connection = connections.acquire().await;
    sleep(Duration::from_millis(20)).await;
    "done\n"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let policy = std::env::args().nth(1).unwrap_or_else(|| "vegas".to_owned());
    let layer = AdmissionLayer::new(policy).build()?;
    let connections = Arc::new(Semaphore::new(4));
    let app = Router::new().route("/", get(work)).with_state(connections).layer(layer);
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("http://{}/", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

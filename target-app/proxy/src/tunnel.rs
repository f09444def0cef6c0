//! Connections that have changed their protocol (WebSocket): bytes go to and fro until both sides, or nobody, has any.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use live_service::edge::ConnPhase;
use tokio::io::copy_bidirectional;

use super::{client::Client, tapped::Tapped};

/// Both sides of a switch, before the answer that completes it is written.
#[derive(Debug)]
pub(super) struct Switch {
    pub(super) client: OnUpgrade,
    pub(super) backend: OnUpgrade,
}

/// Joins both sides, in a task of its own that keeps the client's connection and these places. `idle`: the longest silence.
pub(super) fn open(switch: Switch, client: Arc<Client>, places: impl Send + 'static, idle: Duration) {
    client.conn.switches();
    tokio::spawn(async move {
        let _places = places;
        let (Ok(near), Ok(far)) = (switch.client.await, switch.backend.await) else { return };
        client.enter(ConnPhase::Working); // neither side is waited for
        let moved = Arc::new(AtomicU64::new(0));
        let counted = |side| {
            let moved = Arc::clone(&moved);
            Tapped::new(TokioIo::new(side), move |bytes: &[u8]| {
                moved.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                Ok(())
            })
        };
        let (mut near, mut far) = (counted(near), counted(far));
        tokio::select! {
            _ = copy_bidirectional(&mut near, &mut far) => {}
            () = silence(&moved, idle) => {}
        }
    });
}

/// Waits until nothing has moved for a while, to a quarter of it.
async fn silence(moved: &AtomicU64, idle: Duration) {
    let (mut last, mut quiet) = (moved.load(Ordering::Relaxed), 0);
    while quiet < 4 {
        tokio::time::sleep(idle / 4).await;
        let now = moved.load(Ordering::Relaxed);
        quiet = if now == last { quiet + 1 } else { 0 };
        last = now;
    }
}

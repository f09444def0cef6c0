//! The target of measurements: a service of any kind, built from its spec.

use std::{error::Error, sync::Arc};

use arashi::Arashi;
use controllers::seed_for;
use live_service::{
    clock::ServiceClock,
    serve::{Opened, ServeError, serve_blocking},
};
use service_core::synthetic::Law;
use spec::{App, services::TaskSpec, wire::Ready};

use self::{checksum::Checksum, emulated::Emulated};

mod checksum;
mod emulated;

/// Serves a task, as [`serve_blocking`] does.
///
/// # Errors
/// The error that kept it from serving.
pub fn serve(task: TaskSpec, on_ready: impl FnOnce(Ready)) -> Result<(), ServeError> {
    serve_blocking(task, open, on_ready)
}

/// Opens the service of the spec.
async fn open(task: &TaskSpec, clock: ServiceClock) -> Opened {
    let spec = &task.target;
    let seed = seed_for(spec.draws.unwrap_or(spec.seed), "service");
    Ok(match &spec.app {
        App::Arashi { database, work, spec } => {
            Arc::new(Arashi::open(database, work, spec).await.map_err(cannot_open)?)
        }
        App::Checksum(page) => Checksum::new(page, seed).map_err(cannot_open)?,
        App::Emulated(emulated) => {
            let law = Law::of(emulated)?.at_speed(task.speed)?;
            Emulated::new(law, emulated, seed, clock)
        }
        App::Generation(_) => return Err(ServeError::Service("tokens are generated in virtual time alone".into())),
    })
}

fn cannot_open(error: impl Error + Send + Sync + 'static) -> ServeError {
    ServeError::Service(Box::new(error))
}

//! An answer that comes later: of a handler that has done its work in the stage, and waits for something that no worker should wait for.

use std::sync::{Arc, Mutex, PoisonError};

use http::Response;

use super::{Boxed, Bytes, Handled, PageBody};

/// The rest of an answer. The stage books the job as done, and its worker goes on; the client gets what comes of this.
#[derive(Clone)]
pub(crate) struct Later(Arc<Mutex<Option<Boxed<'static, Handled>>>>);

impl Later {
    /// What a handler returns instead of the answer.
    pub(crate) fn answer(rest: impl Future<Output = Handled> + Send + 'static) -> Response<PageBody> {
        let mut response = Response::new(Bytes::new().into());
        response.extensions_mut().insert(Self(Arc::new(Mutex::new(Some(Box::pin(rest))))));
        response
    }

    /// The rest of this answer, if it is not all of it.
    pub(crate) fn of(handled: &mut Handled) -> Option<Boxed<'static, Handled>> {
        let Self(rest) = handled.as_mut().ok()?.extensions_mut().remove()?;
        rest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

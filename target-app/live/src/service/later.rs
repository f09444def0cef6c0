//! A deferred answer: its handler has done its work in the stage, and then waits for an event that should not occupy a
//! worker.

use std::sync::{Arc, Mutex, PoisonError};

use http::Response;

use super::{Boxed, Bytes, Handled, PageBody};

/// The rest of an answer. For the stage the job ends before it, and its worker goes on; the client gets the result of
/// this future.
#[derive(Clone)]
struct Later(Arc<Mutex<Option<Boxed<'static, Handled>>>>);

/// The value that a handler returns in place of the answer.
pub fn deferred(rest: impl Future<Output = Handled> + Send + 'static) -> Response<PageBody> {
    let mut response = Response::new(Bytes::new().into());
    response.extensions_mut().insert(Later(Arc::new(Mutex::new(Some(Box::pin(rest))))));
    response
}

/// The rest of this answer, if it is deferred.
pub fn rest_of(handled: &mut Handled) -> Option<Boxed<'static, Handled>> {
    let Later(rest) = handled.as_mut().ok()?.extensions_mut().remove()?;
    rest.lock().unwrap_or_else(PoisonError::into_inner).take()
}

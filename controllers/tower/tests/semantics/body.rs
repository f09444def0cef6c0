//! Requests that end with the body of their response.

use std::convert::Infallible;

use bytes::Bytes;
use controllers::Outcome;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, Full, StreamBody, combinators::BoxBody};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_admission::{AdmissionBody, AdmissionLayer};

use super::recorder::{RECORDER, recorded};

type Chunks = BoxBody<Bytes, &'static str>;

fn chunks(frames: Vec<Result<Frame<Bytes>, &'static str>>) -> Chunks {
    BodyExt::boxed(StreamBody::new(tokio_stream(frames)))
}

fn tokio_stream<T>(items: Vec<T>) -> impl futures_util::Stream<Item = T> {
    let mut items = items.into_iter();
    futures_util::stream::poll_fn(move |_| std::task::Poll::Ready(items.next()))
}

fn data(text: &'static str) -> Result<Frame<Bytes>, &'static str> {
    Ok(Frame::data(Bytes::from_static(text.as_bytes())))
}

async fn answer<S>(service: S, method: Method) -> Response<AdmissionBody<Chunks>>
where
    S: Service<Request<()>, Response = Response<AdmissionBody<Chunks>>, Error = Infallible>,
{
    let mut request = Request::new(());
    *request.method_mut() = method;
    service.oneshot(request).await.unwrap()
}

fn with_body(
    body: impl Fn() -> Chunks + Clone + Send + 'static,
) -> impl Service<Request<()>, Response = Response<AdmissionBody<Chunks>>, Error = Infallible> + Clone {
    AdmissionLayer::new(&RECORDER).refuse_with(refuse).end_at_body().layer(service_fn(move |_: Request<()>| {
        let body = body();
        async move { Ok::<_, Infallible>(Response::new(body)) }
    }))
}

fn refuse(_: Request<()>, _: tower_admission::Refused) -> Response<Chunks> {
    Response::new(chunks(Vec::new()))
}

fn outcomes() -> Vec<Outcome> {
    recorded().into_iter().filter_map(|line| Some(line.end?.1)).collect()
}

#[tokio::test]
async fn the_end_is_the_last_frame() {
    let service = with_body(|| chunks(vec![data("one"), data("two")]));
    let mut response = answer(service, Method::GET).await;
    assert_eq!(outcomes(), [], "the head is no end");
    response.body_mut().frame().await.unwrap().unwrap();
    response.body_mut().frame().await.unwrap().unwrap();
    assert_eq!(outcomes(), []);
    assert!(response.body_mut().frame().await.is_none());
    assert_eq!(outcomes(), [Outcome::Served]);
    drop(response);
    assert_eq!(outcomes().len(), 1, "once");
}

#[tokio::test]
async fn a_body_of_known_length_ends_with_its_last_byte() {
    let service = with_body(|| Full::from("all of it").map_err(|never: Infallible| match never {}).boxed());
    let mut response = answer(service, Method::GET).await;
    response.body_mut().frame().await.unwrap().unwrap();
    drop(response);
    assert_eq!(outcomes(), [Outcome::Served], "who has all bytes need not ask for more");
}

#[tokio::test]
async fn a_body_that_breaks_or_is_dropped_is_told_so() {
    let service = with_body(|| chunks(vec![data("one"), Err("disk")]));
    let mut response = answer(service, Method::GET).await;
    response.body_mut().frame().await.unwrap().unwrap();
    response.body_mut().frame().await.unwrap().unwrap_err();
    assert_eq!(outcomes(), [Outcome::Failed]);
    let service = with_body(|| chunks(vec![data("one"), data("two")]));
    let mut response = answer(service, Method::GET).await;
    response.body_mut().frame().await.unwrap().unwrap();
    drop(response);
    assert_eq!(outcomes(), [Outcome::Abandoned]);
}

#[tokio::test]
async fn trailers_of_grpc_say_the_outcome() {
    let service = with_body(|| {
        let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), HeaderValue::from_static("14"))]);
        chunks(vec![data("message"), Ok(Frame::trailers(trailers))])
    });
    answer(service, Method::POST).await.into_body().collect().await.unwrap();
    assert_eq!(outcomes(), [Outcome::Overloaded { retry: true }]);
}

#[tokio::test]
async fn a_response_whose_body_nobody_reads_ends_at_its_head() {
    let service = with_body(|| chunks(vec![data("not for HEAD")]));
    drop(answer(service, Method::HEAD).await);
    assert_eq!(outcomes(), [Outcome::Served]);
    let service = with_body(|| Empty::new().map_err(|never: Infallible| match never {}).boxed());
    let _kept = answer(service, Method::GET).await;
    assert_eq!(outcomes(), [Outcome::Served], "an empty body has no end to wait for");
}

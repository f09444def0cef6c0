//! The layer round a tonic server and a tonic client, over a socket. Messages are raw bytes: no code is generated.

use std::{
    convert::Infallible,
    error::Error as _,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf as _, BufMut as _, Bytes};
use controllers::Outcome;
use http::uri::PathAndQuery;
use tokio::{net::TcpListener, sync::Notify};
use tonic::{
    Code, Request, Response, Status,
    body::Body,
    client::GrpcService,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    transport::{Channel, Endpoint, Server, server::TcpIncoming},
};
use tower::{Layer, Service};
use tower_admission::{Admission, AdmissionLayer, HttpNotes, Refused};

use super::{
    recorder::{RECORDER, recorded},
    within_a_minute,
};

/// Messages as they are.
#[derive(Debug, Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// Says back what it gets; `slow` when it is let go, `broken` with an error.
#[derive(Debug, Clone, Copy)]
struct Echo(&'static Notify);

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl tonic::server::UnaryService<Bytes> for Echo {
    type Response = Bytes;
    type Future = BoxFuture<Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let go = self.0;
        Box::pin(async move {
            let message = request.into_inner();
            match &*message {
                b"slow" => go.notified().await,
                b"broken" => return Err(Status::internal("a bug of the service")),
                _ => {}
            }
            Ok(Response::new(message))
        })
    }
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Result<http::Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let echo = *self;
        Box::pin(async move { Ok(tonic::server::Grpc::new(Raw).unary(echo, request).await) })
    }
}

/// A server with this layer, as an address.
macro_rules! serve {
    ($layer:expr, $go:expr) => {{
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Server::builder().layer($layer).serve_with_incoming(Echo($go), TcpIncoming::from(listener));
        tokio::spawn(async move { server.await.unwrap() });
        url
    }};
}

async fn channel(url: String) -> Channel {
    Endpoint::from_shared(url).unwrap().connect().await.unwrap()
}

async fn say<S>(service: S, message: &'static str) -> Result<Response<Bytes>, Status>
where
    S: GrpcService<Body>,
    S::ResponseBody: http_body::Body<Data = Bytes> + Send + 'static,
    <S::ResponseBody as http_body::Body>::Error: Into<tower_admission::BoxError>,
{
    let mut client = tonic::client::Grpc::new(service);
    client.ready().await.map_err(|error| Status::from_error(error.into()))?;
    let path = PathAndQuery::from_static("/lab.Echo/Say");
    client.unary(Request::new(Bytes::from_static(message.as_bytes())), path, Raw).await
}

async fn open(admission: &Admission, requests: u64) {
    within_a_minute("calls inside", || admission.gauges().in_flight == requests).await;
}

#[tokio::test]
async fn over_the_limit_a_call_is_exhausted_with_the_time_of_a_retry() {
    static GO: Notify = Notify::const_new();
    let layer = AdmissionLayer::new("concurrency").set("max", 1).end_at_body().build().unwrap();
    let admission = layer.admission().unwrap();
    let channel = channel(serve!(layer, &GO)).await;
    let slow = tokio::spawn(say(channel.clone(), "slow"));
    open(&admission, 1).await;
    let refused = say(channel.clone(), "hello").await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(refused.metadata().get("grpc-retry-pushback-ms").unwrap(), "1000");
    GO.notify_one();
    assert_eq!(slow.await.unwrap().unwrap().into_inner(), "slow");
    open(&admission, 0).await;
    assert_eq!(say(channel, "hello").await.unwrap().into_inner(), "hello", "there is room again");
}

/// One thread: the policy writes down what it is told by thread.
#[tokio::test]
async fn the_policy_is_told_the_status_of_calls_and_which_were_cancelled() {
    static NEVER: Notify = Notify::const_new();
    let layer = AdmissionLayer::new(&RECORDER).end_at_body().build().unwrap();
    let admission = layer.admission().unwrap();
    let channel = channel(serve!(layer, &NEVER)).await;
    assert_eq!(say(channel.clone(), "hello").await.unwrap().into_inner(), "hello");
    assert_eq!(say(channel.clone(), "broken").await.unwrap_err().code(), Code::Internal);
    let cancelled = tokio::spawn(say(channel, "slow"));
    open(&admission, 1).await;
    cancelled.abort();
    open(&admission, 0).await;
    let outcomes: Vec<_> = recorded().iter().filter_map(|line| Some(line.end?.1)).collect();
    assert_eq!(outcomes, [Outcome::Served, Outcome::Failed, Outcome::Abandoned]);
    assert_eq!(admission.gauges().contradictions, 0);
}

#[tokio::test]
async fn a_clients_layer_refuses_before_a_call_is_sent() {
    static NEVER: Notify = Notify::const_new();
    let server = AdmissionLayer::new("none").build().unwrap();
    let asked = server.admission().unwrap();
    let channel = channel(serve!(server, &NEVER)).await;
    // A retry that the service advised against is not sent.
    let layer = AdmissionLayer::client("retry-budget")
        .classify(|_: &http::Request<Body>| tower_admission::RequestTags::new().attempt(1).told_not_to_retry(true));
    let refused = say(layer.layer(channel), "hello").await.unwrap_err();
    let mut cause = refused.source();
    while let Some(error) = cause.filter(|error| !error.is::<Refused>()) {
        cause = error.source();
    }
    assert!(cause.is_some(), "{refused:?}");
    assert_eq!(asked.gauges().offered, 0);
}

#[tokio::test]
async fn notes_are_metadata_of_calls() {
    static NEVER: Notify = Notify::const_new();
    let server = AdmissionLayer::new("dagor").notes(HttpNotes).build().unwrap();
    let channel = channel(serve!(server, &NEVER)).await;
    let client = AdmissionLayer::client("dagor").notes(HttpNotes).build().unwrap();
    let reply = say(client.layer(channel), "hello").await.unwrap();
    assert!(reply.metadata().contains_key("x-note"));
    assert!(client.admission().unwrap().gauges().gauges.contains_key("callee_level"), "the server's level has arrived");
}

//! The layer in a hyper server, over a socket: refusals as clients see them, and clients that go away.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use controllers::Outcome;
use futures_util::{StreamExt as _, stream};
use http::{Request, Response};
use http_body_util::{BodyExt, Empty, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, sync::Notify};
use tower::{Layer, Service, service_fn};
use tower_admission::{Admission, AdmissionLayer};

use super::{
    recorder::{RECORDER, recorded},
    within_a_minute,
};

type Body = BoxBody<Bytes, Infallible>;

/// Answers `/` at once, `/slow` when it is let go, and `/endless` with a body that has no end.
async fn answer(request: Request<Incoming>, go: &'static Notify) -> Result<Response<Body>, Infallible> {
    let body = match request.uri().path() {
        "/endless" => {
            let first = stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"first")))]);
            BoxBody::new(StreamBody::new(first.chain(stream::pending())))
        }
        path => {
            if path == "/slow" {
                go.notified().await;
            }
            Full::new(Bytes::from_static(b"done")).boxed()
        }
    };
    Ok(Response::new(body))
}

/// Serves one connection after the other, each in a task of its own. Returns the address.
async fn serve<S>(service: S) -> String
where
    S: Service<Request<Incoming>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Response: IntoResponse,
    S::Future: Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = tower::ServiceBuilder::new().map_response(IntoResponse::into_response).service(service);
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                // A client that goes away is an error of the connection.
                drop(auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(socket), service).await);
            });
        }
    });
    format!("http://{address}")
}

/// Responses of both kinds of layer, that end at the head and at the body.
trait IntoResponse {
    fn into_response(self) -> Response<Body>;
}

impl<B> IntoResponse for Response<B>
where
    B: http_body::Body<Data = Bytes, Error = Infallible> + Send + Sync + 'static,
{
    fn into_response(self) -> Response<Body> {
        self.map(BodyExt::boxed)
    }
}

fn client(h2: bool) -> Client<HttpConnector, Empty<Bytes>> {
    Client::builder(TokioExecutor::new()).http2_only(h2).build_http()
}

fn get(url: &str, path: &str) -> Request<Empty<Bytes>> {
    Request::get(format!("{url}{path}")).body(Empty::new()).unwrap()
}

async fn open(admission: &Admission, requests: u64) {
    within_a_minute("requests inside", || admission.gauges().in_flight == requests).await;
}

#[tokio::test]
async fn over_the_limit_a_client_reads_503_with_the_time_of_a_retry() {
    static GO: Notify = Notify::const_new();
    let layer = AdmissionLayer::new("concurrency").set("max", 1).build().unwrap();
    let admission = layer.admission().unwrap();
    let url = serve(layer.layer(service_fn(|request| answer(request, &GO)))).await;
    for h2 in [false, true] {
        let client = client(h2);
        let slow = tokio::spawn(client.request(get(&url, "/slow")));
        open(&admission, 1).await;
        let refused = client.request(get(&url, "/")).await.unwrap();
        assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (503, "1"));
        assert_eq!(refused.into_body().collect().await.unwrap().to_bytes(), "");
        GO.notify_one();
        let served = slow.await.unwrap().unwrap();
        assert_eq!(served.into_body().collect().await.unwrap().to_bytes(), "done");
        assert_eq!(client.request(get(&url, "/")).await.unwrap().status(), 200, "there is room again");
    }
    open(&admission, 0).await;
    let seen = admission.gauges();
    assert_eq!((seen.offered, seen.admitted, seen.refused, seen.contradictions), (6, 4, 2, 0));
}

/// One thread: the policy writes down what it is told by thread.
#[tokio::test]
async fn a_client_that_goes_away_has_abandoned_its_request() {
    static NEVER: Notify = Notify::const_new();
    let layer = AdmissionLayer::new(&RECORDER).end_at_body();
    let admission = layer.admission().unwrap();
    let url = serve(layer.layer(service_fn(|request| answer(request, &NEVER)))).await;
    for h2 in [false, true] {
        // Before the head of the response, and in the middle of its body.
        let before = recorded().len();
        let waits = tokio::spawn(client(h2).request(get(&url, "/slow")));
        open(&admission, 1).await;
        waits.abort();
        open(&admission, 0).await;
        let mut endless = client(h2).request(get(&url, "/endless")).await.unwrap();
        assert_eq!(endless.body_mut().frame().await.unwrap().unwrap().into_data().unwrap(), "first");
        open(&admission, 1).await;
        drop(endless);
        open(&admission, 0).await;
        let outcomes: Vec<_> = recorded()[before..].iter().filter_map(|line| Some(line.end?.1)).collect();
        assert_eq!(outcomes, [Outcome::Abandoned; 2], "HTTP/2: {h2}");
    }
    assert_eq!(admission.gauges().contradictions, 0);
    // The connections of clients that live on take other requests.
    let reply = tokio::time::timeout(Duration::from_secs(60), client(true).request(get(&url, "/"))).await;
    assert_eq!(reply.expect("within a minute").unwrap().status(), 200);
}

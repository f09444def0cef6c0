//! Notes: what policies of client and server tell each other with requests and responses.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use controllers::{
    Ctx, Effect, Entry, Gauge, Grant, Machine, Note, Offer, Policy, Reason, Seen, Verdict, catalogue::EntryKind,
    testing,
};
use http::{Request, Response};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_admission::{AdmissionLayer, HttpNotes, RequestTags};

use super::{call, takes};

static NOTING: Entry = testing::entry(EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::<Noting>::default())));

/// Notes about a request the number that came with it and 1000, or 500 if none came. It shows what responses told. It
/// refuses the class 9, and holds the class 5 until it is told of a free place.
#[derive(Debug, Default)]
struct Noting {
    held: Option<Offer>,
    told: u64,
}

impl Noting {
    fn note(offer: &Offer) -> Effect {
        Effect::Annotate(offer.id, Note(offer.note.map_or(500, |Note(came)| came + 1000)))
    }
}

impl Machine for Noting {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        if let Seen::Ended { note: Some(Note(told)), .. } = seen {
            self.told = *told;
        }
        if let Some(offer) = self.held.take_if(|_| matches!(seen, Seen::Room(_) | Seen::Ended { .. })) {
            cx.effects.push(Effect::Release(offer.id, Grant::new(0)));
            cx.effects.push(Self::note(&offer));
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("told"), self.told as f64);
    }
}

impl Policy for Noting {
    fn offer(&mut self, offer: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        if offer.tags.class.0 == 5 {
            self.held = Some(*offer);
            return Verdict::Hold;
        }
        cx.effects.push(Self::note(offer));
        Verdict::admit_if(offer.tags.class.0 != 9, Reason::Class)
    }
}

fn with_note(class: &str, note: Option<&str>) -> Request<String> {
    let mut request = Request::builder().header("x-class", class);
    request = note.into_iter().fold(request, |request, note| request.header("x-note", note));
    request.body("0".to_owned()).unwrap()
}

fn class(request: &Request<String>) -> RequestTags {
    let class = request.headers().get("x-class").and_then(|class| class.to_str().ok()?.parse().ok());
    RequestTags::new().class(class.unwrap_or(0))
}

fn note_of(headers: &http::HeaderMap) -> Option<u64> {
    headers.get("x-note")?.to_str().ok()?.parse().ok()
}

/// A service that says the note of each request, and answers with the note 7, or the one in the body.
fn saying(
    seen: &Arc<Mutex<Vec<Option<u64>>>>,
) -> impl Service<Request<String>, Response = Response<String>, Error = Infallible, Future: Send> + Clone + Send + 'static
{
    let seen = Arc::clone(seen);
    service_fn(move |request: Request<String>| {
        seen.lock().unwrap().push(note_of(request.headers()));
        std::future::ready(Ok::<_, Infallible>(Response::builder().header("x-note", "7").body(String::new()).unwrap()))
    })
}

#[tokio::test(start_paused = true)]
async fn a_servers_policy_is_told_the_note_of_a_request_and_answers_with_its_own() {
    let seen = Arc::default();
    let layer = AdmissionLayer::new(&NOTING).capacity(1).classify(class).notes(HttpNotes);
    let service = layer.layer(saying(&seen));
    let reply = service.clone().oneshot(with_note("0", Some("42"))).await.unwrap();
    assert_eq!(note_of(reply.headers()), Some(1042), "in the place of the service's own");
    assert_eq!(*seen.lock().unwrap(), [Some(42)], "the service sees what came");
    let reply = service.clone().oneshot(with_note("0", None)).await.unwrap();
    assert_eq!(note_of(reply.headers()), Some(500));
    let refused = service.clone().oneshot(with_note("9", Some("1"))).await.unwrap();
    assert_eq!((refused.status().as_u16(), note_of(refused.headers())), (503, Some(1001)));
    assert!((service.admission().gauges().gauges["told"] - 7.0).abs() < 0.5, "the note of the service's response");
    let held = service.clone().oneshot(with_note("5", Some("2"))).await.unwrap();
    assert_eq!(note_of(held.headers()), Some(1002));
}

#[tokio::test(start_paused = true)]
async fn a_clients_policy_puts_its_note_on_a_request_and_is_told_that_of_the_response() {
    let seen = Arc::default();
    let layer = AdmissionLayer::client(&NOTING).classify(class).notes(HttpNotes);
    let service = layer.layer(saying(&seen));
    let reply = service.clone().oneshot(with_note("0", None)).await.unwrap();
    assert_eq!(note_of(reply.headers()), Some(7), "a response is passed on as it is");
    service.clone().oneshot(with_note("0", Some("42"))).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [Some(500), Some(1042)]);
    assert!((service.admission().gauges().gauges["told"] - 7.0).abs() < 0.5);
    // One that was held goes out with the note too.
    let held = tokio::spawn(service.clone().oneshot(with_note("5", None)));
    super::settle().await;
    service.clone().oneshot(with_note("0", None)).await.unwrap();
    held.await.unwrap().unwrap();
    assert_eq!(seen.lock().unwrap()[3], Some(500));
}

#[tokio::test(start_paused = true)]
async fn the_note_of_the_request_on_whose_behalf_a_client_asks_is_carried_on() {
    let seen = Arc::default();
    // `throttle` notes nothing.
    let layer = AdmissionLayer::client("throttle").classify(|_: &Request<String>| RequestTags::new().note(Note(3)));
    layer.clone().notes(HttpNotes).layer(saying(&seen)).oneshot(takes(0)).await.unwrap();
    layer.layer(saying(&seen)).oneshot(takes(0)).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [Some(3), None], "with notes, and without");
}

#[tokio::test(start_paused = true)]
async fn in_shadow_mode_no_note_goes_out() {
    let seen = Arc::default();
    let quiet = AdmissionLayer::new(&NOTING).capacity(1).classify(class).notes(HttpNotes).shadow(true);
    let service = quiet.layer(saying(&seen));
    for class in ["0", "9", "5"] {
        let reply = service.clone().oneshot(with_note(class, Some("42"))).await.unwrap();
        assert_eq!((reply.status().as_u16(), note_of(reply.headers())), (200, Some(7)), "class {class}");
    }
    let at_client = AdmissionLayer::client(&NOTING).classify(class).notes(HttpNotes).shadow(true);
    at_client.layer(saying(&seen)).oneshot(with_note("0", None)).await.unwrap();
    assert_eq!(seen.lock().unwrap().last(), Some(&None));
}

/// dagor at both ends: what the server tells is what the client refuses by itself.
#[tokio::test(start_paused = true)]
async fn a_client_learns_from_its_server_what_would_be_refused() {
    let server = AdmissionLayer::new("dagor").notes(HttpNotes).layer(service_fn(super::work));
    let client = AdmissionLayer::client("dagor").notes(HttpNotes).layer(server);
    call(&client, takes(1)).await.await.unwrap().unwrap();
    assert!(client.admission().gauges().gauges.contains_key("callee_level"), "the server's level has arrived");
    let deaf = AdmissionLayer::client("dagor").layer(client.get_ref().clone());
    call(&deaf, takes(1)).await.await.unwrap().unwrap();
    assert!(!deaf.admission().gauges().gauges.contains_key("callee_level"));
}

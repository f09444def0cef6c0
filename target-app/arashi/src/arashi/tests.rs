//! The service as a browser sees it, without sockets.

mod contract;
mod costs;
mod quality;
mod security;
mod users;

use std::collections::BTreeMap;

use controllers::{JobId, Tags, Timestamp};
use http::{HeaderMap, header};
use live_service::service::rest_of;

use super::*;
use crate::{
    password::{self, PasswordCost},
    store::{NewAttachment, NewMessage},
};

/// A service over a small database: ann (password "a"; inbox of 25, "Work", "Other") and bob (password "b"; inbox of 3).
struct World {
    arashi: Arashi,
    _dir: tempfile::TempDir,
}

/// One browser.
#[derive(Default)]
struct Browser {
    cookie: Option<String>,
    headers: Vec<(&'static str, String)>,
}

/// The answer.
struct Came {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

async fn world(session_in_links: bool) -> World {
    let dir = tempfile::tempdir().expect("temporary directory");
    let database = dir.path().join("mail.sqlite");
    let store = Store::create(&database, &StoreOptions::default()).await.expect("opens");
    let mut fill = store.fill().await.expect("fill");
    let hash = |password| password::hash(password, &[0; 16], PasswordCost::Least);
    let (_, ann) = fill.user("ann", &hash("a"), &["inbox", "Work", "Other"]).await.expect("user");
    let (_, bob) = fill.user("bob", &hash("b"), &["inbox"]).await.expect("user");
    for i in 1..=28 {
        fill.message(&sample(i)).await.expect("message");
    }
    fill.put_range(ann[0], 1, 25).await.expect("put");
    fill.put_range(bob[0], 26, 3).await.expect("put");
    fill.commit().await.expect("commit");
    store.close().await.expect("closes");
    let stale = std::time::Duration::from_secs(30);
    let spec = ArashiSpec { connections: 2, session_in_links, stale, ..ArashiSpec::default() };
    let arashi = Arashi::open(&database, &WorkSpec::default(), &spec).await.expect("opens");
    World { arashi, _dir: dir }
}

fn sample(i: u8) -> NewMessage {
    let attachment = NewAttachment {
        name: "a\r\nX: y\"<b>.html".to_owned(),
        kind: "text/html".to_owned(),
        content: b"<script>alert(1)</script>".to_vec(),
    };
    NewMessage {
        digest: [i; 32],
        date: 1_031_925_900 + i64::from(i),
        author: format!("Author {i} <script>"),
        subject: format!("Subject {i} <script>alert(1)</script>"),
        sender: "\"<img src=x onerror=alert(1)>\" <a@example.org>".to_owned(),
        recipients: "reader@example.org".to_owned(),
        headers: format!("Subject: Subject {i} <script>\n"),
        text: format!("Text {i} <b>not bold</b> http://example.org/?a=1&b=2"),
        html: (i == 25).then(|| html::clean("<p onclick=x()>Hello</p>").expect("is short")),
        html_problem: None,
        attachments: if i == 25 { vec![attachment] } else { Vec::new() },
        size: 100,
    }
}

use crate::html;

impl World {
    async fn send(&self, browser: &mut Browser, method: Method, path: &str, body: &str) -> Came {
        self.send_at(1.0, browser, method, path, body).await
    }

    fn request(&self, browser: &Browser, method: Method, path: &str, body: &str) -> Request {
        let mut request = http::Request::builder().method(method).uri(path).header(header::HOST, "mail.test");
        if let Some(cookie) = &browser.cookie {
            request = request.header(header::COOKIE, cookie);
        }
        for (name, value) in &browser.headers {
            request = request.header(*name, value);
        }
        let (head, ()) = request.body(()).expect("well-formed").into_parts();
        let route = self.arashi.route(&head);
        Request {
            id: JobId(1),
            entered: Timestamp::ZERO,
            tags: Tags { kind: route.kind, ..Tags::default() },
            route,
            head,
            body: Bytes::copy_from_slice(body.as_bytes()),
            peer: ([127, 0, 0, 1], 1).into(),
        }
    }

    /// At this quality.
    async fn send_at(&self, quality: f64, browser: &mut Browser, method: Method, path: &str, body: &str) -> Came {
        let request = self.request(browser, method, path, body);
        let (offered, started) = (Timestamp::ZERO, Timestamp::ZERO);
        let at = At { stage: "test", offered, started, quality, p90: None, speed: 1.0 };
        let mut handled = self.arashi.handle(request, at).await;
        if let Some(rest) = rest_of(&mut handled) {
            handled = rest.await;
        }
        let answer = handled.expect("is not refused");
        let (head, body) = answer.into_parts();
        let body = whole(body).await;
        if let Some(cookie) = head.headers.get(header::SET_COOKIE) {
            let cookie = cookie.to_str().expect("text").split(';').next().expect("first part");
            browser.cookie = Some(cookie.to_owned());
        }
        Came { status: head.status, headers: head.headers, body: String::from_utf8_lossy(&body).into_owned() }
    }

    async fn read(&self, browser: &mut Browser, path: &str) -> Came {
        self.send(browser, Method::GET, path, "").await
    }

    async fn post(&self, browser: &mut Browser, path: &str, fields: &[(&str, &str)]) -> Came {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send(browser, Method::POST, path, &body).await
    }

    async fn sign_in(&self, name: &str, password: &str) -> (Browser, Came) {
        let mut browser = Browser::default();
        let came = self.post(&mut browser, "/login", &[("user", name), ("password", password)]).await;
        (browser, came)
    }
}

impl Came {
    /// The text of the first place that comes after `before`, up to the next quote, unescaped.
    fn after(&self, before: &str) -> Option<String> {
        let rest = &self.body[self.body.find(before)? + before.len()..];
        Some(rest[..rest.find('"')?].replace("&amp;", "&"))
    }

    fn links(&self, what: &str) -> Vec<String> {
        let mark = format!("<a data-do=\"{what}\" href=\"");
        let hits = self.body.split(&mark).skip(1);
        hits.map(|rest| rest[..rest.find('"').expect("quoted")].replace("&amp;", "&")).collect()
    }

    fn hidden(&self) -> BTreeMap<String, String> {
        let hits = self.body.split("<input type=\"hidden\" name=\"").skip(1);
        hits.map(|rest| {
            let (name, rest) = rest.split_once("\" value=\"").expect("name, then value");
            (name.to_owned(), rest[..rest.find('"').expect("quoted")].to_owned())
        })
        .collect()
    }

    fn page(&self) -> String {
        self.after("<body data-page=\"").expect("every page says which it is")
    }
}

/// All of a body.
async fn whole(page: live_service::service::PageBody) -> Vec<u8> {
    use live_service::service::PageBody::{Drawn, Whole};
    match page {
        Whole(bytes) => bytes.to_vec(),
        Drawn { length, mut pieces } => {
            let mut all = Vec::new();
            while let Some(piece) = pieces.next().await.expect("can be read") {
                all.extend_from_slice(&piece);
            }
            assert_eq!(all.len() as u64, length);
            all
        }
    }
}

//! HTML mail in a real browser: nothing of it runs, loads or leads anywhere by itself. Skipped where there is no
//! Chromium, unless the environment says that there must be (`LAB_REQUIRE_TOOLS`).
//!
//! A canary listens. The same attacks are shown three times: as they are (the canary must hear most of them, or this
//! test proves nothing), cleaned but in a page without any protection, and uncleaned but in the service's frame: so each
//! of the two walls holds alone. Then the service shows mail that was imported.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use arashi::{
    deliver::{self, Recipient},
    html,
    password::{self, PasswordCost},
    store::{NewMessage, Store, StoreOptions},
};
use spec::{App, ArashiSpec, TargetSpec, WorkSpec};

use crate::{
    browser::{Browser, wait_for},
    common,
};

/// Each would make the browser ask the canary for `CANARY/name`, now or when it runs. Those that swallow what follows
/// come last.
const ATTACKS: &[&str] = &[
    "<script>new Image().src='CANARY/script'</script>",
    "<script src=CANARY/script-src></script>",
    "<script type=module>import('CANARY/import')</script>",
    "<img src=CANARY/img>",
    "<img srcset='CANARY/srcset 1x'>",
    "<picture><source srcset=CANARY/source><img></picture>",
    "<img src=x: onerror=\"new Image().src='CANARY/onerror'\">",
    "<svg onload=\"new Image().src='CANARY/svg-onload'\"></svg>",
    "<svg><image href=CANARY/svg-image /></svg>",
    "<svg><use href=CANARY/svg-use#a /></svg>",
    "<svg><style>@import 'CANARY/svg-style';</style></svg>",
    "<svg><foreignObject><iframe src=CANARY/foreign></iframe></foreignObject></svg>",
    "<style>@import url(CANARY/css-import);</style>",
    "<style>body{background:url(CANARY/css-url)}</style>",
    "<style>@font-face{font-family:x;src:url(CANARY/font)} p{font-family:x}</style><p>x</p>",
    "<p style=\"background:url('CANARY/style-attribute');list-style:url(CANARY/list)\">x</p>",
    "<table background=CANARY/table-background><tr><td background=CANARY/td-background>x</table>",
    "<link rel=stylesheet href=CANARY/link>",
    "<link rel=prefetch href=CANARY/prefetch><link rel=preload as=image href=CANARY/preload>",
    "<link rel=preconnect href=CANARY/><link rel=dns-prefetch href=CANARY/>",
    "<iframe src=CANARY/iframe></iframe>",
    "<iframe srcdoc=\"<script>new Image().src='CANARY/srcdoc'</script>\"></iframe>",
    "<iframe src=\"javascript:new Image().src='CANARY/frame-javascript'\"></iframe>",
    "<object data=CANARY/object></object><embed src=CANARY/embed>",
    "<video src=CANARY/video poster=CANARY/poster autoplay></video>",
    "<audio src=CANARY/audio preload=auto autoplay></audio><video><track src=CANARY/track default></video>",
    "<input type=image src=CANARY/input-image>",
    "<input autofocus onfocus=\"new Image().src='CANARY/onfocus'\">",
    "<details open ontoggle=\"new Image().src='CANARY/ontoggle'\"><summary>x</summary></details>",
    "<marquee onstart=\"new Image().src='CANARY/onstart'\">x</marquee>",
    "<p id=x tabindex=1 style=animation:a onanimationstart=\"new Image().src='CANARY/animation'\">x</p>",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=CANARY/mutation&gt;\"></math>",
    "<svg></p><style><a id=\"</style><img src=CANARY/mutation-svg>\"></svg>",
    "<noscript><p title=\"</noscript><img src=CANARY/noscript>\"></noscript>",
    "<form action=CANARY/form id=f></form><script>document.getElementById('f').submit()</script>",
    "<a href=CANARY/ping ping=CANARY/pinged id=a>x</a><script>document.getElementById('a').click()</script>",
    "<base href=CANARY/><img src=base>",
    "<meta http-equiv=refresh content='0;url=CANARY/refresh'>",
    "<body onload=\"new Image().src='CANARY/onload'\" background=CANARY/body-background>",
    "<template><img src=CANARY/template></template><textarea></textarea><img src=CANARY/after-textarea>",
    "<xmp></xmp><img src=CANARY/after-xmp><title></title><img src=CANARY/after-title>",
    "<!--[if IE]><img src=CANARY/conditional><![endif]--><!--><img src=CANARY/comment>-->",
];

/// The attacks that the canary must hear when nothing is held back; otherwise its silence proves nothing.
const MUST_BE_HEARD: &[&str] =
    &["script", "img", "css-url", "iframe", "svg-onload", "refresh", "preload", "pinged", "form?"];

/// The time that a page has for a forbidden request. On an idle machine all requests reach the canary within a tenth of
/// it.
fn quiet() {
    thread::sleep(Duration::from_secs(1));
}

#[test]
fn nothing_of_html_mail_runs_or_loads() {
    let Some(browser) = Browser::start() else { return };
    let canary = Canary::start();
    let attacks: Vec<String> = ATTACKS.iter().map(|attack| attack.replace("CANARY", &canary.url())).collect();
    let cleaned = |attack: &String| html::clean(attack).expect("is short");

    browser.go(&Pages::start(attacks.clone()).url());
    let mut heard = BTreeSet::new();
    wait_for(|| {
        heard.append(&mut canary.heard());
        let all = heard.len() > 40 && MUST_BE_HEARD.iter().all(|must| heard.contains(*must));
        (!all).then(|| heard.clone())
    });
    quiet();
    canary.heard();

    let cleaned: Vec<String> = attacks.iter().map(cleaned).collect();
    browser.go(&Pages::start(cleaned).url());
    quiet();
    assert_eq!(canary.heard(), BTreeSet::new(), "cleaning alone");

    let dir = tempfile::tempdir().expect("a folder");
    let database = dir.path().join("mail.sqlite");
    import(&database, dir.path(), &attacks, &canary.url());
    put_uncleaned(&database, &attacks);
    let target = common::start(TargetSpec { app: arashi(&database), ..common::spec() });
    let reader = Reader::sign_in(&target);
    let lists = reader.links(&reader.welcome, "list", &target);
    assert_eq!(lists.len(), 2, "the inbox and the folder of uncleaned mail");
    for (list, wall) in lists.iter().zip(["both walls", "the frame alone"]) {
        let page = target.get(list);
        browser.go(&reader.url(list));
        quiet();
        assert_eq!(canary.heard(), BTreeSet::new(), "{list}");
        let messages = hrefs(&page, "show");
        assert!(!messages.is_empty(), "{page}");
        for message in messages {
            browser.go(&reader.url(&message));
            quiet();
            assert_eq!(browser.find_all("body[data-page=message] article[data-message]").len(), 1, "{message}");
            let mut heard = canary.heard();
            if wall == "the frame alone" {
                // A browser may connect to what a page names, without asking for anything; no policy forbids it. It
                // takes the cleaner to keep quiet even about that.
                heard.remove(NOTHING_ASKED);
            }
            assert_eq!(heard, BTreeSet::new(), "{wall}: {message}");
        }
    }
    let search = format!("/search?scope=all&q=img&{}", reader.key);
    browser.go(&reader.url(&search));
    quiet();
    assert_eq!(canary.heard(), BTreeSet::new(), "{search}");
}

/// Mail as it would come: each attack in a message of its own would take minutes to show, so all are in one, and those
/// that swallow the rest also come alone. And a message whose every other place holds markup.
fn import(database: &Path, dir: &Path, attacks: &[String], canary: &str) {
    let mut mbox = String::new();
    let mut message = |headers: &str, body: &str| {
        let body = body.replace("\nFrom ", "\n>From ");
        let _ = writeln!(mbox, "From a@example.org Mon Jul 29 12:00:00 2002\n{headers}\n\n{body}\n");
    };
    let kind = "Content-Type: text/html; charset=utf-8";
    message(&format!("Subject: all\n{kind}"), &attacks.join("\n"));
    message(&format!("Subject: backwards\n{kind}"), &attacks.iter().rev().cloned().collect::<Vec<_>>().join("\n"));
    let img = format!("<img src={canary}/header><script src={canary}/header-script></script>");
    let headers = format!(
        "From: \"{img}\" <a@example.org>\nTo: \"{img}\" <b@example.org>\nSubject: {img}\nX-Markup: {img}\n\
         Content-Type: multipart/mixed; boundary=b"
    );
    let body = format!(
        "--b\nContent-Type: text/plain\n\n{img} javascript:x() {canary}/a?\"><img src={canary}/text>\n\
         --b\nContent-Type: image/svg+xml; name=\"{img}.svg\"\n\n<svg onload=\"new Image().src='{canary}/attached'\">\n\
         --b\nContent-Type: image/png; name=\"a.png\"\nContent-Disposition: inline\n\nx\n--b--"
    );
    message(&headers, &body);
    let file = dir.join("inbox.mbox");
    std::fs::write(&file, mbox).expect("a file");
    let recipient = Recipient { name: "ann".to_owned(), password: "a".to_owned() };
    let summary = deliver::import(database, &recipient, &[file]).expect("imports");
    assert_eq!((summary.imported, summary.skipped.len()), (3, 0), "{summary}");
}

/// Markup that was never cleaned, as if the cleaner had a hole: the frame must hold it alone.
fn put_uncleaned(database: &Path, attacks: &[String]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let store = Store::create(database, &StoreOptions::default()).await.expect("opens");
        let user =
            store.set_account("ann", &password::hash("a", &[1; 16], PasswordCost::Least)).await.expect("is there");
        let mut fill = store.fill().await.expect("begins");
        let folder = fill.folder(user, "uncleaned").await.expect("is asked").expect("is made");
        let html = Some(attacks.join("\n"));
        let message = NewMessage { digest: [9; 32], subject: "uncleaned".to_owned(), html, ..NewMessage::default() };
        fill.import(user, "uncleaned", folder, &message).await.expect("is stored");
        fill.commit().await.expect("commits");
        store.close().await.expect("closes");
    });
}

fn arashi(database: &Path) -> App {
    App::Arashi {
        database: database.to_owned(),
        work: WorkSpec::default(),
        // So that a browser needs only an address to be signed in.
        spec: ArashiSpec { connections: 2, session_in_links: true, ..ArashiSpec::default() },
    }
}

/// A signed-in user.
struct Reader {
    address: SocketAddr,
    key: String,
    welcome: String,
}

impl Reader {
    fn sign_in(target: &common::Target) -> Self {
        let form = "user=ann&password=a";
        let welcome = target.exchange(
            format!(
                "POST /login HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\
                 Content-Type: application/x-www-form-urlencoded\r\n\r\n{form}",
                form.len()
            )
            .as_bytes(),
        );
        let key = welcome.split("key=").nth(1).and_then(|rest| rest.get(..32)).expect("a key");
        Self { address: target.address, key: format!("key={key}"), welcome }
    }

    fn links(&self, welcome: &str, what: &str, target: &common::Target) -> Vec<String> {
        let folders = hrefs(welcome, "folders");
        hrefs(&target.get(&folders[0]), what)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// The destinations of a kind of links.
fn hrefs(page: &str, what: &str) -> Vec<String> {
    let mark = format!("<a data-do=\"{what}\" href=\"");
    let rest = page.split(&mark).skip(1);
    rest.filter_map(|rest| rest.split('"').next()).map(|href| href.replace("&amp;", "&")).collect()
}

/// The canary's record of a connection without a request.
const NOTHING_ASKED: &str = "connected";

/// A listener that records all requests, and connections without one.
struct Canary {
    address: SocketAddr,
    heard: Arc<Mutex<BTreeSet<String>>>,
}

impl Canary {
    fn start() -> Self {
        let heard = Arc::new(Mutex::new(BTreeSet::new()));
        let remember = Arc::clone(&heard);
        let address = serve(move |path| {
            remember.lock().unwrap_or_else(PoisonError::into_inner).insert(path.trim_start_matches('/').to_owned());
            String::new()
        });
        Self { address, heard }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The records since the last call.
    fn heard(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A page with a frame for each document, so that none can swallow another, and no protection at all.
struct Pages {
    address: SocketAddr,
}

impl Pages {
    fn start(documents: Vec<String>) -> Self {
        let address = serve(move |path| {
            let number = path.trim_start_matches('/').parse().ok().and_then(|i: usize| documents.get(i));
            number.map_or_else(
                || (0..documents.len()).map(|i| format!("<iframe src=/{i}></iframe>")).collect(),
                |document| format!("<!doctype html><html><body>{document}"),
            )
        });
        Self { address }
    }

    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

/// Answers every request with what `page` makes of its path, or of [`NOTHING_ASKED`].
fn serve(page: impl Fn(&str) -> String + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let page = Arc::new(page);
    // Ends with the process: a test binary is short-lived.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let page = Arc::clone(&page);
            thread::spawn(move || answer(&stream, &*page));
        }
    });
    address
}

fn answer(stream: &TcpStream, page: &dyn Fn(&str) -> String) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let path = lines.next().and_then(Result::ok).and_then(|line| Some(line.split(' ').nth(1)?.to_owned()));
    let body = page(path.as_deref().unwrap_or(NOTHING_ASKED));
    while !lines.next()?.ok()?.is_empty() {}
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    (&*stream).write_all((head + &body).as_bytes()).ok()
}

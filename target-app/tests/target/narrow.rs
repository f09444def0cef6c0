//! The mail service on a telephone: 390 pixels wide.

use std::{fmt::Write as _, path::Path};

use arashi::deliver::{self, Recipient};
use spec::{App, ArashiSpec, TargetSpec, WorkSpec};

use crate::{browser::Browser, common};

const WIDTH: u32 = 390;

#[test]
fn everything_fits_on_a_narrow_screen() {
    let Some(browser) = Browser::start() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let database = dir.path().join("mail.sqlite");
    import(&database, dir.path());
    let spec = ArashiSpec { connections: 2, ..ArashiSpec::default() };
    let app = App::Arashi { database, work: WorkSpec::default(), spec };
    let target = common::start(TargetSpec { app, ..common::spec() });
    browser.resize(WIDTH, 844);
    browser.go(&format!("http://{}/", target.address));
    browser.write(&browser.find("input[name=user]"), "ann");
    browser.write(&browser.find("input[name=password]"), "correct horse");
    browser.click(&browser.find("button"));
    fits(&browser, "welcome");
    browser.click(&browser.find("a[data-do=folders]"));
    fits(&browser, "folders");

    browser.click(&browser.find("ul.folders a"));
    fits(&browser, "list");
    assert_eq!(browser.texts("td.date")[0], "12 Sep 2002, 12:00", "it can be seen");
    inside(&browser, "td.date, td.author, td.subject, td.pick input, th.date a, th.author a, th.subject a");
    for subject in ["HTML", "Text"] {
        let at = browser.texts("td.subject a").iter().position(|found| found.starts_with(subject)).expect("a message");
        browser.click(&browser.find_all("td.subject a")[at]);
        fits(&browser, subject);
        inside(&browser, "article dd, .actions button, .actions select, .body");
        browser.click(&browser.find("p.crumbs a"));
    }

    // A search keeps its words and its place, says how many it found, and where they lie.
    browser.write(&browser.find("select[name=scope]"), "all folders");
    browser.write(&browser.find("input[name=q]"), "ada \"x\" & <");
    browser.click(&browser.find("form[data-do=search] button"));
    let kept = browser
        .measure("return [document.querySelector('[name=q]').value, document.querySelector('[name=scope]').value]");
    assert_eq!(kept, serde_json::json!(["ada \"x\" & <", "all"]));
    assert_eq!(browser.texts("p.found"), ["0 messages in all folders with “ada \"x\" & <” in the headers"]);
    search(&browser, "ada@");
    assert_eq!(browser.texts("p.found"), ["7 messages in all folders with “ada@” in the headers"]);
    let places = browser.texts("td.place");
    assert_eq!((places.len(), places.iter().filter(|place| *place == "inbox").count()), (7, 6), "{places:?}");
    inside(&browser, "td.place, td.date, td.subject");
    fits(&browser, "search");
    search(&browser, "example.org");
    assert_eq!(browser.texts("p.found"), ["More than 10 messages in all folders with “example.org” in the headers"]);
    browser.click(&browser.find("a[data-do=next]"));
    assert_eq!(browser.texts("p.found"), ["13 messages in all folders with “example.org” in the headers"]);

    // A missing page leads back.
    for path in ["/show?folderid=1&entry=9999", "/list?folderid=77", "/nowhere"] {
        browser.go(&format!("http://{}{path}", target.address));
        assert_eq!(browser.texts("h1"), ["Not Found"], "{path}");
        fits(&browser, "not-found");
        browser.click(&browser.find("main a"));
        assert_eq!(browser.texts("h1"), ["Folders"], "{path}");
    }
    browser.click(&browser.find("form[action='/logout'] button"));
    browser.go(&format!("http://{}/nowhere", target.address));
    assert_eq!(browser.texts("main a"), ["Sign in"]);
}

fn search(browser: &Browser, words: &str) {
    browser.measure("document.querySelector('[name=q]').value = ''");
    browser.write(&browser.find("input[name=q]"), words);
    browser.click(&browser.find("form[data-do=search] button"));
}

/// Nothing is wider than the screen, and every page has its search box.
fn fits(browser: &Browser, name: &str) {
    browser.picture(&format!("narrow-{name}"));
    let wide = browser.measure("return document.documentElement.scrollWidth").as_u64();
    assert!(wide.is_some_and(|wide| wide <= u64::from(WIDTH)), "{name}: {wide:?}");
    inside(browser, "form[data-do=search] button, form[data-do=search] [type=search], .who button");
}

/// All of these can be seen, and none is cut off at a side.
fn inside(browser: &Browser, selector: &str) {
    let outside = browser.measure(&format!(
        "const all = [...document.querySelectorAll(\"{selector}\")].map(e => [e.className || e.tagName, e.getBoundingClientRect()]);
         if (all.length === 0) return ['nothing'];
         return all.filter(([, r]) => r.width < 8 || r.height < 8 || r.left < 0 || r.right > document.documentElement.clientWidth).map(([n, r]) => n + ' ' + JSON.stringify(r));"
    ));
    assert_eq!(outside, serde_json::json!([]), "{selector}");
}

/// An inbox of twelve with what is long in it, and another folder.
fn import(database: &Path, dir: &Path) {
    let mut inbox = String::new();
    for i in 1..=12 {
        let name = if i % 2 == 0 { "Bartholomew Featherstonehaugh-Cholmondeley" } else { "Ada" };
        let address = if i % 2 == 0 { "bob" } else { "ada" };
        let (kind, body) = match i {
            12 => (
                "text/html",
                "<table width=900><tr><td nowrap>A wide table that does not wrap at all, wide and wide and wide</table>".to_owned(),
            ),
            11 => ("text/plain", format!("{} https://example.org/{}", "x".repeat(200), "y".repeat(200))),
            _ => ("text/plain", "Hello".to_owned()),
        };
        let subject = match i {
            12 => "HTML that is wide".to_owned(),
            11 => format!("Text {}", "verylongword".repeat(12)),
            _ => format!("Topic {i} with a subject that is rather longer than the screen is wide"),
        };
        let _ = write!(
            inbox,
            "From x@example.org Mon Sep {i} 12:00:00 2002\nFrom: {name} <{address}@example.org>\nTo: ann@example.org\n\
             Date: Mon, {i} Sep 2002 12:00:00 +0000\nSubject: {subject}\nContent-Type: {kind}\n\n{body}\n\n"
        );
    }
    let other = "From x@example.org Mon Sep 2 12:00:00 2002\nFrom: Ada <ada@example.org>\nSubject: elsewhere\n\nx\n";
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let paths = [write("inbox.mbox", &inbox), write("a folder with a name of some length.mbox", other)];
    let recipient = Recipient { name: "ann".to_owned(), password: "correct horse".to_owned() };
    let summary = deliver::import(database, &recipient, &paths).expect("imports");
    assert_eq!((summary.imported, summary.skipped.len()), (13, 0), "{summary}");
}

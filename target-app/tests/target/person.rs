//! A person with a browser: mail is imported, read, sorted, searched, moved and deleted, without a script on any page.

use std::{fmt::Write as _, path::Path};

use arashi::deliver::{self, Recipient};
use spec::{App, ArashiSpec, TargetSpec, WorkSpec};

use crate::{browser::Browser, common};

#[test]
fn a_person_reads_and_keeps_imported_mail() {
    let Some(browser) = Browser::start() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let database = dir.path().join("mail.sqlite");
    import(&database, dir.path());
    let spec = ArashiSpec { connections: 2, ..ArashiSpec::default() };
    let app = App::Arashi { database, work: WorkSpec::default(), spec };
    let target = common::start(TargetSpec { app, ..common::spec() });

    browser.go(&format!("http://{}/", target.address));
    browser.picture("sign-in");
    sign_in(&browser, "wrong");
    assert_eq!(browser.texts("[role=alert]"), ["That user and password do not belong together."]);
    sign_in(&browser, "correct horse");
    assert_eq!(browser.texts("h1"), ["Welcome, ann"]);
    browser.click(&browser.find("a[data-do=folders]"));
    assert_eq!(browser.texts("ul.folders a"), ["inbox", "friends"]);
    assert_eq!(browser.texts("ul.folders .count"), ["12 messages", "1 message"]);
    browser.picture("folders");

    // Ten on a page, the newest first.
    browser.click(&browser.find("ul.folders a"));
    assert_eq!(subjects(&browser), (3..=12).rev().map(|i| format!("Topic {i}")).collect::<Vec<_>>());
    browser.picture("list");
    browser.click(&browser.find("a[data-do=next]"));
    assert_eq!(subjects(&browser), ["Topic 2", "Topic 1"]);
    browser.click(&browser.find("a[data-do=previous]"));
    browser.click(&browser.find("th.author a"));
    assert_eq!(browser.texts("td.author")[..3], ["Ada", "Ada", "Ada"]);
    browser.click(&browser.find("th.subject a"));
    assert_eq!(subjects(&browser)[..3], ["Topic 1", "Topic 10", "Topic 11"]);
    browser.click(&browser.find("th.subject a"));
    assert_eq!(subjects(&browser)[0], "Topic 9");

    reads(&browser);

    // Two are moved to a folder made for them, and are found there.
    browser.click(&browser.find("nav a[data-do=folders]"));
    browser.write(&browser.find("form[data-do=createfolder] input[name=name]"), "To <do>");
    browser.click(&browser.find("form[data-do=createfolder] button"));
    browser.click(&browser.find("nav a[data-do=folders]"));
    browser.click(&browser.find("ul.folders a"));
    choose(&browser, &["Topic 12", "Topic 11"]);
    let places = browser.texts("select[name=to] option");
    assert_eq!(places.len(), 2, "every folder but this one: {places:?}");
    browser.write(&browser.find("select[name=to]"), "To <do>");
    browser.click(&browser.find("button[data-do=refile]"));
    assert_eq!(browser.texts("[data-done=refile]"), ["2 messages moved."]);
    browser.click(&browser.find("nav a[data-do=folders]"));
    let folders = browser.texts("ul.folders li a");
    let made = folders.iter().position(|name| name == "To <do>").expect("the new folder");
    browser.click(&browser.find_all("ul.folders a")[made]);
    assert_eq!(subjects(&browser), ["Topic 12", "Topic 11"]);

    // One is searched for in all folders, and deleted.
    browser.write(&browser.find("select[name=scope]"), "all folders");
    browser.write(&browser.find("input[name=q]"), "jürgen");
    browser.click(&browser.find("form[data-do=search] button"));
    assert_eq!(subjects(&browser), ["Grüße"]);
    browser.picture("search");
    choose(&browser, &["Grüße"]);
    browser.click(&browser.find("button[data-do=delete]"));
    assert_eq!(browser.texts("[data-done=delete]"), ["1 message deleted."]);
    browser.click(&browser.find("nav a[data-do=folders]"));
    let counts = browser.texts("ul.folders .count");
    assert!(counts.contains(&"0 messages".to_owned()) && counts.contains(&"10 messages".to_owned()), "{counts:?}");

    browser.click(&browser.find("form[action='/logout'] button"));
    browser.go(&format!("http://{}/folderlist", target.address));
    assert_eq!(browser.texts("[role=alert]"), ["Please sign in: your session has ended."]);
}

/// Messages as text, with links, as HTML, and with attachments.
fn reads(browser: &Browser) {
    open(browser, "Topic 9");
    assert_eq!(browser.texts("article h1"), ["Topic 9"]);
    assert_eq!(browser.texts("article dd"), ["Ada <ada@example.org>", "ann@example.org", "9 Sep 2002, 12:00"]);
    assert_eq!(browser.texts("pre.body"), ["Text 9: 1 < 2, see http://example.org/?a=1&b=2"]);
    assert_eq!(browser.texts("pre.body a[href='http://example.org/?a=1&b=2']").len(), 1);
    browser.picture("text");
    browser.click(&browser.find("article ~ * a[data-do=list], a[data-do=list]"));
    browser.click(&browser.find("nav a[data-do=folders]"));
    browser.click(&browser.find_all("ul.folders a")[1]);
    open(browser, "Grüße");
    assert_eq!(browser.texts(".attachments li a"), ["rates €.csv"]);
    browser.picture("html");
    browser.enter(&browser.find("iframe"));
    assert_eq!(browser.texts("h2"), ["Sale"]);
    assert_eq!(browser.texts("script"), [""; 0]);
    browser.leave_frame();
}

fn sign_in(browser: &Browser, password: &str) {
    browser.write(&browser.find("input[name=user]"), "ann");
    browser.write(&browser.find("input[name=password]"), password);
    browser.click(&browser.find("button"));
}

fn subjects(browser: &Browser) -> Vec<String> {
    browser.texts("td.subject a")
}

fn open(browser: &Browser, subject: &str) {
    let at = subjects(browser).iter().position(|found| found == subject).expect(subject);
    browser.click(&browser.find_all("td.subject a")[at]);
}

fn choose(browser: &Browser, chosen: &[&str]) {
    for subject in chosen {
        browser.tick(&browser.find(&format!("input[aria-label='Choose {subject}']")));
    }
}

/// An inbox of twelve, and a folder with one message from abroad.
fn import(database: &Path, dir: &Path) {
    let mut inbox = String::new();
    for i in 1..=12 {
        let name = if i % 2 == 0 { "Bob" } else { "Ada" };
        let _ = write!(
            inbox,
            "From x@example.org Mon Sep {i} 12:00:00 2002\nFrom: {name} <{}@example.org>\nTo: ann@example.org\n\
             Date: Mon, {i} Sep 2002 12:00:00 +0000\nSubject: Topic {i}\n\n\
             Text {i}: 1 < 2, see http://example.org/?a=1&b=2\n\n",
            name.to_lowercase()
        );
    }
    let friends = "From x@example.org Mon Sep 2 12:00:00 2002\nFrom: =?iso-8859-1?Q?J=FCrgen?= <j@example.org>\n\
        To: ann@example.org\nDate: Sun, 1 Sep 2002 12:00:00 +0000\nSubject: =?utf-8?B?R3LDvMOfZQ==?=\n\
        Content-Type: multipart/mixed; boundary=b\n\n\
        --b\nContent-Type: text/html\n\n<h2>Sale</h2><script>document.title='ran'</script><p>of <b>everything</b></p>\n\
        --b\nContent-Type: text/csv; name*=utf-8''rates%20%E2%82%AC.csv\n\n1,2\n--b--\n\n";
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let paths = [write("inbox.mbox", &inbox), write("friends.mbox", friends)];
    let recipient = Recipient { name: "ann".to_owned(), password: "correct horse".to_owned() };
    let summary = deliver::import(database, &recipient, &paths).expect("imports");
    assert_eq!((summary.imported, summary.skipped.len()), (13, 0), "{summary}");
}

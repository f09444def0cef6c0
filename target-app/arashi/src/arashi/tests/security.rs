//! Actions that other users and sites must not be able to do.

use super::*;

#[tokio::test]
async fn foreign_objects_answer_like_missing_ones() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let (mut bob, _) = world.sign_in("bob", "b").await;
    let csrf = world.read(&mut bob, "/folderlist").await.hidden()["csrf"].clone();
    let bobs =
        world.read(&mut bob, "/folderlist").await.links("list")[0].split("folderid=").nth(1).expect("id").to_owned();
    let missing = world.read(&mut bob, "/show?folderid=999999&entry=999999").await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    // Every address that names an object, with ann's objects, bob's own and none, mixed.
    let mut paths = Vec::new();
    for folder in ["1", "2", "999999", "0", "-1", "x", ""] {
        paths.push(format!("/list?folderid={folder}"));
        paths.push(format!("/search?folderid={folder}&scope=folder&q=subject"));
        for entry in ["1", "25", "999999"] {
            paths.push(format!("/show?folderid={folder}&entry={entry}"));
            paths.push(format!("/attachment?folderid={folder}&entry={entry}&part=0"));
        }
    }
    paths.push(format!("/show?folderid={bobs}&entry=25"));
    paths.push(format!("/attachment?folderid={bobs}&entry=25&part=0"));
    paths.push("/show?folderid=all&entry=1".to_owned());
    for path in &paths {
        if path.starts_with("/search")
            && !["1&", "2&", "999999&", "0&"].iter().any(|id| path.contains(&format!("folderid={id}")))
        {
            // Without a folder that can be one, a search is over all of one's own mail.
            assert!(!world.read(&mut bob, path).await.body.contains("entry=25"), "{path}");
            continue;
        }
        let came = world.read(&mut bob, path).await;
        assert_eq!((came.status, came.body), (StatusCode::NOT_FOUND, missing.body.clone()), "{path}");
    }
    let posts: Vec<(&str, Vec<(&str, &str)>)> = vec![
        ("/delete", vec![("folderid", "1"), ("message", "1")]),
        ("/refile", vec![("folderid", "1"), ("message", "1"), ("to", &bobs)]),
        ("/refile", vec![("folderid", &bobs), ("message", "26"), ("to", "1")]),
        ("/refile", vec![("folderid", "all"), ("message", "26"), ("to", "2")]),
        ("/deletefolder", vec![("folderid", "2"), ("with", "messages")]),
        ("/delete", vec![("folderid", "1"), ("message", "x")]),
    ];
    for (path, mut fields) in posts {
        fields.push(("csrf", &csrf));
        let came = world.post(&mut bob, path, &fields).await;
        assert_eq!((came.status, came.body), (StatusCode::NOT_FOUND, missing.body.clone()), "{path} {fields:?}");
    }
    let all = world.post(&mut bob, "/delete", &[("csrf", &csrf), ("folderid", "all"), ("message", "1")]).await;
    assert!(all.body.contains("data-count=\"0\""), "all means all of one's own");
    let folders = world.read(&mut ann, "/folderlist").await;
    assert!(folders.body.contains("25 messages") && folders.links("list").len() == 3, "ann's mail is as it was");
}

#[tokio::test]
async fn without_a_session_there_is_only_the_way_in() {
    let world = world(false).await;
    for path in [
        "/folderlist",
        "/list?folderid=1",
        "/show?folderid=1&entry=1",
        "/search?q=a",
        "/attachment?folderid=1&entry=25&part=0",
    ] {
        for cookie in [None, Some("session=".to_owned()), Some(format!("session={}", "0".repeat(32)))] {
            let mut nobody = Browser { cookie, ..Browser::default() };
            let came = world.read(&mut nobody, path).await;
            assert_eq!((came.status, came.page().as_str()), (StatusCode::FORBIDDEN, "login"), "{path}");
        }
    }
    for path in ["/delete", "/refile", "/createfolder", "/deletefolder", "/logout"] {
        let came = world.post(&mut Browser::default(), path, &[("folderid", "1"), ("message", "1")]).await;
        assert_eq!(came.status, StatusCode::FORBIDDEN, "{path}");
    }
    for (user, password) in
        [("ann", "b"), ("ann", ""), ("", ""), ("nobody", "a"), ("ann\0", "a"), ("ann", &"a".repeat(5000))]
    {
        let (browser, came) = world.sign_in(user, password).await;
        assert_eq!((came.status, browser.cookie), (StatusCode::FORBIDDEN, None), "{user:?}");
    }
}

#[tokio::test]
async fn forms_of_other_sites_change_nothing() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let (mut bob, _) = world.sign_in("bob", "b").await;
    let anns = world.read(&mut ann, "/folderlist").await.hidden()["csrf"].clone();
    let bobs = world.read(&mut bob, "/folderlist").await.hidden()["csrf"].clone();
    for token in ["", "0", &bobs, &anns[..31], &anns.to_uppercase()] {
        if token == anns {
            continue;
        }
        let came = world.post(&mut ann, "/delete", &[("csrf", token), ("folderid", "1"), ("message", "1")]).await;
        assert_eq!(came.status, StatusCode::FORBIDDEN, "{token}");
    }
    for (name, value) in [("origin", "http://evil.test"), ("origin", "null"), ("sec-fetch-site", "cross-site")] {
        ann.headers = vec![(name, value.to_owned())];
        for path in ["/delete", "/refile", "/createfolder", "/deletefolder", "/logout", "/login"] {
            let fields = [
                ("csrf", anns.as_str()),
                ("folderid", "1"),
                ("message", "1"),
                ("to", "2"),
                ("name", "x"),
                ("user", "ann"),
                ("password", "a"),
            ];
            let came = world.post(&mut ann, path, &fields).await;
            assert_eq!(came.status, StatusCode::FORBIDDEN, "{path} {name}: {value}");
        }
    }
    ann.headers = vec![("origin", "http://mail.test".to_owned()), ("sec-fetch-site", "same-origin".to_owned())];
    let came = world.post(&mut ann, "/delete", &[("csrf", &anns), ("folderid", "1"), ("message", "1")]).await;
    assert_eq!(came.status, StatusCode::OK);
}

#[tokio::test]
async fn nothing_changes_by_get_and_methods_are_few() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let csrf = world.read(&mut ann, "/folderlist").await.hidden()["csrf"].clone();
    for path in ["/delete", "/refile", "/createfolder", "/deletefolder", "/logout", "/login"] {
        let came = world.read(&mut ann, &format!("{path}?csrf={csrf}&folderid=1&message=1&to=2&name=x")).await;
        assert_eq!(
            (came.status, &came.headers[header::ALLOW]),
            (StatusCode::METHOD_NOT_ALLOWED, &"POST".parse().expect("value"))
        );
    }
    for path in ["/", "/folderlist", "/list?folderid=1", "/logo.png"] {
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::TRACE, Method::OPTIONS] {
            assert_eq!(world.send(&mut ann, method, path, "").await.status, StatusCode::METHOD_NOT_ALLOWED);
        }
    }
    assert!(world.read(&mut ann, "/folderlist").await.body.contains("25 messages"));
}

#[tokio::test]
async fn sessions_are_new_at_sign_in_and_worthless_after_sign_out() {
    let world = world(false).await;
    let (mut ann, came) = world.sign_in("ann", "a").await;
    let cookie = came.headers[header::SET_COOKIE].to_str().expect("text").to_owned();
    assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
    let old = ann.cookie.clone();
    world.post(&mut ann, "/login", &[("user", "ann"), ("password", "a")]).await;
    assert_ne!(ann.cookie, old);
    let mut thief = Browser { cookie: old, ..Browser::default() };
    assert_eq!(world.read(&mut thief, "/folderlist").await.status, StatusCode::FORBIDDEN, "the prepared key is dead");
    let copy = ann.cookie.clone();
    let csrf = world.read(&mut ann, "/folderlist").await.hidden()["csrf"].clone();
    let out = world.post(&mut ann, "/logout", &[("csrf", &csrf)]).await;
    assert_eq!((out.status, out.page().as_str()), (StatusCode::OK, "login"));
    let mut thief = Browser { cookie: copy, ..Browser::default() };
    assert_eq!(world.read(&mut thief, "/folderlist").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_key_in_a_link_counts_only_where_keys_are_in_links() {
    let cookies = world(false).await;
    let (ann, _) = cookies.sign_in("ann", "a").await;
    let key = ann.cookie.expect("cookie").replace("session=", "");
    let came = cookies.read(&mut Browser::default(), &format!("/folderlist?key={key}")).await;
    assert_eq!(came.status, StatusCode::FORBIDDEN);
    let links = world(true).await;
    let (_, welcome) = links.sign_in("ann", "a").await;
    let key = welcome.hidden()["key"].clone();
    let mut browser = Browser { cookie: Some(format!("session={key}")), ..Browser::default() };
    assert_eq!(links.read(&mut browser, "/folderlist").await.status, StatusCode::FORBIDDEN);
    assert_eq!(links.read(&mut browser, &format!("/folderlist?key={key}")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn mail_is_shown_as_text_or_behind_two_walls() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let text = world.read(&mut ann, "/show?folderid=1&entry=3").await;
    assert!(text.body.contains("Text 3 &lt;b&gt;not bold&lt;/b&gt; "), "{}", text.body);
    assert!(text.body.contains("<a href=\"http://example.org/?a=1&amp;b=2\" rel=\"noopener noreferrer\""));
    let framed = world.read(&mut ann, "/show?folderid=1&entry=25").await;
    let frame = framed.after("<iframe ").expect("a frame");
    assert!(!frame.contains("allow-scripts"));
    let sandbox = framed.after("sandbox=\"").expect("a sandbox");
    assert_eq!(sandbox, "allow-popups allow-popups-to-escape-sandbox");
    assert!(framed.body.contains("&lt;p&gt;Hello&lt;/p&gt;") && !framed.body.contains("onclick"));
    for page in ["/list?folderid=1", "/show?folderid=1&entry=3", "/search?scope=all&q=%3Cscript%3E", "/folderlist"] {
        let came = world.read(&mut ann, page).await;
        assert_eq!(came.status, StatusCode::OK);
        for forbidden in ["<script", "<img src=x", "onerror=alert(1)>\""] {
            assert!(!came.body.contains(forbidden), "{page}: {forbidden}");
        }
    }
}

#[tokio::test]
async fn every_answer_carries_the_headers_that_make_browsers_careful() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    for path in [
        "/",
        "/folderlist",
        "/list?folderid=1",
        "/nothing",
        "/delete",
        "/logo.png",
        "/style.css",
        "/attachment?folderid=1&entry=25&part=0",
    ] {
        let came = world.read(&mut ann, path).await;
        let header = |name: &str| came.headers[name].to_str().expect("text").to_owned();
        assert!(header("content-security-policy").starts_with("default-src 'none'"), "{path}");
        assert!(!header("content-security-policy").contains("unsafe"), "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "same-origin");
        if came.body.contains("<body") {
            assert!(header("content-security-policy").contains("frame-ancestors 'none'"));
            assert_eq!(header("cache-control"), "no-store");
        }
    }
}

#[tokio::test]
async fn attachments_are_saved_and_never_shown() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let page = world.read(&mut ann, "/show?folderid=1&entry=25").await;
    let link = page.after("<li><a href=\"").expect("a link");
    let came = world.read(&mut ann, &link).await;
    assert_eq!(came.status, StatusCode::OK);
    assert_eq!(came.headers[header::CONTENT_TYPE], "application/octet-stream");
    let disposition = came.headers[header::CONTENT_DISPOSITION].to_str().expect("text");
    assert!(
        disposition.starts_with("attachment; filename=\"a__X__y__b_.html\"; filename*=UTF-8''a%0D%0AX"),
        "{disposition}"
    );
    assert_eq!(came.body, "<script>alert(1)</script>", "the bytes are the sender's");
}

#[tokio::test]
async fn people_are_protected_from_guessing() {
    let world = world(false).await;
    let hash = password::hash("right", &[3; 16], PasswordCost::Recommended);
    world.arashi.store.set_account("carol", &hash).await.expect("is made");
    let (_, came) = world.sign_in("carol", "right").await;
    assert_eq!(came.status, StatusCode::OK);
    for name in ["carol", "nobody"] {
        let mut last = StatusCode::OK;
        for _ in 0..7 {
            last = world.sign_in(name, "wrong").await.1.status;
        }
        assert_eq!(last, StatusCode::TOO_MANY_REQUESTS, "{name}: known or not, the same");
        // At once: the first wait is a second.
        let (_, came) = world.sign_in(name, "right").await;
        assert_eq!(came.status, StatusCode::TOO_MANY_REQUESTS, "{name}: nor does the right one help now");
        let seconds: u64 = came.headers[header::RETRY_AFTER].to_str().expect("text").parse().expect("a number");
        let told = format!("Try again in {seconds} second{}.", if seconds == 1 { "" } else { "s" });
        assert!(came.body.contains(&told), "{told}: {}", came.body);
    }
}

#[tokio::test]
async fn a_form_of_too_many_fields_is_refused_whole() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let csrf = world.read(&mut ann, "/folderlist").await.hidden()["csrf"].clone();
    let mut form = vec![("csrf", csrf.as_str()), ("folderid", "1"), ("message", "1")];
    form.resize(crate::input::MAX_FIELDS + 1, ("message", "2"));
    let came = world.post(&mut ann, "/delete", &form).await;
    assert_eq!(came.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(came.body.contains("more than 1100 fields"), "{}", came.body);
    form.pop();
    let came = world.post(&mut ann, "/delete", &form).await;
    assert!(came.body.contains("data-count=\"2\""), "the first one deleted nothing: {}", came.body);
    let query = format!("/list?{}", "folderid=1&".repeat(1101));
    assert_eq!(world.read(&mut ann, &query).await.status, StatusCode::BAD_REQUEST);
}

const BACK: &str = ">Back to your mail</a>";
const SIGN_IN: &str = ">Sign in<";

/// A signed-in user is offered the mail, and any other the sign-in page.
#[tokio::test]
async fn pages_of_errors_offer_the_way_back_to_those_who_are_signed_in() {
    for key_in_links in [false, true] {
        let world = world(key_in_links).await;
        let (mut ann, came) = world.sign_in("ann", "a").await;
        // The key, where links have it, is taken along by the form.
        let link = came.after("href=\"/folderlist").expect("the way to the mail");
        let key = link.strip_prefix("?key=").map(str::to_owned);
        let mut form = vec![("csrf", "0"), ("folderid", "1"), ("message", "1")];
        form.extend(key.as_deref().map(|key| ("key", key)));
        let came = world.post(&mut ann, "/delete", &form).await;
        assert_eq!(came.status, StatusCode::FORBIDDEN);
        assert!(came.body.contains(BACK) && !came.body.contains(SIGN_IN), "{}", came.body);

        let stranger = Browser::default();
        let [anns, strangers] = [(&ann, format!("/search{link}")), (&stranger, "/search".to_owned())]
            .map(|(browser, path)| world.request(browser, Method::GET, &path, ""));
        for (error, status) in [
            (StoreError::TooLong, StatusCode::SERVICE_UNAVAILABLE),
            (StoreError::DiskFull, StatusCode::INSUFFICIENT_STORAGE),
        ] {
            for (request, offers, other) in [(&anns, BACK, SIGN_IN), (&strangers, SIGN_IN, BACK)] {
                let (head, body) = world.arashi.failed(request, &error).into_parts();
                let page = String::from_utf8_lossy(&whole(body).await).into_owned();
                assert_eq!(head.status, status);
                assert!(page.contains(offers) && !page.contains(other), "{page}");
            }
        }
        let refused = String::from_utf8(world.arashi.refused_page(Reason::Rate).to_vec()).expect("text");
        assert_eq!(
            (refused.contains("href=\"/folderlist\""), refused.contains(SIGN_IN)),
            (!key_in_links, key_in_links)
        );
    }
}

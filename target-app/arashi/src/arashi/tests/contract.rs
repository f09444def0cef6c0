//! The marks that emulated users follow.

use super::*;

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one session from beginning to end")]
async fn a_user_can_walk_all_pages_by_their_marks() {
    for session_in_links in [false, true] {
        let world = world(session_in_links).await;
        let start = world.read(&mut Browser::default(), "/").await;
        assert_eq!((start.status, start.page().as_str()), (StatusCode::OK, "login"));
        let (mut ann, welcome) = world.sign_in("ann", "a").await;
        assert_eq!((welcome.status, welcome.page().as_str()), (StatusCode::OK, "welcome"));
        assert_eq!(ann.cookie.is_some(), !session_in_links, "one of the two, never both");

        let folders = world.read(&mut ann, &welcome.links("folders")[0]).await;
        assert_eq!(folders.page(), "folders");
        let lists = folders.links("list");
        assert_eq!(lists.len(), 3);
        assert!(lists[0].starts_with("/list?folderid=1"), "inbox first: {lists:?}");

        let list = world.read(&mut ann, &lists[0]).await;
        assert_eq!((list.page().as_str(), list.after("<table data-folder=\"").as_deref()), ("messages", Some("1")));
        assert_eq!((list.links("show").len(), list.links("previous").len(), list.links("next").len()), (10, 0, 1));
        assert_eq!(list.body.matches("<input type=\"checkbox\" name=\"message\" value=\"").count(), 10);
        assert_eq!(list.links("folders").len(), 1);
        let second = world.read(&mut ann, &list.links("next")[0]).await;
        assert_eq!((second.links("show").len(), second.links("previous").len()), (10, 1));
        let last = world.read(&mut ann, &second.links("next")[0]).await;
        assert_eq!((last.links("show").len(), last.links("next").len()), (5, 0));

        let show = &list.links("show")[0];
        let entry = show.split("entry=").nth(1).expect("entry").split('&').next().expect("first").to_owned();
        let message = world.read(&mut ann, show).await;
        assert_eq!(
            (message.page().as_str(), message.after("<article data-message=\"")),
            ("message", Some(entry.clone()))
        );
        assert!(message.links("list")[0].starts_with("/list?folderid=1"));
        let hidden = message.hidden();
        assert_eq!(hidden["message"], entry);
        assert_eq!(hidden["folderid"], "1");
        assert_eq!(hidden.contains_key("key"), session_in_links);

        let to = message.after("<option value=\"3\"").map_or("2", |_| "3");
        let mut fields: Vec<(&str, &str)> =
            hidden.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        fields.push(("to", to));
        assert!(message.body.contains("<form data-do=\"messages\" method=\"post\" action=\"/delete\""));
        assert!(message.body.contains("<button data-do=\"refile\" formaction=\"/refile\""));
        let done = world.post(&mut ann, "/refile", &fields).await;
        assert!(done.body.contains("<p data-done=\"refile\" data-count=\"1\">"), "{}", done.body);
        assert_eq!((done.page().as_str(), done.links("list").len()), ("done", 1));
        assert_eq!(world.read(&mut ann, show).await.status, StatusCode::NOT_FOUND, "it is elsewhere now");

        let list = world.read(&mut ann, &done.links("list")[0]).await;
        let chosen: Vec<String> = (0..2)
            .map(|i| {
                list.links("show")[i]
                    .split("entry=")
                    .nth(1)
                    .expect("entry")
                    .split('&')
                    .next()
                    .expect("first")
                    .to_owned()
            })
            .collect();
        let mut hidden = list.hidden();
        let csrf = hidden.remove("csrf").expect("a token");
        let key = hidden.remove("key").unwrap_or_default();
        let fields = [
            ("csrf", csrf.as_str()),
            ("key", &key),
            ("folderid", "1"),
            ("message", &chosen[0]),
            ("message", &chosen[1]),
        ];
        let done = world.post(&mut ann, "/delete", &fields).await;
        assert!(done.body.contains("<p data-done=\"delete\" data-count=\"2\">"), "{}", done.body);

        let q = if session_in_links {
            format!("/search?folderid=1&scope=folder&q=subject+1&key={key}")
        } else {
            "/search?folderid=1&scope=folder&q=subject+1".to_owned()
        };
        let search = world.read(&mut ann, &q).await;
        // "subject 1" is in 1 and in 10 to 19: eleven messages.
        assert_eq!((search.page().as_str(), search.links("show").len(), search.links("next").len()), ("search", 10, 1));
        assert!(search.body.contains("<table data-search"));
        assert_eq!(world.read(&mut ann, &search.links("next")[0]).await.links("show").len(), 1);

        let made = world.post(&mut ann, "/createfolder", &[("csrf", &csrf), ("key", &key), ("name", "Été")]).await;
        assert!(made.body.contains("<p data-done=\"createfolder\""), "{}", made.body);
        let id =
            made.links("list")[0].split("folderid=").nth(1).expect("id").split('&').next().expect("first").to_owned();
        let gone = world.post(&mut ann, "/deletefolder", &[("csrf", &csrf), ("key", &key), ("folderid", &id)]).await;
        assert!(gone.body.contains("<p data-done=\"deletefolder\" data-count=\"0\">"), "{}", gone.body);
    }
}

#[tokio::test]
async fn what_a_search_finds_everywhere_can_be_changed_everywhere() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let found = world.read(&mut ann, "/search?folderid=1&scope=all&q=subject").await;
    let csrf = found.hidden()["csrf"].clone();
    assert!(found.body.contains("<input type=\"hidden\" name=\"folderid\" value=\"all\">"));
    let moved =
        world.post(&mut ann, "/refile", &[("csrf", &csrf), ("folderid", "all"), ("message", "1"), ("to", "2")]).await;
    assert!(moved.body.contains("data-count=\"1\""));
    let again =
        world.post(&mut ann, "/refile", &[("csrf", &csrf), ("folderid", "all"), ("message", "1"), ("to", "2")]).await;
    assert!(again.body.contains("data-count=\"0\""), "it is there already");
    let gone = world
        .post(&mut ann, "/delete", &[("csrf", &csrf), ("folderid", "all"), ("message", "1"), ("message", "2")])
        .await;
    assert!(gone.body.contains("data-count=\"2\""));
    let folders = world.read(&mut ann, "/folderlist").await;
    assert!(
        folders.body.contains("23 messages") && folders.body.matches("0 messages").count() == 2,
        "{}",
        folders.body
    );
}

#[tokio::test]
async fn lists_sort_by_what_the_links_say() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let first = async |ann: &mut Browser, query: &str| {
        let list = world.read(ann, &format!("/list?folderid=1{query}")).await;
        list.links("show")[0].split("entry=").nth(1).expect("entry").to_owned()
    };
    assert_eq!(first(&mut ann, "").await, "25");
    assert_eq!(first(&mut ann, "&sort=date&dir=asc").await, "1");
    assert_eq!(first(&mut ann, "&sort=subject").await, "1", "Subject 1 <script>... sorts before Subject 10");
    assert_eq!(first(&mut ann, "&sort=author&dir=desc").await, "9");
    assert_eq!(first(&mut ann, "&sort=nonsense&dir=nonsense").await, "25");
    let list = world.read(&mut ann, "/list?folderid=1&sort=author&dir=desc").await;
    assert!(list.links("next")[0].contains("sort=author&dir=desc"), "the order stays while turning pages");
}

#[tokio::test]
async fn a_folder_with_mail_is_not_deleted_by_accident() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let csrf = world.read(&mut ann, "/folderlist").await.hidden()["csrf"].clone();
    world.post(&mut ann, "/refile", &[("csrf", &csrf), ("folderid", "1"), ("message", "1"), ("to", "2")]).await;
    let kept = world.post(&mut ann, "/deletefolder", &[("csrf", &csrf), ("folderid", "2")]).await;
    assert_eq!((kept.status, kept.page().as_str()), (StatusCode::CONFLICT, "folders"));
    let inbox =
        world.post(&mut ann, "/deletefolder", &[("csrf", &csrf), ("folderid", "1"), ("with", "messages")]).await;
    assert_eq!(inbox.status, StatusCode::NOT_FOUND);
    let gone = world.post(&mut ann, "/deletefolder", &[("csrf", &csrf), ("folderid", "2"), ("with", "messages")]).await;
    assert!(gone.body.contains("<p data-done=\"deletefolder\" data-count=\"1\">"));
}

#[tokio::test]
async fn names_of_folders_are_checked() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let csrf = world.read(&mut ann, "/folderlist").await.hidden()["csrf"].clone();
    for (name, status) in [
        ("  ", StatusCode::BAD_REQUEST),
        ("a\r\nb", StatusCode::BAD_REQUEST),
        ("\u{202e}gnp", StatusCode::BAD_REQUEST),
        (&"x".repeat(61), StatusCode::BAD_REQUEST),
        ("WORK", StatusCode::CONFLICT),
        (&"é".repeat(60), StatusCode::OK),
        ("<b>&\"'", StatusCode::OK),
    ] {
        let came = world.post(&mut ann, "/createfolder", &[("csrf", &csrf), ("name", name)]).await;
        assert_eq!(came.status, status, "{name:?}");
    }
    assert!(world.read(&mut ann, "/folderlist").await.body.contains(">&lt;b&gt;&amp;&quot;'</a>"));
}

#[tokio::test]
async fn at_reduced_quality_there_is_less_and_it_is_marked_the_same() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let cookie = ann.cookie.clone().expect("signed in");
    let degraded = async |path: &str| {
        let request = http::Request::builder().uri(path).header(header::COOKIE, &cookie);
        let (head, ()) = request.body(()).expect("well-formed").into_parts();
        let route = world.arashi.route(&head);
        let (tags, peer) = (Tags::default(), ([127, 0, 0, 1], 1).into());
        let request = Request { id: JobId(1), entered: Timestamp::ZERO, tags, route, head, body: Bytes::new(), peer };
        let answer = world.arashi.degrade(&request).await?;
        let how = answer.headers()["x-degraded"].to_str().expect("text").to_owned();
        Some((String::from_utf8_lossy(&whole(answer.into_body()).await).into_owned(), how))
    };
    let rows = |page: &str| page.matches("data-do=\"show\"").count();
    let (list, how) = degraded("/list?folderid=1").await.expect("a list");
    assert_eq!((rows(&list), &*how), (3, "reduced"));
    // Once it was read whole, it is shown as it was: also what has been deleted since then, and only to its owner.
    let whole = world.read(&mut ann, "/list?folderid=1").await;
    assert!(whole.headers.get("x-degraded").is_none(), "this is all there is");
    let csrf = whole.hidden()["csrf"].clone();
    world.post(&mut ann, "/delete", &[("csrf", &csrf), ("folderid", "1"), ("message", "3")]).await;
    let (copy, how) = degraded("/list?folderid=1").await.expect("a list");
    assert_eq!((rows(&copy), &*how), (rows(&whole.body), "stale"));
    assert!(rows(&world.read(&mut ann, "/list?folderid=1").await.body) > 3);
    let (other, how) = degraded("/list?folderid=1&sort=size&dir=asc").await.expect("a list");
    assert_eq!((rows(&other), &*how), (3, "reduced"), "no copy has this order");
    let (message, how) = degraded("/show?folderid=1&entry=4").await.expect("a message");
    assert_eq!(how, "reduced");
    assert!(message.contains("<article data-message=\"4\"") && !message.contains("Text 4"));
    assert!(degraded("/search?q=a").await.is_none(), "a search is not made cheap");
}

#[tokio::test]
async fn work_is_done_where_it_is_asked_for() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let weights = BTreeMap::from([("show message".to_owned(), 2.0), ("list messages".to_owned(), 0.0)]);
    world.arashi.set_work(&WorkSpec { operations: 1.5, weights, ..WorkSpec::default() }).expect("is sensible");
    assert_eq!(world.arashi.store.do_work(3, 0, 1.0).await.expect("works"), 3);
    assert_eq!(world.arashi.store.do_work(2, 0, 1.0).await.expect("works"), 0);
    assert_eq!(world.read(&mut ann, "/show?folderid=1&entry=1").await.status, StatusCode::OK);
}

#[tokio::test]
async fn plants_know_how_often_a_page_waits_for_a_connection() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let csrf = world.read(&mut ann, "/folderlist").await.hidden()["csrf"].clone();
    let at = |path: &'static str, fields: &[(&'static str, &'static str)]| {
        let fields = fields.iter().map(|&(name, value)| (name, value.to_owned()));
        (path, fields.chain([("csrf", csrf.clone())]).collect::<Vec<_>>())
    };
    let pages = [
        at("/login", &[("user", "ann"), ("password", "a")]),
        at("/folderlist", &[]),
        at("/list?folderid=1", &[]),
        at("/show?folderid=1&entry=4", &[]),
        at("/search?folderid=1&scope=folder&q=subject+1", &[]),
        at("/refile", &[("folderid", "1"), ("message", "1"), ("to", "2")]),
        at("/delete", &[("folderid", "1"), ("message", "2")]),
        at("/createfolder", &[("name", "new")]),
        at("/deletefolder", &[("folderid", "3")]),
    ];
    let turns = || crate::store::TURNS.with(std::cell::Cell::get);
    for (path, fields) in pages {
        let before = turns();
        let came = if fields.len() == 1 {
            world.read(&mut ann, path).await
        } else {
            let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            // Signing in is no part of the session: it would end it.
            let mut new = Browser::default();
            world.post(if path == "/login" { &mut new } else { &mut ann }, path, &fields).await
        };
        assert_eq!(came.status, StatusCode::OK, "{path}: {}", came.body);
        let kind = service_core::mail::route(path.split('?').next().expect("a path")).kind;
        assert_eq!(turns() - before, service_core::mail::turns(kind), "{path}");
    }
}

//! The effect of a policy's quality figure on pages.

use super::*;

impl World {
    async fn read_at(&self, quality: f64, browser: &mut Browser, path: &str) -> Came {
        self.send_at(quality, browser, Method::GET, path, "").await
    }
}

impl Came {
    fn degraded(&self) -> Option<&str> {
        self.headers.get("x-degraded").map(|how| how.to_str().expect("text"))
    }
}

#[tokio::test]
async fn a_search_looks_through_the_newest_part_and_says_so() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let search = |text: &str| format!("/search?folderid=1&scope=folder&q={text}");
    // The messages 21 to 25 of 25.
    let part = world.read_at(0.2, &mut ann, &search("subject")).await;
    assert_eq!((part.status, part.links("show").len(), part.degraded()), (StatusCode::OK, 5, Some("newest 20%")));
    assert!(part.body.contains("newest 5 of 25 messages"), "{}", part.body);
    let older = world.read_at(0.2, &mut ann, &search("subject+3")).await;
    assert_eq!((older.links("show").len(), older.degraded()), (0, Some("newest 20%")));
    // The empty folders of all do not count.
    let all = world.read_at(0.2, &mut ann, "/search?scope=all&q=subject").await;
    assert_eq!((all.links("show").len(), all.degraded()), (5, Some("newest 20%")));
    let whole = world.read_at(1.0, &mut ann, &search("subject+3")).await;
    assert_eq!((whole.links("show").len(), whole.degraded()), (1, None));
    assert!(!whole.body.contains("is busy"));
}

#[tokio::test]
async fn a_list_is_shown_as_it_was_if_there_is_a_copy() {
    let world = world(false).await;
    let (mut ann, _) = world.sign_in("ann", "a").await;
    let newest = |came: &Came| came.links("show")[0].split("entry=").nth(1).expect("entry").to_owned();
    let first = world.read_at(0.9, &mut ann, "/list?folderid=1").await;
    assert_eq!((newest(&first).as_str(), first.degraded()), ("25", None), "there was no copy, so this is the list");
    let csrf = first.hidden()["csrf"].clone();
    world.post(&mut ann, "/delete", &[("csrf", &csrf), ("folderid", "1"), ("message", "25")]).await;
    let old = world.read_at(0.9, &mut ann, "/list?folderid=1").await;
    assert_eq!((newest(&old).as_str(), old.degraded()), ("25", Some("stale")));
    let now = world.read_at(1.0, &mut ann, "/list?folderid=1").await;
    assert_eq!((newest(&now).as_str(), now.degraded()), ("24", None));
    let fresh = world.read_at(0.9, &mut ann, "/list?folderid=1").await;
    assert_eq!((newest(&fresh).as_str(), fresh.degraded()), ("24", Some("stale")), "the copy of just now");
    let show = world.read_at(0.9, &mut ann, "/show?folderid=1&entry=24").await;
    assert!(show.degraded().is_none() && show.body.contains("Text 24"), "messages are as usual");
}

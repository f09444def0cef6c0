use proptest::prelude::*;

use super::*;

const LIST: &[u8] = br#"<!doctype html><title>x</title><body data-page="messages">
<a data-do="folders" href="/folderlist">Folders</a>
<form data-do="search" method="get" action="/search"><input type="hidden" name="folderid" value="7">
<input name="q"></form>
<form data-do="messages" method="post" action="/delete">
<input type="hidden" name="csrf" value="a&amp;b+c"><input type="hidden" name="folderid" value="7">
<table data-folder="7">
<tr><td><input type="checkbox" name="message" value="31"><td><a data-do="show" href="/show?folderid=7&amp;entry=31">a</a>
<tr><td><input type="checkbox" name="message" value="32"><td><a data-do="show" href="/show?folderid=7&amp;entry=32">b</a>
</table>
<button data-do="delete" formaction="/delete">Delete</button>
<select name="to"><option value="8">Archive</option><option value="9">Old</option></select>
<button data-do="refile" formaction="/refile">Refile</button>
</form>"#;

#[test]
fn it_reads_what_a_list_offers() {
    let page = ScannedPage::read(LIST);
    assert_eq!(page.kind(), PageKind::Messages);
    assert!(page.has_folder_table() && !page.offers_list());
    assert_eq!(page.folders().as_deref(), Some("/folderlist"));
    assert_eq!((page.shows(), page.show(1).as_deref()), (2, Some("/show?folderid=7&entry=32")));
    assert_eq!(page.show(2), None);

    let delete = page.delete().expect("it deletes");
    let mut body = String::new();
    assert!(!delete.push_hidden(&mut body), "no hidden field names a message");
    assert_eq!((delete.action(), body.as_str()), ("/delete", "csrf=a%26b%2Bc&folderid=7"));
    assert_eq!((delete.rows(), delete.row(0).as_deref(), delete.row(2)), (2, Some("31"), None));

    let refile = page.refile().expect("it refiles");
    assert_eq!((refile.action(), refile.folders()), ("/refile", 2));
    assert_eq!(refile.folder(1).as_deref(), Some("9"));

    let search = page.search().expect("it searches");
    let mut query = "/search?".to_owned();
    search.push_hidden(&mut query);
    assert_eq!((search.action(), query.as_str()), ("/search", "/search?folderid=7"));
    assert_eq!(search.rows(), 0, "the rows of another form are not its own");
}

#[test]
fn links_that_lead_elsewhere_are_none() {
    for href in ["http://elsewhere/", "//elsewhere/", "javascript:x()", "/a b", "/a&#13;&#10;X: y"] {
        let body = format!(r#"<body data-page="welcome"><a data-do="folders" href="{href}">"#);
        let page = ScannedPage::read(body.as_bytes());
        assert!(page.offers_folders());
        assert_eq!(page.folders(), None, "{href}");
    }
}

#[test]
fn references_become_characters() {
    assert_eq!(unescape(b"a&amp;b&lt;&#39;&#x41;&quot;&nope;&").as_deref(), Some("a&b<'A\"&nope;&"));
    assert_eq!(unescape(b"\xff"), None);
    let mut form = String::new();
    push_encoded(&mut form, "q", "a b&\u{e9}~");
    assert_eq!(form, "q=a+b%26%C3%A9%7E");
}

proptest! {
    #[test]
    fn no_page_breaks_the_scanner(cut in 0..LIST.len(), at in 0..LIST.len(), byte: u8) {
        let mut body = LIST[..cut].to_vec();
        if let Some(b) = body.get_mut(at) {
            *b = byte;
        }
        let page = ScannedPage::read(&body);
        let _ = (page.folders(), page.list(), page.message(), page.done());
        for number in 0..=page.shows() {
            let _ = page.show(number);
        }
        for form in [page.delete(), page.refile(), page.search()].into_iter().flatten() {
            form.push_hidden(&mut String::new());
            let _ = (form.row(form.rows()), form.folder(form.folders()));
        }
    }
}

use proptest::prelude::*;

use super::*;

fn cleaned(dirty: &str) -> String {
    clean(dirty).expect(dirty)
}

#[test]
fn what_mail_is_written_in_stays() {
    let mail =
        "<h1>Sale</h1><p>A <b>big</b> <i>one</i>:<br>50&nbsp;%</p><table><tbody><tr><td>1</td></tr></tbody></table>";
    assert_eq!(cleaned(mail), mail);
    assert_eq!(
        cleaned("<a href=\"https://example.org/?a=1&amp;b=2\" title=\"x\">y</a>"),
        "<a href=\"https://example.org/?a=1&amp;b=2\" title=\"x\" target=\"_blank\" rel=\"noopener noreferrer\">y</a>"
    );
    assert!(cleaned("<a href=mailto:a@b>x</a>").contains("href=\"mailto:a@b\""));
}

#[test]
fn images_keep_their_words_and_load_nothing() {
    let html = clean(concat!(
        "<img src=\"https://t.example/p.gif?u=7\" alt=\"our <logo>\" width=1 height=1>",
        "<img src=cid:part1><img srcset='//t.example/2x 2x' src=data:image/png;base64,AA==>",
        "<picture><source srcset=https://t.example/a><img src=https://t.example/b></picture>",
    ))
    .expect("clean");
    assert!(has_images(&html) && !has_images(&cleaned("&lt;img&gt; <p title=\"&lt;img\">x</p>")));
    assert_eq!(html, "<img alt=\"our &lt;logo&gt;\"><img><img><img>");
}

/// Ways to run, load, navigate or post that have worked somewhere, each with what may not be left of it.
const ATTACKS: &[(&str, &[&str])] = &[
    // scripts, plain and hidden from simple filters
    ("<script>steal()</script>", &["steal"]),
    ("<SCRIPT/x src=//t.example/a.js></SCRIPT>", &["t.example"]),
    ("<scr<script></script>ipt>steal()</scr</script>ipt>", &["<scr"]),
    ("<<script>script>steal()<</script>/script>", &["<script"]),
    ("<p onclick=steal() ONMOUSEOVER='steal()' on\nload=steal()>x", &["onclick", "ONMOUSE", "onload", "steal"]),
    ("<img/src=x/onerror=steal()>", &["onerror", "steal"]),
    ("<details open ontoggle=steal()>x</details>", &["ontoggle", "steal"]),
    ("<body onload=steal()>x", &["<body", "steal"]),
    // addresses that run
    ("<a href=javascript:steal()>x</a>", &["javascript", "steal"]),
    ("<a href=\" jAvA\tscr\nipt&#58;steal()\">x</a>", &["href", "steal"]),
    ("<a href=&#x6a;avascript&colon;steal()>x</a>", &["href", "steal"]),
    ("<a href=data:text/html;base64,PHNjcmlwdD4=>x</a>", &["data:"]),
    ("<a href=vbscript:steal()>x</a><a href=file:///etc/passwd>y</a>", &["vbscript", "file:"]),
    ("<a href=/logout>x</a><a href=//t.example>y</a><a href=?x>z</a>", &["href"]),
    ("<a ping=https://t.example/ href=https://ok.example>x</a>", &["ping"]),
    ("<a target=_self rel=opener href=https://ok.example>x</a>", &["_self", "\"opener"]),
    // styles that load, cover the page or run
    (
        "<style>@import 'https://t.example/a.css'; *{background:url(//t.example)}</style>x",
        &["@import", "url(", "t.example"],
    ),
    ("<p style=\"position:fixed;top:0;background:url(https://t.example/)\">x", &["style", "url("]),
    ("<p class=toolbar id=csrf name=csrf data-do=delete>x", &["class", "id=", "name", "data-"]),
    (
        "<link rel=stylesheet href=https://t.example/a.css><link rel=dns-prefetch href=//t.example>",
        &["<link", "t.example"],
    ),
    (
        "<table background=https://t.example/a><tr><td background=https://t.example/b>x</table>",
        &["background", "t.example"],
    ),
    // whole documents and what changes the meaning of the rest
    ("<base href=https://t.example/><a href=https://ok.example>x</a>", &["<base", "t.example"]),
    ("<meta http-equiv=refresh content='0;url=https://t.example/'>", &["<meta", "t.example"]),
    ("<html manifest=https://t.example/a><head profile=https://t.example/b>", &["t.example"]),
    ("<!--[if IE]><script>steal()</script><![endif]-->x", &["steal", "<!--"]),
    ("<?xml-stylesheet href='https://t.example/a.xsl'?>x", &["<?"]),
    // frames, plug-ins, media
    ("<iframe src=https://t.example srcdoc='<script>steal()</script>'></iframe>", &["<iframe", "t.example", "srcdoc"]),
    (
        "<object data=https://t.example/a><embed src=https://t.example/b></object><applet code=A>",
        &["<object", "<embed", "<applet", "t.example"],
    ),
    (
        "<video src=https://t.example poster=https://t.example/p><audio src=https://t.example autoplay>",
        &["<video", "<audio", "t.example"],
    ),
    ("<frameset onload=steal()><frame src=https://t.example></frameset>", &["<frame", "t.example"]),
    // forms that look like the page's own
    (
        "<form action=/delete method=post data-do=messages><input name=csrf><button formaction=https://t.example>go</button></form>",
        &["<form", "<input", "<button", "formaction", "/delete"],
    ),
    ("<textarea><script>steal()</script></textarea><select><option>a</select>", &["<textarea", "<select", "<script"]),
    ("<isindex action=https://t.example>", &["<isindex", "t.example"]),
    // other languages inside of HTML
    (
        "<svg onload=steal()><script>steal()</script><use href=data:x /><image href=https://t.example /></svg>",
        &["<svg", "<use", "<image", "t.example", "onload"],
    ),
    ("<svg><a><animate attributeName=href values=javascript:steal() /><text>x", &["<animate", "javascript"]),
    (
        "<math href=javascript:steal()><maction actiontype=statusline xlink:href=javascript:steal()>x</maction></math>",
        &["<math", "<maction", "javascript"],
    ),
    // text that parses differently the second time
    ("<noscript><p title=\"</noscript><img src=x onerror=steal()>\">", &["<noscript", "<img src"]),
    ("<svg></p><style><a id=\"</style><img src=1 onerror=steal()>\">", &["<svg", "<style", "<img src"]),
    (
        "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=steal()&gt;\">",
        &["<math", "<style", "<img src"],
    ),
    (
        "<form><math><mtext></form><form><mglyph><style></math><img src onerror=steal()>",
        &["<form", "<math", "<img src"],
    ),
    ("<template><script>steal()</script></template>", &["<template", "<script"]),
    ("<xmp><p title=\"</xmp><img src=x onerror=steal()>\"></xmp><plaintext><b>x", &["<xmp", "<plaintext", "<img src"]),
    ("<title><p title='</title><script>steal()</script>'>", &["<title", "<script"]),
    (
        "<select><template><style><!--</style><a rel=\"--></style></template></select><img src=1 onerror=steal()>\">",
        &["<select", "<style", "<img src"],
    ),
    // bytes
    ("<img src=x\0 one\0rror=steal()>", &["onerror=", "src="]),
    ("<a href=\"java\0script:steal()\">x</a>", &["href"]),
];

#[test]
fn known_attacks_are_harmless() {
    for (attack, gone) in ATTACKS {
        let html = cleaned(attack);
        // What was inside of a quoted value may stay as a value or as text: look at tags and their attributes only.
        let tags = tags(&html).expect(attack);
        for left in *gone {
            // A bare word without a bracket must not be in any tag; one with a bracket must not be a tag.
            let found =
                tags.iter().any(|tag| tag.without_titles().to_ascii_lowercase().contains(&left.to_ascii_lowercase()));
            assert!(!found, "{left:?} is left of {attack:?}: {html:?}");
        }
        assert_allowed(&html).expect(attack);
        assert_eq!(cleaned(&html), html, "{attack:?} does not settle");
    }
}

/// A start tag of clean HTML.
struct Tag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

impl Tag<'_> {
    /// As HTML, without titles and alternative texts: they are words that are shown.
    fn without_titles(&self) -> String {
        let values = self.attributes.iter().filter(|(name, _)| !["title", "alt", "summary"].contains(name));
        let values: String = values.map(|(name, value)| format!(" {name}=\"{value}\"")).collect();
        format!("<{}{values}>", self.name)
    }
}

/// Reads HTML in the one form that the serialiser writes; anything else is an error, so that nothing is overlooked.
fn tags(html: &str) -> Result<Vec<Tag<'_>>, String> {
    let mut found = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let end = rest.find([' ', '>']).ok_or("a tag without an end")?;
        let name = &rest[..end];
        rest = &rest[end..];
        let mut attributes = Vec::new();
        while let Some(attribute) = rest.strip_prefix(' ') {
            let (key, value) = attribute.split_once("=\"").ok_or("an attribute without a value")?;
            let (value, after) = value.split_once('"').ok_or("a value without an end")?;
            attributes.push((key, value));
            rest = after;
        }
        rest = rest.strip_prefix('>').ok_or_else(|| format!("odd end of tag {name}: {rest}"))?;
        if let Some(closed) = name.strip_prefix('/') {
            if !attributes.is_empty() {
                return Err(format!("a closing tag {closed} with attributes"));
            }
            found.push(Tag { name: closed, attributes });
        } else {
            found.push(Tag { name, attributes });
        }
    }
    Ok(found)
}

/// The allow-list, stated a second time and independently of the cleaner's own.
fn assert_allowed(html: &str) -> Result<(), String> {
    const ELEMENTS: &str = "a abbr acronym article aside b bdi bdo blockquote br caption center cite code col colgroup data \
        dd del details dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hgroup hr i img ins kbd li mark nav \
        ol p pre q rp rt rtc ruby s samp small span strike strong sub summary sup table tbody td th thead time tfoot tr tt u \
        ul var wbr";
    const ATTRIBUTES: &str = "align alt char charoff cite cite colspan datetime dir headers href hreflang lang rel rowspan \
        scope size span start summary target title type value";
    for tag in tags(html)? {
        if !ELEMENTS.split_whitespace().any(|allowed| allowed == tag.name) {
            return Err(format!("element {}", tag.name));
        }
        for (name, value) in tag.attributes {
            if !ATTRIBUTES.split_whitespace().any(|allowed| allowed == name) {
                return Err(format!("attribute {name} of {}", tag.name));
            }
            if ["href", "cite"].contains(&name)
                && !["http://", "https://", "mailto:", "http:", "https:"]
                    .iter()
                    .any(|scheme| value.trim().to_ascii_lowercase().starts_with(scheme))
            {
                return Err(format!("{name}={value}"));
            }
            if name == "target" && value != "_blank" || name == "rel" && value != "noopener noreferrer" {
                return Err(format!("{name}={value}"));
            }
        }
    }
    Ok(())
}

/// HTML as nobody writes it: tags and attributes of all languages, opened and closed at random.
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn html_like() -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec![
        "a",
        "b",
        "i",
        "p",
        "div",
        "table",
        "tr",
        "td",
        "caption",
        "tbody",
        "li",
        "ul",
        "pre",
        "font",
        "nobr",
        "img",
        "br",
        "h1",
        "select",
        "option",
        "button",
        "form",
        "input",
        "svg",
        "math",
        "mtext",
        "mglyph",
        "annotation-xml",
        "foreignObject",
        "desc",
        "style",
        "title",
        "script",
        "noscript",
        "template",
        "textarea",
        "xmp",
        "plaintext",
        "iframe",
        "frameset",
        "body",
        "html",
        "head",
        "ruby",
        "rt",
        "dd",
        "dt",
        "marquee",
        "object",
        "image",
        "colgroup",
    ]);
    let attributes = prop::sample::select(vec![
        "",
        " href=https://x.example/",
        " href=javascript:x()",
        " src=https://x.example/a",
        " style=\"background:url(x)\"",
        " onclick=x()",
        " title=\"</p><script>\"",
        " title='--><img src=x onerror=x()>'",
        " id=a class=b",
        " align=left",
        " definitionurl=x",
        " encoding=text/html",
        " cite=javascript:x()",
        " /",
        " background=//x",
    ]);
    let texts = prop::sample::select(vec![
        "x",
        "\n",
        "<!--",
        "-->",
        "]]>",
        "<![CDATA[",
        "&lt;script&gt;",
        "&amp",
        "\"",
        "'",
        "<",
        ">",
        "</",
        "\0",
        "é",
    ]);
    let piece = prop_oneof![
        4 => (names.clone(), attributes).prop_map(|(name, attribute)| format!("<{name}{attribute}>")),
        3 => names.prop_map(|name| format!("</{name}>")),
        2 => texts.prop_map(str::to_owned),
        1 => ".{0,8}",
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn clean_html_is_on_the_allow_list_and_stays_as_it_is(dirty in html_like()) {
        let html = cleaned(&dirty);
        prop_assert_eq!(assert_allowed(&html), Ok(()), "{}", html);
        prop_assert_eq!(&cleaned(&html), &html);
    }

    #[test]
    fn text_becomes_only_text_and_links(text in "(.|[<>&\"'\n]|https?://[a-z.:/<>\"'&?=]{1,20}|javascript:x\\(\\)|a@b\\.c){0,20}") {
        let html = from_text(&text);
        for tag in tags(&html).map_err(TestCaseError::fail)? {
            prop_assert_eq!(tag.name, "a");
        }
        prop_assert_eq!(assert_allowed(&html), Ok(()), "{}", html);
        // No text is lost: without tags and escapes the result is the text.
        let shown = html.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text)).collect::<String>();
        let shown = shown.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        prop_assert_eq!(shown, text);
    }
}

#[test]
fn links_in_text() {
    let link =
        |href: &str, text: &str| format!("<a href=\"{href}\" rel=\"noopener noreferrer\" target=\"_blank\">{text}</a>");
    assert_eq!(
        from_text("See (https://example.org/a?b=1&c=2), or ask ada@example.org."),
        format!(
            "See ({}), or ask {}.",
            link("https://example.org/a?b=1&amp;c=2", "https://example.org/a?b=1&amp;c=2"),
            link("mailto:ada@example.org", "ada@example.org")
        )
    );
    assert_eq!(from_text("javascript://x ftp://x.example data:x"), "javascript://x ftp://x.example data:x");
    assert_eq!(from_text("<b> & \"c\""), "&lt;b&gt; &amp; &quot;c&quot;");
}

#[test]
fn what_costs_too_much_is_refused() {
    assert_eq!(clean(&"x".repeat(MAX_BYTES + 1)), Err(HtmlError::TooLong { bytes: MAX_BYTES + 1 }));
    assert_eq!(clean(&"<b>".repeat(MAX_DEPTH + 1)), Err(HtmlError::TooDeep));
    // The elements that another of their kind does not end, outside of what they belong to.
    for nested in ["<rt>", "<rp>", "<optgroup>", "<dl><dd>", "<x>", "<rb><rtc>", "<li><ul>"] {
        assert_eq!(clean(&nested.repeat(MAX_DEPTH + 1)), Err(HtmlError::TooDeep), "{nested}");
    }
    for closed_in_vain in ["<div><table></div></table>", "<div><marquee></div></marquee>", "<b><object></b></object>"] {
        assert_eq!(clean(&closed_in_vain.repeat(MAX_DEPTH + 1)), Err(HtmlError::TooDeep), "{closed_in_vain}");
    }
    let attributes = "a ".repeat(MAX_ATTRIBUTES + 1);
    for tag in [format!("<p {attributes}>"), format!("<p b='>' {attributes}>"), format!("<p {attributes}")] {
        assert_eq!(clean(&tag), Err(HtmlError::TooManyAttributes));
    }
    for flat in
        ["<p>x<br></p>", "<p>y<br>", "<tr><td>z<td>", "<li>w", "<b>v</b>", "<font><b>u</font></b>", "many words "]
    {
        assert!(clean(&flat.repeat(10_000)).is_ok(), "{flat}: long, and flat");
    }
}

#[test]
fn text_of_html() {
    assert_eq!(
        to_text(
            "<style>p{}</style><div>one</div><div>two <b>three</b></div><table><tr><td>a<td>b<tr><td>c</table>&lt;end"
        ),
        "one\n\ntwo three\n\na b\nc\n<end"
    );
}

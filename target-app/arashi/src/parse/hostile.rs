//! Hostile mail that takes parsers long: half a megabyte of HTML, or a megabyte of anything.

/// The longest HTML that is cleaned.
const HTML: usize = crate::html::MAX_BYTES;
/// The longest mail.
const MAIL: usize = 1 << 20;

/// As many repetitions of a piece as the length allows.
fn full(of: usize, piece: &str) -> String {
    piece.repeat(of / piece.len())
}

/// The same with numbered pieces.
fn numbered(of: usize, piece: impl Fn(usize) -> String) -> String {
    let mut all = String::new();
    for number in 0.. {
        let next = piece(number);
        if all.len() + next.len() > of {
            break;
        }
        all.push_str(&next);
    }
    all
}

/// Half of one, half of the other.
fn then(one: &str, other: &str) -> String {
    full(HTML / 2, one) + &full(HTML / 2, other)
}

/// As many open elements as the depth allows, and then the rest.
fn inside(open: &str, rest: &str) -> String {
    let open = open.repeat(500);
    let left = HTML - open.len();
    open + &full(left, rest)
}

/// Hostile HTML, each with a name.
#[expect(clippy::too_many_lines, reason = "a table of cases")]
pub(super) fn html() -> Vec<(String, String)> {
    let mut cases: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, html: String| cases.push((name.to_owned(), html));
    // Elements that another one of their kind does not end, and those that it does.
    for tag in [
        "rt",
        "rp",
        "rb",
        "rtc",
        "ruby",
        "optgroup",
        "option",
        "select",
        "div",
        "p",
        "li",
        "ul",
        "dd",
        "dl",
        "dt",
        "b",
        "a",
        "nobr",
        "font",
        "x",
        "table",
        "tr",
        "td",
        "caption",
        "colgroup",
        "col",
        "tbody",
        "button",
        "form",
        "h1",
        "pre",
        "marquee",
        "object",
        "applet",
        "template",
        "svg",
        "math",
        "mi",
        "mtext",
        "annotation-xml",
        "foreignObject",
        "desc",
        "title",
        "style",
        "script",
        "textarea",
        "xmp",
        "plaintext",
        "iframe",
        "noscript",
        "frameset",
        "frame",
        "body",
        "html",
        "head",
        "hr",
        "br",
        "img",
        "image",
        "input",
        "details",
        "summary",
        "dialog",
        "menu",
        "center",
        "blockquote",
        "address",
        "fieldset",
        "listing",
        "search",
        "selectedcontent",
    ] {
        add(&format!("<{tag}>"), full(HTML, &format!("<{tag}>")));
        add(&format!("</{tag}>"), full(HTML, &format!("</{tag}>")));
        add(&format!("<{tag}> then </i>"), then(&format!("<{tag}>"), "</i>"));
        add(&format!("<{tag}> then </x>"), then(&format!("<{tag}>"), "</x>"));
        add(&format!("<{tag}> then </{tag}>"), then(&format!("<{tag}>"), &format!("</{tag}>")));
        add(&format!("<{tag}> and </{tag}>"), full(HTML, &format!("<{tag}></{tag}>")));
        add(&format!("<{tag}> and <p>"), full(HTML, &format!("<{tag}><p>")));
        add(&format!("<{tag}> in 500 <div>"), inside("<div>", &format!("<{tag}>x</{tag}>")));
        add(&format!("<{tag}> in 500 <b>"), inside("<b>", &format!("<{tag}>x</{tag}>")));
        add(&format!("<{tag}> in a table"), format!("<table>{}", full(HTML - 7, &format!("<{tag}>x"))));
        add(&format!("<{tag}> in 500 <rt>"), inside("<rt>", &format!("<{tag}></x>")));
    }
    // Styles: opened again in each block, moved out of blocks, compared with each other.
    add("styles opened again", numbered(HTML / 10, |i| format!("<p><b a{i}>")) + &full(HTML / 10 * 9, "<p>x"));
    add("styles with numbers", numbered(HTML, |i| format!("<b a={i}>")));
    add("styles with numbers, ended", numbered(HTML, |i| format!("<b a={i}></b>")));
    add(
        "styles beside 480 others",
        numbered(HTML / 20, |i| if i < 480 { format!("<b a={i}>") } else { "<b c></b>".to_owned() }),
    );
    let many = numbered(4000, |i| format!(" a{i}"));
    add("styles with many attributes", numbered(HTML, |i| format!("<b x{i}{many}>")));
    add("styles with many attributes, ended", numbered(HTML, |i| format!("<b x{i}{many}></b>")));
    for crossed in [
        "<b><p></b>",
        "<a><div></a>",
        "<b><table></b>",
        "<i><b><div></i></b>",
        "<nobr><p><nobr>",
        "<a><table><a>",
        "<font><ul><li></font>",
    ] {
        add(&format!("crossed {crossed}"), full(HTML, crossed));
    }
    // Content that tables do not accept goes before them.
    for fostered in [
        "x<br>",
        "<b>x</b>",
        "<i></i>",
        "<input>",
        "<select></select>",
        "<p>",
        "&amp;",
        "x<tr>",
        "<b><tr>",
        "<tr>x<td>y",
    ] {
        add(&format!("in a table: {fostered}"), format!("<table>{}", full(HTML - 7, fostered)));
        add(
            &format!("beside many, in a table: {fostered}"),
            full(HTML / 2, "<br>") + "<table>" + &full(HTML / 2 - 7, fostered),
        );
    }
    // Attributes.
    add("attributes without white space", "<a ".to_owned() + &numbered(HTML - 3, |i| format!("a{i}=\"\"")));
    add("attributes with white space", "<a".to_owned() + &numbered(HTML - 2, |i| format!(" a{i}")));
    add("attributes with slashes", "<a".to_owned() + &numbered(HTML - 2, |i| format!("/a{i}")));
    add("attributes with brackets", "<a".to_owned() + &numbered(HTML - 2, |i| format!(" a{i}='<>'")));
    add("attributes after what is no tag", "</><a".to_owned() + &numbered(HTML - 5, |i| format!(" a{i}")));
    add("attributes of an end tag", "</a".to_owned() + &numbered(HTML - 3, |i| format!(" a{i}")) + ">");
    add("a thousand attributes", full(HTML, &("<p".to_owned() + &numbered(6000, |i| format!(" a{i}")) + ">")));
    add("attributes of html", numbered(HTML, |i| format!("<html a{i}>")));
    add("attributes of body", numbered(HTML, |i| format!("<body a{i}>")));
    add("one attribute again and again", full(HTML, "<p a a a a a a a a a a a a a a a a a a>"));
    add("a long attribute", format!("<p title=\"{}\">", full(HTML - 20, "x ")));
    add("a long address", format!("<a href=\"http://{}\">", full(HTML - 20, "%/")));
    add("many addresses", full(HTML, "<a href=\"http://a.example/?a=b#c\">x</a>"));
    add("many short addresses", full(HTML, "<a href=http:a>"));
    add("many styles", full(HTML, "<p style=\"a:b;c:d\">"));
    add("many ids", numbered(HTML, |i| format!("<p id=a{i}>")));
    // Characters.
    for text in [
        "&",
        "&amp;",
        "&#",
        "&#x41",
        "&a",
        "&notit;",
        "&CounterClockwiseContourIntegral",
        "<",
        "</",
        "<!",
        "<!-",
        "<!-->",
        "<?",
        ">",
        "\0",
        "\r",
        "\u{e9}",
        "\"",
        "<a ",
        "</a ",
        "<!--",
        "]]>",
        "<![CDATA[",
    ] {
        add(&format!("only {}", text.escape_debug()), full(HTML, text));
        add(&format!("in svg, only {}", text.escape_debug()), format!("<svg>{}", full(HTML - 5, text)));
        add(&format!("in a table, only {}", text.escape_debug()), format!("<table>{}", full(HTML - 7, text)));
        add(&format!("in a title, only {}", text.escape_debug()), format!("<title>{}", full(HTML - 7, text)));
        add(
            &format!("in an attribute, only {}", text.escape_debug()),
            format!("<p title='{}'>", full(HTML - 12, text)),
        );
    }
    add("a long reference", format!("&{}", full(HTML - 1, "a")));
    add("escaped again and again", full(HTML, "&amp;amp;"));
    add("white space", full(HTML, " \n\t"));
    add("words", full(HTML, "word "));
    // Dense and harmless.
    for flat in [
        "<p>x<br></p>",
        "<li>w",
        "<tr><td>z<td>",
        "<b>v</b>",
        "<font><b>u</font></b>",
        "<i>x</i> ",
        "<br>",
        "<img>",
        "<q>",
    ] {
        add(&format!("flat {flat}"), full(HTML, flat));
        add(&format!("a few of flat {flat}"), flat.repeat(10_000.min(HTML / flat.len())));
    }
    add("mixed", full(HTML, "<table><tr><td><b><rt><p><a href=x></table><i></b>&<svg><title></svg><ul><li>"));
    add("deep lists", full(HTML, "<ul><li>"));
    add("deep tables", full(HTML, "<table><tr><td>"));
    add("deep quotes", full(HTML, "<blockquote type=cite>"));
    add("longer than is cleaned", full(MAIL - 1000, "<rt>"));
    add("longer than is cleaned, ampersands", full(MAIL - 1000, "&"));
    cases
}

/// Whole messages, each with a name.
#[expect(clippy::too_many_lines, reason = "a table of cases")]
pub(super) fn mails() -> Vec<(String, Vec<u8>)> {
    let head = "From: a@example.org\nSubject: x\n";
    let html = html()
        .into_iter()
        .map(|(name, html)| (name, format!("{head}Content-Type: text/html; charset=utf-8\n\n{html}")));
    let room = MAIL - 1000;
    let mut cases: Vec<(String, String)> = html.collect();
    let mut add = |name: &str, text: String| cases.push((name.to_owned(), text));
    for text in [
        "a@",
        "a@b.c ",
        "http://",
        "www.",
        "://",
        "http://a.b/",
        "a.",
        "(",
        "((http://a",
        "mailto:a@b.c",
        "\u{301}",
        "\r",
        "\0",
        "x\n",
        ":\n",
        "a:b\n",
        "From \n",
    ] {
        add(&format!("plain text, {}", text.escape_debug()), format!("{head}\n{}", full(room, text)));
        let both = format!(
            "{head}Content-Type: multipart/mixed; boundary=b\n\n--b\n\n{}\n--b\nContent-Type: text/html\n\n<p>x\n--b--\n",
            full(MAIL / 4, text)
        );
        add(&format!("text beside HTML, {}", text.escape_debug()), both);
    }
    for word in [
        "=?utf-8?q?x?= ",
        "=?utf-8?b?eA==?= ",
        "=?",
        "a@b.c, ",
        "<",
        "(",
        "\"",
        "a:b;",
        "\\",
        "=?a?q?",
        "x ",
        "\u{e9}",
        "<a@b>,",
    ] {
        for header in ["Subject", "To", "From", "Date", "Received", "Content-Type", "Message-ID", "X"] {
            add(&format!("{header}: {}", word.escape_debug()), format!("{header}: {}\n{head}\nx", full(room, word)));
            add(
                &format!("folded {header}: {}", word.escape_debug()),
                format!("{header}: {}\n{head}\nx", full(room, &format!("{word}\n "))),
            );
        }
    }
    add("many headers", head.to_owned() + &numbered(room, |i| format!("X-{i}: y\n")) + "\nx");
    add("many received", full(room, "Received: from a by b; 1 Jan 2002 00:00:00 +0000\n") + head + "\nx");
    add(
        "many parts",
        format!(
            "{head}Content-Type: multipart/mixed; boundary=b\n\n{}",
            full(room, "--b\nContent-Type: text/html\n\n<rt>\n")
        ),
    );
    add("many boundaries", format!("{head}Content-Type: multipart/mixed; boundary=b\n\n{}", full(room, "--b\n\n")));
    add(
        "almost boundaries",
        format!("{head}Content-Type: multipart/mixed; boundary={}\n\n{}", "-".repeat(60), full(room, "-")),
    );
    add("quoted-printable", format!("{head}Content-Transfer-Encoding: quoted-printable\n\n{}", full(room, "=\n")));
    add(
        "quoted-printable, broken",
        format!("{head}Content-Transfer-Encoding: quoted-printable\n\n{}", full(room, "=")),
    );
    add(
        "base64",
        format!("{head}Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n{}", full(room, "PHJ0")),
    );
    add(
        "base64, an attachment",
        format!(
            "{head}Content-Type: x/y\nContent-Disposition: attachment\nContent-Transfer-Encoding: base64\n\n{}",
            full(room, "PHJ0\n")
        ),
    );
    add("utf-7", format!("{head}Content-Type: text/html; charset=utf-7\n\n{}", full(room, "+ADw-rt+AD4-")));
    add("iso-2022-jp", format!("{head}Content-Type: text/html; charset=iso-2022-jp\n\n{}", full(room, "\u{1b}$B")));
    add("utf-16", format!("{head}Content-Type: text/html; charset=utf-16\n\n{}", full(room, "<\0r\0t\0>\0")));
    add(
        "messages in messages",
        head.to_owned() + &"Content-Type: message/rfc822\n\n".repeat(240) + &full(room / 2, "x\n"),
    );
    add(
        "multiparts in multiparts",
        head.to_owned()
            + &numbered(20_000, |i| format!("Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n"))
            + &full(room / 2, "--b\n"),
    );
    cases.into_iter().map(|(name, text)| (name, text.into_bytes())).collect()
}

use nix::time::{ClockId, clock_gettime};
use proptest::prelude::*;

use super::*;
use crate::html::HtmlError;

const NOON: i64 = 1_027_944_000; // 2002-07-29 12:00:00 UTC: 11 897 days and a half after 1970-01-01

fn read(raw: &str) -> NewMessage {
    parse(raw.as_bytes(), None).expect(raw)
}

/// A message with these headers and the body "Hello".
fn with(headers: &str) -> NewMessage {
    read(&format!("{headers}\nSubject: s\n\nHello\n"))
}

#[test]
fn a_plain_message() {
    let mail = read(concat!(
        "From: Ada Lovelace <ada@example.org>\n",
        "To: Charles <cb@example.org>, lists@example.org\n",
        "Cc: Mary <ms@example.org>\n",
        "Date: Mon, 29 Jul 2002 14:00:00 +0200\n",
        "Subject: Notes\n on the engine\n",
        "Message-ID: <1@example.org>\n",
        "X-Mailer: pine\n",
        "\n",
        "Dear Charles,\r\n\tsee below.\n"
    ));
    assert_eq!(mail.sender, "Ada Lovelace <ada@example.org>");
    assert_eq!(mail.author, "Ada Lovelace");
    assert_eq!(mail.recipients, "Charles <cb@example.org>, lists@example.org, Mary <ms@example.org>");
    assert_eq!(mail.subject, "Notes on the engine");
    assert_eq!(mail.date, NOON);
    assert_eq!(mail.text, "Dear Charles,\n\tsee below.\n");
    assert!(mail.headers.contains("Subject: Notes on the engine\nMessage-ID: <1@example.org>\nX-Mailer: pine\n"));
    assert_eq!((mail.html, mail.attachments), (None, Vec::new()));
}

#[test]
fn size_and_hash_are_of_the_bytes_as_they_came() {
    let raw = b"Subject: caf\xe9\n\nbody";
    let mail = parse(raw, None).expect("readable");
    assert_eq!(mail.size, 19);
    assert_eq!(mail.digest, <[u8; 32]>::from(Sha256::digest(raw)));
    assert_eq!(mail.subject, "café");
}

#[test]
fn dates_as_they_come() {
    let date = |text: &str| with(&format!("Date: {text}")).date;
    assert_eq!(date("Mon, 29 Jul 2002 12:00:00 GMT"), NOON);
    assert_eq!(date("29 Jul 02 12:00:00 +0000"), NOON, "two digits");
    assert_eq!(date("Mon, 29 Jul 102 12:00:00 +0000"), NOON, "counted from 1900");
    assert_eq!(date("Mon, 29 Jul 2002 12:00:00"), NOON, "no zone");
    assert_eq!(date("Mon Jul 29 12:00:00 2002"), NOON, "as C prints it");
    assert_eq!(date("Mon Jul 29 12:00:00 EDT 2002"), NOON, "with a name of a zone, read as UTC");
    assert_eq!(date("Mon Jul 29 14:00:00 2002 +0200"), NOON);
    // 1980-01-01 is 10 years of 365 days and the leap days of 1972 and 1976 after 1970: 3652 days.
    assert_eq!(date("Tue, 1 Jan 1980 00:00:00 +0000"), 3652 * 86_400);
    // 2028-01-01 is 58 years and 14 leap days (1972 to 2024) after 1970: 21 184 days.
    assert_eq!(date("Sat, 1 Jan 2028 00:00:00 +0000"), 21_184 * 86_400);
}

#[test]
fn without_a_usable_date_the_next_best_is_taken() {
    let received =
        "Received: from a by b; Sun, 28 Jul 2002 12:00:00 +0000\nReceived: from c; 1 Jan 2001 00:00:00 +0000";
    for bad in ["", "Date: today\n", "Date: Mon, 99 Jul 2002 12:00:00 +0000\n", "Date: 1 Jan 1900 00:00:00 +0000\n"] {
        let mail = with(&format!("{bad}{received}"));
        assert_eq!(mail.date, NOON - 86_400, "{bad}");
        let mail = parse(format!("{bad}Subject: x\n\n").as_bytes(), Some(7)).expect("readable");
        assert_eq!(mail.date, 7, "{bad}");
    }
    assert_eq!(read("Subject: x\n\n").date, 0);
}

#[test]
fn eight_bit_headers_are_read_as_what_they_most_likely_are() {
    let latin1 = parse(b"From: Jos\xe9 <j@x>\nSubject: Gr\xfc\xdfe \x80 5\n\nna\xefve", None).expect("readable");
    assert_eq!(latin1.sender, "José <j@x>");
    assert_eq!(latin1.subject, "Grüße € 5");
    assert_eq!(latin1.text, "naïve");
    assert_eq!(read("Subject: Grüße\n\nnaïve").subject, "Grüße", "UTF-8 stays UTF-8");
    assert_eq!(with("X: =?iso-8859-1?Q?caf=E9?=").headers, "X: café\nSubject: s\n");
}

#[test]
fn charsets() {
    let body = |charset: &str, body: &[u8]| {
        let mut raw = format!("Subject: s\nContent-Type: text/plain; charset={charset}\n\n").into_bytes();
        raw.extend_from_slice(body);
        parse(&raw, None).expect("readable").text
    };
    assert_eq!(body("iso-8859-1", b"caf\xe9"), "café");
    assert_eq!(body("\"KOI8-R\"", b"\xf0\xd2\xc9\xd7\xc5\xd4"), "Привет");
    assert_eq!(body("shift_jis", b"\x83n\x83\x8D\x81["), "ハロー");
    assert_eq!(body("x-unknown", b"caf\xe9"), "café", "nobody knows it: Windows-1252");
    assert_eq!(body("us-ascii", "café".as_bytes()), "café", "not ASCII, and valid UTF-8");
}

#[test]
fn transfer_encodings_and_their_damage() {
    let body = |encoding: &str, body: &str| {
        read(&format!(
            "Subject: s\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: {encoding}\n\n{body}"
        ))
        .text
    };
    assert_eq!(body("quoted-printable", "caf=C3=A9 is=\n ok\n"), "café is ok\n");
    assert_eq!(body("Quoted-Printable", "1=2 and =ZZ\n"), "1=2 and =ZZ\n", "not quoted at all");
    assert_eq!(body("base64", "Y2Fmw6k=\n"), "café");
    assert_eq!(body("BASE64", "Y2Fmw6k=\n____\nlist footer\n"), "café____\nlist footer\n");
    assert_eq!(body("8bit", "café"), "café");
    assert_eq!(body("x-nonsense", "as it is"), "as it is");
}

fn multipart(kind: &str, parts: &[&str]) -> String {
    let parts: String = parts.iter().map(|part| format!("--b\n{part}\n")).collect();
    format!("Subject: s\nMIME-Version: 1.0\nContent-Type: multipart/{kind}; boundary=\"b\"\n\npreamble\n{parts}--b--\n")
}

#[test]
fn text_and_html_of_an_alternative() {
    let mail = read(&multipart(
        "alternative",
        &["Content-Type: text/plain\n\nwords", "Content-Type: text/html\n\n<p onclick=x()>words<script>1</script></p>"],
    ));
    assert_eq!(mail.text, "words");
    assert_eq!(mail.html.expect("HTML"), "<p>words</p>");
    assert_eq!(mail.attachments, []);
}

#[test]
fn html_alone_is_searchable_text_too() {
    let mail = read("Subject: s\nContent-Type: text/html\n\n<h1>Sale</h1> of &eacute;clairs");
    assert_eq!(mail.text.split_whitespace().collect::<Vec<_>>(), ["Sale", "of", "éclairs"]);
    assert_eq!(mail.html.expect("HTML"), "<h1>Sale</h1> of éclairs");
}

#[test]
fn a_list_footer_stays_below_the_html() {
    let mail =
        read(&multipart("mixed", &["Content-Type: text/html\n\n<b>hi</b>", "Content-Type: text/plain\n\n1 < 2\nbye"]));
    assert_eq!(mail.html.expect("HTML"), "<b>hi</b><div>1 &lt; 2<br>bye</div>");
}

#[test]
fn html_that_is_too_much_is_shown_as_text() {
    let deep = "<div>".repeat(html::MAX_DEPTH + 1) + "deep";
    let mail = read(&format!("Subject: s\nContent-Type: text/html\n\n{deep}"));
    assert_eq!((mail.html, mail.html_problem), (None, Some(HtmlError::TooDeep.to_string())));
    assert_eq!(mail.text, "deep");
}

#[test]
fn attachments() {
    let mail = read(&multipart(
        "mixed",
        &[
            "Content-Type: text/plain\n\nsee attached",
            "Content-Type: image/PNG; name=\"../../etc/pass\twd.png\"\nContent-Transfer-Encoding: base64\n\niVBORw==",
            "Content-Type: application/ms-tnef\nContent-Transfer-Encoding: base64\n\neJ8+Ig==",
            "Content-Type: text/plain\nContent-Disposition: attachment; filename*=utf-8''%e2%82%ac%20rates.txt\n\nEUR",
            "Content-Type: application/pgp-signature\n\nsigned",
            "Content-Type: message/rfc822\n\nFrom: a@b\nSubject: the old one\nContent-Type: text/plain\n\nold",
        ],
    ));
    assert_eq!(mail.text, "see attached");
    let found: Vec<_> =
        mail.attachments.iter().map(|a| (a.name.as_str(), a.kind.as_str(), a.content.as_slice())).collect();
    let old = b"From: a@b\nSubject: the old one\nContent-Type: text/plain\n\nold".as_slice();
    assert_eq!(
        found,
        [
            ("pass wd.png", "image/png", b"\x89PNG".as_slice()),
            ("winmail.dat", "application/ms-tnef", b"x\x9f>\"".as_slice()),
            ("€ rates.txt", "text/plain", b"EUR".as_slice()),
            ("attachment-4.asc", "application/pgp-signature", b"signed"),
            ("the old one.eml", "message/rfc822", old),
        ]
    );
}

#[test]
fn file_names_cannot_do_harm() {
    let name = |stated: &str| name::file_name(stated);
    assert_eq!(name("..\\..\\autoexec.bat").as_deref(), Some("autoexec.bat"));
    assert_eq!(name("/etc/passwd/").as_deref(), Some("passwd"));
    assert_eq!(name("a\r\nSet-Cookie: x=1").as_deref(), Some("a Set-Cookie_ x=1"));
    assert_eq!(name("invoice\u{202e}fdp.exe").as_deref(), Some("invoicefdp.exe"), "would read as invoice.exe.pdf");
    assert_eq!(name(".htaccess").as_deref(), Some("htaccess"));
    assert_eq!(name("\"><script>.html").as_deref(), Some("___script_.html"));
    for nothing in ["", "..", "/", " . ", "\u{0}\u{202e}"] {
        assert_eq!(name(nothing), None, "{nothing:?}");
    }
    let long = name(&("x".repeat(500) + ".jpeg")).expect("a name");
    assert_eq!((long.chars().count(), long.ends_with("x….jpeg")), (120, true));
}

#[test]
fn headers_are_single_bounded_lines() {
    let mail = with(&format!("From: \"Ev\u{202e}il\u{7}\" <e@x>\nTo: {}", "someone@example.org, ".repeat(2000)));
    assert_eq!(mail.sender, "Evil <e@x>");
    assert_eq!(mail.recipients.chars().count(), 1000);
    assert!(mail.recipients.ends_with('…'));
    assert!(mail.headers.len() <= MAX_HEADER_TEXT);
    let encoded = with("From: =?utf-8?Q?a=0D=0ABcc:_b?= <e@x>");
    assert_eq!(encoded.author, "a Bcc: b");
}

#[test]
fn what_is_not_mail_says_so() {
    let problem = |raw: &[u8]| parse(raw, None).map(|_| ()).map_err(|e| e.label());
    assert_eq!(problem(b""), Err("empty"));
    assert_eq!(problem(b" \r\n\n"), Err("empty"));
    assert_eq!(problem(b"\x7fELF\x02\x01\x01\0\0\0"), Err("not mail"));
    assert_eq!(problem(b"{\"a\": 1}\n"), Err("not mail"));
    assert_eq!(problem(&vec![b'a'; MAX_BYTES + 1]), Err("too long"));
    let headers = "X: y\n".repeat(MAX_HEADER_BYTES / 5 + 1);
    assert_eq!(problem(format!("Subject: s\n{headers}\n").as_bytes()), Err("headers too long"));
    let lines = "a:\n".repeat(MAX_LINES_WITH_COLON + 1);
    assert_eq!(problem(format!("Subject: s\n\n{lines}").as_bytes()), Err("too many headers"));
}

/// Without the bound this overflows the stack when the message is dropped, which ends the process.
#[test]
fn messages_in_messages_have_a_bound() {
    let nested = |levels: usize, header: &str| format!("Subject: s\n{}\nend", format!("{header}\n\n").repeat(levels));
    let spaced = format!("Content-{}Type: message/rfc822", " ".repeat(300));
    for header in [
        "Content-Type: message/rfc822",
        "C on tent-TYPE\t: message/rfc822",
        "x: y\nContent-Type:message/(c)rfc822",
        &spaced,
    ] {
        let deep = parse(nested(50_000, header).as_bytes(), None);
        assert_eq!(deep, Err(ParseError::TooManyParts), "{header}");
    }
    let mail = read(&nested(MAX_MIME_HEADERS, "Content-Type: message/rfc822"));
    assert_eq!(mail.attachments.len(), 1);
    // Encoded, the levels cannot be counted beforehand: so nothing looks inside.
    let inner = nested(1000, "Content-Type: message/rfc822");
    let hex: String = inner.bytes().map(|b| format!("={b:02X}")).collect();
    let mail = read(&format!(
        "Subject: s\nContent-Type: message/rfc822\nContent-Transfer-Encoding: quoted-printable\n\n{hex}"
    ));
    assert_eq!(mail.attachments.len(), 1);
    assert_eq!(mail.attachments[0].content, inner.as_bytes());
}

/// Checking the bounds looks at each byte a fixed number of times: quadratic, this would take an hour.
#[test]
fn a_line_of_colons_is_soon_read() {
    for text in [":".repeat(1 << 20), " :".repeat(1 << 19), " ".repeat(1 << 20), "content-type".repeat(90_000)] {
        assert_eq!(read(&format!("Subject: s\n\n{text}")).subject, "s");
        let _ = parse(format!("Subject: s\nX: {}\n\n", &text[..MAX_HEADER_BYTES / 2]).as_bytes(), None);
    }
}

#[test]
fn broken_mime_loses_no_words() {
    for raw in [
        "Subject: s\nContent-Type: multipart/mixed; boundary=b\n\nnever a boundary: words",
        "Subject: s\nContent-Type: multipart/mixed\n\nno boundary named: words",
        "Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nnever closed: words",
        "Subject: s\nContent-Type: text/plain; charset\n\nwords",
        "Subject: s\nContent-Type: nonsense\n\nwords",
        "Subject: s\nContent-Type: multipart/alternative; boundary=b\n\n--b\n--b\n\nwords\n--b--",
    ] {
        let mail = read(raw);
        let attached = mail.attachments.iter().any(|a| a.content.ends_with(b"words"));
        assert!(mail.text.contains("words") || attached, "{raw}\n{mail:?}");
    }
}

#[test]
fn long_text_is_cut_and_says_so() {
    let mail = read(&format!("Subject: s\n\n{}", "é".repeat(MAX_TEXT_BYTES)));
    assert!(mail.text.ends_with("é\n[The rest of this message is not shown: it is too long.]"));
    assert!(mail.text.len() < MAX_TEXT_BYTES + 100);
    let mail = read("Subject: s\n\none\0 \u{1b}[31mtwo\rthree\r\n");
    assert_eq!(mail.text, "one [31mtwo\nthree\n");
}

/// Pieces that MIME parsers trip over, in any order.
fn mail_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "From: a@b\n",
            "Subject: =?utf-8?B?",
            "?=",
            "\n\n",
            "\r\n\r\n",
            "--b",
            "--b--",
            "\n--b\n",
            "\n--b--\n",
            "Content-Type: multipart/mixed; boundary=b\n",
            "Content-Type: multipart/digest; boundary=\"b\"\n",
            "Content-Type: message/rfc822\n",
            "Content-Type: text/html; charset=utf-16\n",
            "Content-Type: text/plain; name*0*=utf-8''%e2",
            "Content-Disposition: attachment; filename=\"",
            "Content-Transfer-Encoding: base64\n",
            "Content-Transfer-Encoding: quoted-printable\n",
            "Date: ",
            "Received: from a by b;",
            "29 Jul 102 99:61:00 -9999\n",
            "=",
            "=\n",
            ">From ",
            "\0",
            "<b><i></b>",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_panics_and_everything_is_bounded(raw in mail_like(), received in any::<Option<i64>>()) {
        match parse(&raw, received) {
            Ok(mail) => {
                prop_assert_eq!(mail.size, raw.len() as i64);
                for line in [&mail.sender, &mail.author, &mail.recipients, &mail.subject] {
                    prop_assert!(!line.chars().any(char::is_control), "{:?}", line);
                    prop_assert!(line.chars().count() <= 2002);
                }
                prop_assert!(!mail.text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
                let attached: usize = mail.attachments.iter().map(|a| a.content.len()).sum();
                // A message inside of a broken message is counted at each level.
                prop_assert!(attached <= 4 * raw.len(), "{} of {}", attached, raw.len());
                for attachment in &mail.attachments {
                    prop_assert!(!attachment.name.contains(['/', '\\', '"', '\r', '\n', '\0']));
                    prop_assert!(!attachment.name.is_empty() && attachment.name.chars().count() <= 120);
                }
            }
            Err(problem) => prop_assert!(problem != ParseError::Unreadable, "{:?}", raw),
        }
    }
}

/// CPU time, so that it does not matter what else the machine does. A build without optimisation takes one case of 29, and may take
/// ten times as long.
#[test]
fn any_mail_up_to_a_megabyte_is_read_within_a_fifth_of_a_second() {
    let (every, bound) = if cfg!(debug_assertions) { (29, 2.0) } else { (1, 0.2) };
    let mut slowest = (0.0, String::new());
    let mut cases = 0;
    for (name, raw) in hostile::mails().into_iter().step_by(every) {
        assert!(raw.len() <= 1 << 20, "{name}");
        let before = cpu_time();
        let _ = parse(&raw, None);
        let took = cpu_time() - before;
        assert!(took < bound, "{name}: {took:.2} s");
        cases += 1;
        if took > slowest.0 {
            slowest = (took, name);
        }
    }
    println!("{cases} cases, the slowest {slowest:?}");
}

fn cpu_time() -> f64 {
    std::time::Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("this thread's time"))
        .as_secs_f64()
}

//! One generated message.
//!
//! Sizes follow a mixture of two lognormals, which gives approximately the median, mean, 90th and 99th percentile of
//! the public collections that it is modelled on (in bytes: SpamAssassin easy-ham-1: 3099, 3386, 5317, 11 680; a kernel
//! list of 12 794 messages: 2392, 3166, 4200, 17 495).

use std::fmt::Write as _;

use controllers::random::{Random, Seeded, seed_for};
use mail_parser::DateTime;
use service_core::mail::lognormal;
use sha2::{Digest, Sha256};

use super::words::{FIRST_NAMES, HOSTS, LAST_NAMES, LISTS, word};
use crate::{
    html,
    store::{NewAttachment, NewMessage},
};

/// Median (bytes) and sigma of most messages.
const USUAL: (f64, f64) = (2650.0, 0.45);
/// Median (bytes) and sigma of the large messages.
const LARGE: (f64, f64) = (9000.0, 0.7);
/// The share of large messages.
const LARGE_SHARE: f64 = 0.04;
/// The share of large messages that are large because of an attachment: 2 % of all. (In the collection 92 of 2499
/// messages are multipart.)
const ATTACHED_SHARE_OF_LARGE: f64 = 0.5;
/// Share of messages with HTML. (12 of 2499 in the collection, of the year 2002; mail has more since.)
const HTML_SHARE: f64 = 0.02;
/// Share of replies. (1266 of 2499 in the collection.)
const REPLY_SHARE: f64 = 0.5;
/// The smallest and the largest message, bytes: of easy-ham-1 and of the kernel list.
const SIZE: (f64, f64) = (700.0, 467_770.0);
/// The arrival of the first message (1 January 1999), seconds since 1970.
const FIRST_DATE: i64 = 915_148_800;
/// The period of arrivals, seconds: four years.
const SPAN: i64 = 4 * 365 * 86_400;
/// Columns at which text is wrapped.
const COLUMNS: usize = 72;

/// The messages of a corpus, oldest first.
#[derive(Debug)]
pub(super) struct Messages {
    random: Seeded,
    seed: u64,
    number: u32,
    date: i64,
    mean_gap: f64,
}

impl Messages {
    pub(super) fn new(seed: u64, count: u32) -> Self {
        let mean_gap = SPAN as f64 / f64::from(count.max(1));
        Self { random: Seeded::new(seed_for(seed, "messages")), seed, number: 0, date: FIRST_DATE, mean_gap }
    }

    pub(super) fn next(&mut self) -> NewMessage {
        let random = &mut self.random;
        self.number += 1;
        self.date += 1 + random.exponential(self.mean_gap) as i64;
        let large = random.uniform() < LARGE_SHARE;
        let (median, sigma) = if large { LARGE } else { USUAL };
        let size = lognormal(random, median, sigma).clamp(SIZE.0, SIZE.1) as usize;
        let attached = large && random.uniform() < ATTACHED_SHARE_OF_LARGE;
        let with_html = random.uniform() < HTML_SHARE;

        let (author, address) = person(random);
        let (_, reader) = person(random);
        let list = LISTS[random.below(LISTS.len() as u64) as usize];
        let subject = subject(random, list);
        let sender = format!("{author} <{address}>");
        let recipients = format!("{list}@lists.example.org, {reader}");
        let headers = format!(
            "Return-Path: <{address}>\nReceived: from mail{}.example.net by mx.example.org with ESMTP; {date}\n\
             Date: {date}\nFrom: {sender}\nTo: {recipients}\nSubject: {subject}\n\
             Message-Id: <{}.{}@example.net>\nList-Id: <{list}.lists.example.org>\nMime-Version: 1.0\n\
             Content-Type: {}\n",
            random.below(9),
            self.number,
            self.seed,
            if attached { "multipart/mixed; boundary=\"=-=\"" } else { "text/plain; charset=utf-8" },
            date = DateTime::from_timestamp(self.date).to_rfc822(),
        );
        let room = size.saturating_sub(headers.len()).max(20);
        let in_text = if attached { room.min(1200) } else { room };
        let text = text(random, in_text);
        let html = if with_html { html::clean(&as_html(&subject, &text)).ok() } else { None };
        let mut attachments = Vec::new();
        if attached {
            // Base64 turns three bytes into four on the wire, where sizes are counted.
            let content = (0..(room - in_text) * 3 / 4).map(|_| random.next_u64() as u8).collect();
            let name = format!("{}-{}.dat", word(random), self.number);
            attachments.push(NewAttachment { name, kind: "application/octet-stream".to_owned(), content });
        }
        NewMessage {
            digest: Sha256::digest(format!("generated/{}/{}", self.seed, self.number)).into(),
            date: self.date,
            author,
            subject,
            sender,
            recipients,
            size: (headers.len() + room) as i64,
            headers,
            text,
            html,
            html_problem: None,
            attachments,
        }
    }
}

fn person(random: &mut Seeded) -> (String, String) {
    let first = FIRST_NAMES[random.below(FIRST_NAMES.len() as u64) as usize];
    let last = LAST_NAMES[random.below(LAST_NAMES.len() as u64) as usize];
    let host = HOSTS[random.below(HOSTS.len() as u64) as usize];
    (format!("{first} {last}"), format!("{}.{}@{host}", first.to_lowercase(), last.to_lowercase()))
}

fn subject(random: &mut Seeded, list: &str) -> String {
    let mut subject = String::new();
    if random.uniform() < REPLY_SHARE {
        subject.push_str("Re: ");
    }
    let _ = write!(subject, "[{list}]");
    for _ in 0..3 + random.below(4) {
        let _ = write!(subject, " {}", word(random));
    }
    subject
}

/// Text of about this number of bytes: paragraphs of wrapped lines, some quoted, now and then a link.
fn text(random: &mut Seeded, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + COLUMNS);
    while text.len() < bytes {
        let quote = if random.uniform() < 0.25 { "> " } else { "" };
        let lines = 1 + random.below(7);
        for _ in 0..lines {
            let start = text.len();
            text.push_str(quote);
            while text.len() - start < COLUMNS - 8 {
                text.push_str(word(random));
                text.push(' ');
            }
            text.pop();
            text.push('\n');
        }
        if random.uniform() < 0.1 {
            let _ = writeln!(text, "See http://www.example.org/{}/{}.html", word(random), random.below(1000));
        }
        text.push('\n');
    }
    text.truncate(bytes);
    text
}

fn as_html(subject: &str, text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|p| p.replace('>', "&gt;"));
    let mut html = format!("<html><body><h1>{subject}</h1>");
    for paragraph in paragraphs {
        let _ = write!(html, "<p>{paragraph}</p>");
    }
    html.push_str("</body></html>");
    html
}

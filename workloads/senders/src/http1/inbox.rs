use super::{Budget, Http1Error, chunked::Chunked};

/// The largest number of header lines in a response.
pub const HEADERS_MAX: usize = 64;

/// Room for the header lines of one [`ReceivedResponse`], on the caller's stack.
pub type HeaderSpace<'b> = [(&'b str, &'b [u8]); HEADERS_MAX];

/// Size limits of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of status line and header lines; interim responses together may have as many again.
    pub head: usize,
    /// Bytes of the body, decoded.
    pub body: usize,
    /// Bytes of the body that anybody reads: the rest is counted and dropped.
    pub kept: usize,
}

impl Default for Limits {
    /// 64 KiB of head, 16 MiB of body, which is kept.
    fn default() -> Self {
        Self { head: 64 * 1024, body: 16 * 1024 * 1024, kept: usize::MAX }
    }
}

/// The progress of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// The response is complete: see [`Inbox::response`].
    Whole,
}

/// A complete response, borrowed from its [`Inbox`].
#[derive(Debug, Clone, Copy)]
pub struct ReceivedResponse<'a> {
    /// HTTP status.
    pub status: u16,
    /// Header lines in order.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The body, decoded, up to [`Limits::kept`].
    pub body: &'a [u8],
    /// The bytes of the body, kept or not.
    pub length: usize,
}

/// A buffer that receives one response after the other.
///
/// A host reads into [`room`](Self::room), reports how many bytes came ([`received`](Self::received)) or that the
/// connection has ended ([`ended`](Self::ended)), and takes the [`response`](Self::response) when it is complete.
/// [`clear`](Self::clear) begins the next one.
#[derive(Debug)]
pub struct Inbox {
    bytes: Vec<u8>,
    filled: usize,
    limits: Limits,
    head: Option<Head>,
    /// Header lines as positions in `bytes`: parsed once, though the buffer may move while the body arrives.
    lines: Vec<Line>,
    framing: Framing,
    /// The answer to a `HEAD` has no body, whatever its head says.
    bodiless: bool,
    /// Bytes of the interim responses before the final one.
    interim: usize,
    /// Bytes of the body that were dropped.
    forgotten: usize,
    budget: Budget,
    /// The bytes taken from the budget.
    taken: usize,
    /// The budget was exhausted while the buffer grew.
    starved: bool,
}

#[derive(Debug, Clone, Copy)]
struct Head {
    status: u16,
    length: usize,
    keep_alive: bool,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    name: (u32, u32),
    value: (u32, u32),
}

/// The framing of a body.
#[derive(Debug, Clone, Copy)]
enum Framing {
    Length { end: usize },
    Chunked(Chunked),
    UntilClose,
}

/// The free room offered to one read. One page list of the mail service fits.
const ROOM: usize = 8 * 1024;

/// A buffer that grew beyond this size for one large answer is freed: buffers outlive requests.
const KEPT: usize = 256 * 1024;

/// The largest free room offered for a body whose length is known: to one read, and where the body is not kept.
const ROOM_FOR_BODY: (usize, usize) = (1024 * 1024, 32 * 1024);

impl Inbox {
    /// An empty inbox.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            bytes: Vec::new(),
            filled: 0,
            limits,
            head: None,
            lines: Vec::with_capacity(16),
            framing: Framing::UntilClose,
            bodiless: false,
            interim: 0,
            forgotten: 0,
            budget: Budget::unbounded(),
            taken: 0,
            starved: false,
        }
    }

    /// Counts the inbox's memory against this budget from now on.
    #[must_use]
    pub fn sharing(mut self, budget: Budget) -> Self {
        self.give_back();
        self.budget = budget;
        self
    }

    /// Sets whether the next responses have bodies: those to a `HEAD` have none (RFC 9112, section 6.3).
    pub fn expect_body(&mut self, expected: bool) {
        self.bodiless = !expected;
    }

    /// The place for the next bytes. Never empty.
    pub fn room(&mut self) -> &mut [u8] {
        let (most, most_unkept) = ROOM_FOR_BODY;
        let wanted = match (self.framing, self.head) {
            (Framing::Length { end }, Some(head)) => {
                let kept = end - head.length <= self.limits.kept;
                end.saturating_sub(self.filled).clamp(1, if kept { most } else { most_unkept })
            }
            _ => 1,
        };
        if self.bytes.len() - self.filled < wanted.max(ROOM / 2) {
            self.grow(self.filled + wanted.max(ROOM));
        }
        &mut self.bytes[self.filled..]
    }

    /// Grows the buffer as far as the budget allows. When the budget is exhausted, there is room for one small read,
    /// after which the reader gets an error.
    fn grow(&mut self, length: usize) {
        let more = length - self.bytes.len();
        if self.budget.take(more) {
            self.taken += more;
            self.bytes.resize(length, 0);
        } else if self.bytes.len() == self.filled {
            self.starved = true;
            self.bytes.resize(self.filled + ROOM, 0);
        }
    }

    /// Takes in `count` bytes that were read into [`room`](Self::room).
    ///
    /// # Errors
    /// If the bytes are not an HTTP response, or exceed a limit.
    pub fn received(&mut self, count: usize) -> Result<Progress, Http1Error> {
        if self.starved {
            return Err(Http1Error::Memory(self.budget.bytes()));
        }
        self.filled += count;
        if self.head.is_none() && !self.parse_heads()? {
            return Ok(Progress::More);
        }
        self.advance_body()
    }

    /// Takes in the end of the connection.
    ///
    /// # Errors
    /// [`Http1Error::CutShort`] if the response is not delimited by the end of the connection.
    pub fn ended(&mut self) -> Result<Progress, Http1Error> {
        match (self.head, self.framing) {
            (Some(_), Framing::UntilClose) => Ok(Progress::Whole),
            _ => Err(Http1Error::CutShort),
        }
    }

    /// The response; `None` before its head is complete.
    #[must_use]
    pub fn response<'a>(&'a self, space: &'a mut HeaderSpace<'a>) -> Option<ReceivedResponse<'a>> {
        let head = self.head?;
        let text = |(from, to): (u32, u32)| &self.bytes[from as usize..to as usize];
        for (slot, line) in space.iter_mut().zip(&self.lines) {
            // httparse lets only token characters into a name, so the fallback is never taken.
            *slot = (std::str::from_utf8(text(line.name)).unwrap_or_default(), text(line.value));
        }
        let body = match self.framing {
            Framing::Length { end } => &self.bytes[head.length..end.min(self.filled)],
            Framing::Chunked(chunked) => &self.bytes[head.length..chunked.decoded],
            Framing::UntilClose => &self.bytes[head.length..self.filled],
        };
        let length = body.len() + self.forgotten;
        Some(ReceivedResponse { status: head.status, headers: &space[..self.lines.len()], body, length })
    }

    /// True if the connection may carry another request after this response: the server did not say `close`, the body
    /// had a known end, and no bytes came after it.
    #[must_use]
    pub fn reusable(&self) -> bool {
        self.head.is_some_and(|head| head.keep_alive) && self.end() == Some(self.filled)
    }

    /// True if bytes have come after the end of a response that does not end the connection: nobody asked for them.
    #[must_use]
    pub fn is_overfull(&self) -> bool {
        self.head.is_some_and(|head| head.keep_alive) && self.end().is_some_and(|end| end < self.filled)
    }

    /// The end of the response's body, where it is known.
    fn end(&self) -> Option<usize> {
        match self.framing {
            Framing::Length { end } => Some(end),
            Framing::Chunked(chunked) => Some(chunked.raw),
            Framing::UntilClose => None,
        }
    }

    /// Makes room for the next response.
    pub fn clear(&mut self) {
        self.filled = 0;
        self.head = None;
        self.framing = Framing::UntilClose;
        self.interim = 0;
        self.forgotten = 0;
        self.starved = false;
        if self.bytes.len() > KEPT || (self.bytes.len() > ROOM && self.budget.is_short()) {
            self.give_back();
        }
    }

    fn give_back(&mut self) {
        self.budget.give_back(std::mem::take(&mut self.taken));
        self.bytes = Vec::new();
    }

    /// Parses heads up to the final one: true when that is parsed. Interim ones are dropped together: a service may
    /// send thousands in one piece.
    fn parse_heads(&mut self) -> Result<bool, Http1Error> {
        let mut begins = 0;
        loop {
            let found = self.parse_head(begins)?;
            if let Found::Interim(length) = found {
                begins += length;
                self.interim += length;
                if self.interim > self.limits.head {
                    return Err(Http1Error::Interim(self.limits.head));
                }
                if begins < self.filled {
                    continue;
                }
            }
            self.bytes.copy_within(begins..self.filled, 0);
            self.filled -= begins;
            return Ok(matches!(found, Found::Final));
        }
    }

    /// Parses the head that begins at `begins`. Positions within a final head count from its own beginning.
    fn parse_head(&mut self, begins: usize) -> Result<Found, Http1Error> {
        let mut space = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Response::new(&mut space);
        let input = &self.bytes[begins..self.filled];
        // An alert's first bytes (RFC 8446, section 5.1).
        let not_http = |fault| if input.starts_with(&[21, 3]) { Http1Error::Tls } else { Http1Error::Head(fault) };
        let length = match parsed.parse(input).map_err(not_http)? {
            httparse::Status::Complete(length) if length <= self.limits.head => length,
            httparse::Status::Partial if input.len() <= self.limits.head => return Ok(Found::Part),
            httparse::Status::Complete(_) | httparse::Status::Partial => {
                return Err(Http1Error::HeadTooLong(self.limits.head));
            }
        };
        let status = parsed.code.unwrap_or_default();
        if status == 101 {
            return Err(Http1Error::Switched);
        }
        if (100..200).contains(&status) {
            return Ok(Found::Interim(length));
        }

        let said = Said::of(parsed.headers)?;
        self.lines.clear();
        for header in parsed.headers.iter() {
            let name = span(input, header.name.as_bytes());
            let value = span(input, header.value);
            self.lines.push(Line { name, value });
        }
        self.framing = match said {
            _ if status == 204 || status == 304 || self.bodiless => Framing::Length { end: length },
            Said { chunked: true, .. } => Framing::Chunked(Chunked::starting_at(length)),
            Said { other_coding: true, .. } | Said { length: None, .. } => Framing::UntilClose,
            Said { length: Some(body), .. } if body > self.limits.body => {
                return Err(Http1Error::BodyTooLong(self.limits.body));
            }
            Said { length: Some(body), .. } => Framing::Length { end: length + body },
        };
        let persistent = if parsed.version == Some(1) { !said.close } else { said.keep_alive && !said.close };
        // A message with both framings may be an attack on the next one (RFC 9112, section 6.1).
        let ambiguous = said.chunked && said.length.is_some();
        self.head = Some(Head { status, length, keep_alive: persistent && !ambiguous });
        Ok(Found::Final)
    }

    fn advance_body(&mut self) -> Result<Progress, Http1Error> {
        let begins = self.head.map_or(0, |head| head.length);
        let (whole, length) = match &mut self.framing {
            Framing::Length { end } => (self.filled >= *end, *end - begins),
            Framing::Chunked(chunked) => {
                let whole = chunked.advance(&mut self.bytes[..self.filled])?;
                if !whole {
                    // Undecoded bytes move up to the decoded ones, so that the framing takes no space.
                    self.bytes.copy_within(chunked.raw..self.filled, chunked.decoded);
                    self.filled -= chunked.raw - chunked.decoded;
                    chunked.raw = chunked.decoded;
                }
                (whole, chunked.decoded - begins)
            }
            Framing::UntilClose => (false, self.filled - begins),
        };
        if length + self.forgotten > self.limits.body {
            return Err(Http1Error::BodyTooLong(self.limits.body));
        }
        self.forget(begins);
        Ok(if whole { Progress::Whole } else { Progress::More })
    }

    /// Drops the received bytes of the body that begins at `begins`, beyond those that are kept.
    fn forget(&mut self, begins: usize) {
        let kept = begins.saturating_add(self.limits.kept);
        let here = match &mut self.framing {
            Framing::Length { end } => (*end).min(self.filled),
            Framing::Chunked(chunked) => chunked.decoded,
            Framing::UntilClose => self.filled,
        };
        let Some(too_much) = here.checked_sub(kept).filter(|bytes| *bytes > 0) else { return };
        self.bytes.copy_within(here..self.filled, kept);
        self.filled -= too_much;
        self.forgotten += too_much;
        match &mut self.framing {
            Framing::Length { end } => *end -= too_much,
            Framing::Chunked(chunked) => {
                chunked.decoded -= too_much;
                chunked.raw -= too_much;
            }
            Framing::UntilClose => {}
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// The bytes found where a head begins.
#[derive(Debug, Clone, Copy)]
enum Found {
    /// An incomplete head.
    Part,
    /// An interim response of this many bytes.
    Interim(usize),
    Final,
}

/// The position of `part` in `whole`. Heads are at most 64 KiB long, so `u32` holds it.
fn span(whole: &[u8], part: &[u8]) -> (u32, u32) {
    let from = part.as_ptr().addr() - whole.as_ptr().addr();
    (from as u32, (from + part.len()) as u32)
}

/// The framing and the fate of the connection, as the header lines state them.
#[derive(Debug, Clone, Copy, Default)]
struct Said {
    length: Option<usize>,
    chunked: bool,
    /// A transfer coding other than a final `chunked`.
    other_coding: bool,
    close: bool,
    keep_alive: bool,
}

impl Said {
    fn of(headers: &[httparse::Header<'_>]) -> Result<Self, Http1Error> {
        let mut said = Self::default();
        for header in headers {
            // The length distinguishes most names without a comparison.
            match header.name.len() {
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    let value = content_length(header.value)?;
                    if said.length.is_some_and(|other| other != value) {
                        return Err(Http1Error::ContentLength);
                    }
                    said.length = Some(value);
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    let last = tokens(header.value).last().unwrap_or_default();
                    said.chunked = last.eq_ignore_ascii_case(b"chunked");
                    said.other_coding = !said.chunked;
                }
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    for token in tokens(header.value) {
                        said.close |= token.eq_ignore_ascii_case(b"close");
                        said.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                _ => {}
            }
        }
        Ok(said)
    }
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// Digits only: `usize::from_str` would accept a plus sign. A list of equal values counts as one.
fn content_length(value: &[u8]) -> Result<usize, Http1Error> {
    let mut known = None;
    for token in tokens(value) {
        if token.is_empty() || !token.iter().all(u8::is_ascii_digit) {
            return Err(Http1Error::ContentLength);
        }
        let number = std::str::from_utf8(token).ok().and_then(|digits| digits.parse::<usize>().ok());
        let number = number.ok_or(Http1Error::ContentLength)?;
        if known.is_some_and(|other| other != number) {
            return Err(Http1Error::ContentLength);
        }
        known = Some(number);
    }
    known.ok_or(Http1Error::ContentLength)
}

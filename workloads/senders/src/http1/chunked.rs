use super::Http1Error;

/// The longest chunk-size line or trailer line, extensions included: longer ones do not occur in practice.
const LINE_MAX: usize = 8 * 1024;

/// A chunked body during its arrival, decoded in place: the decoded bytes end at `decoded`, the undecoded ones begin at
/// `raw`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunked {
    /// End of the decoded bytes.
    pub(super) decoded: usize,
    /// Start of the undecoded bytes.
    pub(super) raw: usize,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Size,
    Data {
        left: usize,
    },
    /// The CR LF after a chunk's data.
    DataEnd,
    Trailers,
}

impl Chunked {
    pub(super) fn starting_at(body: usize) -> Self {
        Self { decoded: body, raw: body, state: State::Size }
    }

    /// Decodes the bytes that have arrived; true when the body is complete.
    pub(super) fn advance(&mut self, bytes: &mut [u8]) -> Result<bool, Http1Error> {
        loop {
            let rest = &bytes[self.raw..];
            match self.state {
                State::Size => match httparse::parse_chunk_size(rest) {
                    Ok(httparse::Status::Complete((line, size))) => {
                        self.raw += line;
                        let left = usize::try_from(size).map_err(|_| Http1Error::Chunk)?;
                        self.state = if left == 0 { State::Trailers } else { State::Data { left } };
                    }
                    Ok(httparse::Status::Partial) if rest.len() <= LINE_MAX => return Ok(false),
                    Ok(httparse::Status::Partial) | Err(_) => return Err(Http1Error::Chunk),
                },
                State::Data { left } => {
                    let here = left.min(rest.len());
                    bytes.copy_within(self.raw..self.raw + here, self.decoded);
                    self.raw += here;
                    self.decoded += here;
                    if here < left {
                        self.state = State::Data { left: left - here };
                        return Ok(false);
                    }
                    self.state = State::DataEnd;
                }
                State::DataEnd => match rest {
                    [b'\r', b'\n', ..] => {
                        self.raw += 2;
                        self.state = State::Size;
                    }
                    [] | [b'\r'] => return Ok(false),
                    _ => return Err(Http1Error::Chunk),
                },
                State::Trailers => match memchr::memchr(b'\n', rest) {
                    Some(end) => {
                        self.raw += end + 1;
                        if matches!(&rest[..end], [] | [b'\r']) {
                            return Ok(true);
                        }
                    }
                    None if rest.len() <= LINE_MAX => return Ok(false),
                    None => return Err(Http1Error::Chunk),
                },
            }
        }
    }
}

//! A strict parser of the chunked transfer coding (RFC 9112, section 7.1).

/// A chunked body during its arrival.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    at: At,
    /// The size of the chunk, then the rest of it.
    size: u64,
}

/// The progress of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress<'a> {
    /// All bytes belong to the body, and more follow.
    More,
    /// The body ended before these bytes.
    Ended(&'a [u8]),
    /// The body violates the grammar.
    Fault,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum At {
    /// The first digit of a size.
    #[default]
    Begin,
    Size,
    /// White space: only an extension may follow.
    BeforeExtension,
    Name {
        begun: bool,
    },
    AfterName,
    Value {
        begun: bool,
    },
    Quoted,
    QuotedPair,
    AfterQuoted,
    /// The end of the line with the size.
    LineFeed,
    Data,
    DataReturn,
    DataFeed,
    /// Lines after the last chunk; `begun`: the current line is not empty. The parser checks their content.
    Trailer {
        begun: bool,
    },
}

impl Chunks {
    pub(super) fn scan<'a>(&mut self, mut bytes: &'a [u8]) -> Progress<'a> {
        while let Some((&byte, rest)) = bytes.split_first() {
            match self.at {
                At::Data => {
                    let taken = usize::try_from(self.size).unwrap_or(usize::MAX).min(bytes.len());
                    self.size -= taken as u64;
                    if self.size == 0 {
                        self.at = At::DataReturn;
                    }
                    bytes = &bytes[taken..];
                    continue;
                }
                At::Trailer { begun: false } if byte == b'\n' => return Progress::Ended(rest),
                _ => {}
            }
            match self.next(byte) {
                Some(at) => self.at = at,
                None => return Progress::Fault,
            }
            bytes = rest;
        }
        Progress::More
    }

    /// The state after a byte; `None` if the byte is not allowed here.
    fn next(&mut self, byte: u8) -> Option<At> {
        let blank = matches!(byte, b' ' | b'\t');
        Some(match (self.at, byte) {
            (At::Begin | At::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = char::from(byte).to_digit(16)?;
                self.size = self.size.checked_mul(16)?.checked_add(u64::from(digit))?;
                At::Size
            }
            (At::Size | At::Name { begun: true } | At::Value { begun: true } | At::AfterQuoted, b'\r') => At::LineFeed,
            (
                At::Size
                | At::BeforeExtension
                | At::Name { begun: true }
                | At::AfterName
                | At::Value { begun: true }
                | At::AfterQuoted,
                b';',
            ) => At::Name { begun: false },
            (At::Size | At::BeforeExtension | At::Value { begun: true } | At::AfterQuoted, _) if blank => {
                At::BeforeExtension
            }
            (At::Name { begun: true } | At::AfterName, _) if blank => At::AfterName,
            (At::Name { begun: false } | At::Value { begun: false }, _) if blank => self.at,
            (At::Name { .. }, _) if is_token(byte) => At::Name { begun: true },
            (At::Name { begun: true } | At::AfterName, b'=') => At::Value { begun: false },
            (At::Value { begun: false }, b'"') => At::Quoted,
            (At::Value { .. }, _) if is_token(byte) => At::Value { begun: true },
            (At::Quoted, b'"') => At::AfterQuoted,
            (At::Quoted, b'\\') => At::QuotedPair,
            (At::Quoted | At::QuotedPair, b'\t' | b' '..=b'~' | 0x80..) => At::Quoted,
            (At::LineFeed, b'\n') if self.size == 0 => At::Trailer { begun: false },
            (At::LineFeed, b'\n') => At::Data,
            (At::DataReturn, b'\r') => At::DataFeed,
            (At::DataFeed, b'\n') => At::Begin,
            // The end of a trailer's line. The end of an empty line ends the body.
            (At::Trailer { .. }, b'\n') => At::Trailer { begun: false },
            (At::Trailer { begun }, b'\r') => At::Trailer { begun },
            (At::Trailer { .. }, _) => At::Trailer { begun: true },
            _ => return None,
        })
    }
}

/// `tchar` of RFC 9110, section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

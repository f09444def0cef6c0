//! Counts the attributes of a tag while it is read: the tokenizer compares each with all before it, and reports nothing
//! until the tag has ended.

use crate::html::{bounds::MAX_ATTRIBUTES, error::HtmlError};

/// Follows the tokenizer through the inside of a tag (the states from "tag open" on in the standard), beginning with a
/// `<` outside of one. Whether that was a tag is known from the tokens: none comes until a tag has ended, and one comes
/// soon where there is none. After a token the counter must begin anew.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    at: At,
    count: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Outside of a tag.
    #[default]
    Outside,
    /// After `<`.
    Open,
    /// After `</`.
    EndOpen,
    /// In another construct that began with `<`, such as a comment. Nothing in it is a tag until a token has come.
    Other,
    Name,
    BeforeAttribute,
    Attribute,
    AfterAttribute,
    BeforeValue,
    Quoted(u8),
    Unquoted,
}

impl Attributes {
    /// Takes the piece that the tokenizer reads next: a `<`, or text without one.
    pub(super) fn read(&mut self, piece: &str) -> Result<(), HtmlError> {
        for &byte in piece.as_bytes() {
            self.step(byte);
            if self.count > MAX_ATTRIBUTES {
                return Err(HtmlError::TooManyAttributes);
            }
        }
        Ok(())
    }

    fn step(&mut self, byte: u8) {
        let is_blank = matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ');
        self.at = match self.at {
            At::Outside if byte == b'<' => {
                self.count = 0;
                At::Open
            }
            At::Outside | At::Other => self.at,
            At::Open | At::EndOpen if byte.is_ascii_alphabetic() => At::Name,
            At::Open if byte == b'/' => At::EndOpen,
            At::EndOpen if byte == b'>' => At::Outside, // `</>` is ignored, and gives no token
            At::Open | At::EndOpen => At::Other,
            At::Name | At::BeforeAttribute | At::Attribute | At::AfterAttribute if byte == b'/' => At::BeforeAttribute,
            At::Name if is_blank => At::BeforeAttribute,
            At::Name => At::Name,
            At::Attribute if byte == b'=' => At::BeforeValue,
            At::AfterAttribute if byte == b'=' => At::BeforeValue,
            At::Attribute | At::AfterAttribute if is_blank => At::AfterAttribute,
            At::Attribute => At::Attribute,
            At::BeforeAttribute if is_blank => At::BeforeAttribute,
            At::BeforeAttribute | At::AfterAttribute => {
                self.count += 1;
                At::Attribute
            }
            At::BeforeValue if is_blank => At::BeforeValue,
            At::BeforeValue if matches!(byte, b'"' | b'\'') => At::Quoted(byte),
            At::BeforeValue | At::Unquoted if is_blank => At::BeforeAttribute,
            At::BeforeValue | At::Unquoted => At::Unquoted,
            At::Quoted(mark) if byte == mark => At::BeforeAttribute,
            At::Quoted(mark) => At::Quoted(mark),
        };
    }
}

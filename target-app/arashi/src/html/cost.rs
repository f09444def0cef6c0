//! The cost of cleaning HTML, and its bound.
//!
//! Parsing is linear for HTML as people write it and quadratic for much other HTML: many tags make the parser walk all
//! open elements, styles left open are opened again in every block, a tag's attributes are compared with each other,
//! and so on. Half a megabyte of these takes minutes. The rules of the parser decide which tags do that, and no list of
//! names gets them right. So the cost is measured: the HTML is parsed once before it is cleaned, into a tree that keeps
//! no content but counts every step that the parser takes in it, and parsing ends when the steps are used up. A clock
//! would also work, but would give another result on a busy machine.

mod attributes;
mod tree;

use std::cell::Cell;

use html5ever::{
    LocalName, QualName, TokenizerResult,
    buffer_queue::BufferQueue,
    local_name, ns,
    tendril::StrTendril,
    tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts},
    tree_builder::{TreeBuilder, TreeBuilderOpts, create_element},
};

use memchr::memchr_iter;

use self::{
    attributes::Attributes,
    tree::{Node, Tree},
};
use super::{
    bounds::{MAX_DEPTH, MAX_WORK},
    error::HtmlError,
};

/// Steps of a token outside of the tree.
const TOKEN: usize = 20;
/// Steps to read and write a character reference.
const REFERENCE: usize = 60;
/// The number of bytes read in the time of a step.
const BYTES: usize = 8;
/// The number of attributes compared in the time of a step.
const COMPARED: usize = 8;
/// Steps to compare an attribute of a style with that of another one.
const STYLE_ATTRIBUTE: usize = 16;

/// The remaining budget of a message.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new() -> Self {
        Self(MAX_WORK)
    }

    /// Charges the cost of parsing this HTML, as the inside of a `<div>` as the cleaner does, or returns why it must
    /// not be cleaned.
    pub(super) fn pay_for(&mut self, html: &str) -> Result<(), HtmlError> {
        let tokenizer = tokenizer(self.0);
        let watched = &tokenizer.sink;
        let queue = BufferQueue::default();
        let mut attributes = Attributes::default();
        for piece in pieces(html) {
            attributes.read(piece)?;
            watched.tree().spend(memchr_iter(b'&', piece.as_bytes()).count() * REFERENCE + piece.len() / BYTES);
            if let Some(problem) = watched.problem() {
                return Err(problem);
            }
            watched.told.set(false);
            queue.push_back(StrTendril::from_slice(piece));
            while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
            // A token that a `<` has completed belongs to the text before it.
            if watched.told.get() && piece != "<" {
                attributes = Attributes::default();
            }
        }
        tokenizer.end();
        watched.problem().map_or(Ok(()), Err)?;
        self.0 -= watched.tree().spent();
        Ok(())
    }
}

/// Cuts HTML into pieces: a `<`, the text up to the next one, and text that ends in `>`. So a tag begins with a piece,
/// and its token comes with the end of one.
fn pieces(html: &str) -> impl Iterator<Item = &str> {
    html.split_inclusive(['<', '>']).flat_map(|piece| match piece.strip_suffix('<') {
        Some(before) => [before, "<"],
        None => [piece, ""],
    })
}

fn tokenizer(budget: usize) -> Tokenizer<Watched> {
    let tree = Tree::new(budget);
    let inside = create_element(&tree, QualName::new(None, ns!(html), local_name!("div")), Vec::new());
    let builder = TreeBuilder::new_for_fragment(tree, inside, None, TreeBuilderOpts::default());
    let initial_state = Some(builder.tokenizer_state_for_context_elem(false));
    Tokenizer::new(
        Watched { builder, told: Cell::new(false) },
        TokenizerOpts { initial_state, ..TokenizerOpts::default() },
    )
}

/// The tree builder, which receives no more tokens once the budget is spent.
struct Watched {
    builder: TreeBuilder<Node, Tree>,
    /// True once a token has come.
    told: Cell<bool>,
}

impl Watched {
    fn tree(&self) -> &Tree {
        &self.builder.sink
    }

    fn problem(&self) -> Option<HtmlError> {
        if self.tree().depth() > MAX_DEPTH {
            return Some(HtmlError::TooDeep);
        }
        self.tree().is_spent().then_some(HtmlError::TooCostly)
    }

    /// Charges the cost of a tag outside of the tree.
    fn pay_for_tag(&self, tag: &Tag) {
        let attributes = tag.attrs.len();
        self.tree().spend(attributes * attributes / COMPARED);
        if tag.kind == TagKind::StartTag && is_style(&tag.name) {
            // It is compared with all open styles, of which there are at most as many as elements.
            self.tree().spend(self.tree().depth_now() * (1 + STYLE_ATTRIBUTE * attributes));
        }
    }
}

impl TokenSink for Watched {
    type Handle = Node;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Node> {
        if matches!(token, Token::ParseError(_)) {
            return TokenSinkResult::Continue;
        }
        self.told.set(true);
        self.tree().spend(TOKEN);
        if let Token::TagToken(tag) = &token {
            self.pay_for_tag(tag);
        }
        if self.problem().is_some() {
            return TokenSinkResult::Continue;
        }
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// True for an element that is opened again in the next block if the block that it was opened in ends before it:
/// "formatting" in the standard.
fn is_style(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("a")
            | local_name!("b")
            | local_name!("big")
            | local_name!("code")
            | local_name!("em")
            | local_name!("font")
            | local_name!("i")
            | local_name!("nobr")
            | local_name!("s")
            | local_name!("small")
            | local_name!("strike")
            | local_name!("strong")
            | local_name!("tt")
            | local_name!("u")
    )
}

#[cfg(test)]
mod tests;

//! A tree that counts the parser's steps. It keeps what the parser asks for (names, parents, children) and no text, and
//! its steps are those of the tree that the cleaner parses into.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    mem,
    rc::{Rc, Weak},
};

use html5ever::{
    Attribute, ExpandedName, QualName,
    interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink},
    local_name, ns,
    tendril::StrTendril,
};
use memchr::memchr2_iter;

/// Steps to make a node, and to drop it later.
const NODE: usize = 40;
/// Steps to store an attribute.
const ATTRIBUTE: usize = 10;
/// The number of bytes searched in the time of a step.
const SEARCHED: usize = 512;

/// A handle of a node, as the parser requires.
#[derive(Debug, Clone)]
pub(super) struct Node(Rc<Inside>);

#[derive(Debug)]
struct Inside {
    /// Empty for text, a comment, or the document.
    name: QualName,
    text: Option<Text>,
    attributes: Cell<usize>,
    is_integration_point: bool,
    /// The content of a `<template>`, which is not among its children.
    template: RefCell<Option<Node>>,
    parent: RefCell<Weak<Inside>>,
    children: RefCell<Vec<Node>>,
    /// Its depth when it was last inserted.
    depth: Cell<usize>,
}

/// The relevant measures of a text that will be written: the writer searches all of it again at each of its marks.
#[derive(Debug, Default)]
struct Text {
    bytes: Cell<usize>,
    marks: Cell<usize>,
}

impl Text {
    /// Appends text; returns the additional steps of writing.
    fn push(&self, text: &str) -> usize {
        let steps = || self.bytes.get() * self.marks.get() / (2 * SEARCHED);
        let before = steps();
        self.bytes.set(self.bytes.get() + text.len());
        // An ampersand, or the first byte of a possible non-breaking space.
        self.marks.set(self.marks.get() + memchr2_iter(b'&', 0xC2, text.as_bytes()).count());
        steps() - before
    }
}

/// Drops nodes iteratively: with recursion a deep tree would overflow the stack.
impl Drop for Inside {
    fn drop(&mut self) {
        let mut nodes = mem::take(self.children.get_mut());
        nodes.extend(self.template.take());
        while let Some(node) = nodes.pop() {
            nodes.append(&mut node.0.children.borrow_mut());
            nodes.extend(node.0.template.take());
        }
    }
}

impl Node {
    fn new(name: QualName, text: Option<Text>, attributes: usize, flags: &ElementFlags) -> Self {
        Self(Rc::new(Inside {
            name,
            text,
            attributes: Cell::new(attributes),
            is_integration_point: flags.mathml_annotation_xml_integration_point,
            template: RefCell::new(flags.template.then(|| Self::nameless(None))),
            parent: RefCell::default(),
            children: RefCell::default(),
            depth: Cell::new(0),
        }))
    }

    fn nameless(text: Option<Text>) -> Self {
        Self::new(QualName::new(None, ns!(), local_name!("")), text, 0, &ElementFlags::default())
    }

    fn parent(&self) -> Option<Self> {
        self.0.parent.borrow().upgrade().map(Self)
    }

    fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

/// The tree, and the rest of the budget.
#[derive(Debug)]
pub(super) struct Tree {
    document: Node,
    budget: usize,
    spent: Cell<usize>,
    deepest: Cell<usize>,
    newest: Cell<usize>,
}

impl Tree {
    pub(super) fn new(budget: usize) -> Self {
        let document = Node::nameless(None);
        Self { document, budget, spent: Cell::new(0), deepest: Cell::new(0), newest: Cell::new(0) }
    }

    pub(super) fn spend(&self, steps: usize) {
        self.spent.set(self.spent.get().saturating_add(steps));
    }

    pub(super) fn spent(&self) -> usize {
        self.spent.get()
    }

    pub(super) fn is_spent(&self) -> bool {
        self.spent() > self.budget
    }

    /// The deepest nesting so far.
    pub(super) fn depth(&self) -> usize {
        self.deepest.get()
    }

    /// The depth of the newest node.
    pub(super) fn depth_now(&self) -> usize {
        self.newest.get()
    }

    /// The node to insert after `before`; `None` if it is text that was merged: text after text is one text.
    fn unless_merged(&self, before: Option<&Node>, child: NodeOrText<Node>) -> Option<Node> {
        let text = match child {
            NodeOrText::AppendNode(node) => return Some(node),
            NodeOrText::AppendText(text) => text,
        };
        if let Some(before) = before.and_then(|before| before.0.text.as_ref()) {
            self.spend(1 + before.push(&text));
            return None;
        }
        let new = Text::default();
        self.spend(NODE + new.push(&text));
        Some(Node::nameless(Some(new)))
    }

    /// Inserts the node before the child at this index.
    fn insert(&self, parent: &Node, at: usize, child: Node) {
        *child.0.parent.borrow_mut() = Rc::downgrade(&parent.0);
        let depth = parent.0.depth.get() + 1;
        child.0.depth.set(depth);
        self.newest.set(depth);
        self.deepest.set(self.deepest.get().max(depth));
        parent.0.children.borrow_mut().insert(at, child);
    }

    /// The parent of a node, and its index there. The search visits all children before it.
    fn place(&self, node: &Node) -> Option<(Node, usize)> {
        let parent = node.parent()?;
        let at = parent.0.children.borrow().iter().position(|child| child.is(node))?;
        self.spend(parent.0.children.borrow().len());
        Some((parent, at))
    }
}

impl TreeSink for Tree {
    type Handle = Node;
    type Output = ();
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) {}

    fn parse_error(&self, _: Cow<'static, str>) {
        self.spend(1);
    }

    fn get_document(&self) -> Node {
        self.document.clone()
    }

    fn elem_name<'a>(&'a self, target: &'a Node) -> ExpandedName<'a> {
        self.spend(1);
        target.0.name.expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> Node {
        let values = attributes.iter().map(|attribute| ATTRIBUTE + Text::default().push(&attribute.value));
        self.spend(NODE + values.sum::<usize>());
        Node::new(name, None, attributes.len(), &flags)
    }

    fn create_comment(&self, _: StrTendril) -> Node {
        self.spend(NODE);
        Node::nameless(None)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Node {
        self.spend(NODE);
        Node::nameless(None)
    }

    fn append(&self, parent: &Node, child: NodeOrText<Node>) {
        let last = parent.0.children.borrow().last().cloned();
        if let Some(child) = self.unless_merged(last.as_ref(), child) {
            let end = parent.0.children.borrow().len();
            self.insert(parent, end, child);
        }
    }

    fn append_based_on_parent_node(&self, element: &Node, previous: &Node, child: NodeOrText<Node>) {
        if element.parent().is_some() {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {
        self.spend(NODE);
    }

    fn get_template_contents(&self, target: &Node) -> Node {
        let contents = target.0.template.borrow().as_ref().unwrap_or(target).clone();
        contents.0.depth.set(target.0.depth.get());
        contents
    }

    fn same_node(&self, one: &Node, other: &Node) -> bool {
        self.spend(1);
        one.is(other)
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Node, child: NodeOrText<Node>) {
        let Some((parent, at)) = self.place(sibling) else { return };
        let before = at.checked_sub(1).and_then(|before| parent.0.children.borrow().get(before).cloned());
        if let Some(child) = self.unless_merged(before.as_ref(), child) {
            self.remove_from_parent(&child);
            let end = parent.0.children.borrow().len();
            self.insert(&parent, at.min(end), child);
        }
    }

    fn add_attrs_if_missing(&self, target: &Node, attributes: Vec<Attribute>) {
        let all = target.0.attributes.get() + attributes.len();
        self.spend(ATTRIBUTE * all);
        target.0.attributes.set(all);
    }

    fn remove_from_parent(&self, target: &Node) {
        if let Some((parent, at)) = self.place(target) {
            parent.0.children.borrow_mut().remove(at);
            *target.0.parent.borrow_mut() = Weak::new();
        }
    }

    fn reparent_children(&self, node: &Node, new_parent: &Node) {
        let mut children = node.0.children.take();
        self.spend(children.len());
        for child in &children {
            *child.0.parent.borrow_mut() = Rc::downgrade(&new_parent.0);
        }
        new_parent.0.children.borrow_mut().append(&mut children);
    }

    fn is_mathml_annotation_xml_integration_point(&self, target: &Node) -> bool {
        target.0.is_integration_point
    }
}

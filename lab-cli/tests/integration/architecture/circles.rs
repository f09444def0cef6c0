//! No files or rooms of a crate import each other in a circle.
//!
//! *Files*: the source files of a crate. Tests are left out, whether inline or in files of their own.
//!
//! *Rooms*: of each folder its children, each with all that lies below it, and the file of the folder itself.
//!
//! *Imports*: file A imports file B of the same crate if A names an item that is defined in B, in a `use` or by a path
//! (`crate::`, `self::`, `super::`, a child module, or a module that A has imported). A path is followed through re-exports to
//! the file that defines the item: whoever takes `run::Cpus` imports `run/environment/cpus.rs`, not `run.rs`.
//!
//! *Not imports*: that a file declares a child module, or re-exports its items and does not use them itself; and that a file takes
//! from a module that it lies in the type whose `impl` it has: a large `impl` is spread over children.
//!
//! *Circle*: two files or more, each of which imports every other one, directly or through others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

type Segments = Vec<String>;

/// Where a path leads.
enum Found {
    Module(Segments),
    /// An item that is defined in the file of this module.
    Item(Segments),
}

/// A name that a file brings into its scope.
struct Import {
    path: Segments,
    name: String,
    public: bool,
}

/// A source file as a module. The crate's root has no segments.
#[derive(Default)]
struct Module {
    children: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths in its code.
    paths: BTreeSet<Segments>,
    /// Names of items that it defines.
    items: BTreeSet<String>,
    /// Names of the types of its `impl` blocks.
    extends: BTreeSet<String>,
    /// Names in its code, but for fields and methods.
    names: BTreeSet<String>,
}

/// Files that import each other in a circle, and how.
#[derive(Debug, Clone)]
pub(crate) struct Circle {
    /// Its files, as paths of modules.
    pub(crate) files: Vec<String>,
    /// `a -> b, c`, a line for each file.
    pub(crate) arrows: String,
}

/// The circles of files of the crate with this source folder.
pub(crate) fn of_files(source: &Path) -> Vec<Circle> {
    circles(&imports(&modules(source)))
}

/// The circles of rooms in the crate with this source folder, at every depth.
pub(crate) fn of_rooms(source: &Path) -> Vec<Circle> {
    let all = imports(&modules(source));
    let folders: BTreeSet<&[String]> =
        all.keys().flat_map(|file| (0..file.len()).map(|depth| &file[..depth])).collect();
    folders.into_iter().flat_map(|folder| circles(&rooms(&all, folder))).collect()
}

/// Which room of a folder imports which.
fn rooms(all: &BTreeMap<Segments, BTreeSet<Segments>>, folder: &[String]) -> BTreeMap<Segments, BTreeSet<Segments>> {
    let room = |file: &Segments| {
        file.starts_with(folder).then(|| file.iter().take(folder.len() + 1).cloned().collect::<Segments>())
    };
    let mut rooms: BTreeMap<Segments, BTreeSet<Segments>> = BTreeMap::new();
    for (from, to) in all {
        let Some(from) = room(from) else { continue };
        let others: BTreeSet<Segments> = to.iter().filter_map(room).filter(|to| *to != from).collect();
        others.iter().for_each(|other| _ = rooms.entry(other.clone()).or_default());
        rooms.entry(from).or_default().extend(others);
    }
    rooms
}

fn circles(imports: &BTreeMap<Segments, BTreeSet<Segments>>) -> Vec<Circle> {
    let reach: BTreeMap<&Segments, BTreeSet<&Segments>> =
        imports.keys().map(|from| (from, reach(imports, from))).collect();
    let mut found: BTreeMap<Vec<&Segments>, Circle> = BTreeMap::new();
    for (from, seen) in reach.iter().filter(|(from, seen)| seen.contains(*from)) {
        let files: Vec<&Segments> = seen.iter().filter(|to| reach[**to].contains(from)).copied().collect();
        let arrow = |from: &&Segments| {
            let to = imports[*from].iter().filter(|to| files.contains(to)).map(|to| to.join("::"));
            format!("{} -> {}", from.join("::"), to.collect::<Vec<_>>().join(", "))
        };
        let arrows = files.iter().map(arrow).collect::<Vec<_>>().join("\n");
        let names = files.iter().map(|file| file.join("::")).collect();
        found.insert(files, Circle { files: names, arrows });
    }
    found.into_values().collect()
}

/// All files that one imports, directly or through others.
fn reach<'a>(imports: &'a BTreeMap<Segments, BTreeSet<Segments>>, from: &Segments) -> BTreeSet<&'a Segments> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(next) = open.pop() {
        for to in imports.get(next).into_iter().flatten() {
            if seen.insert(to) {
                open.push(to);
            }
        }
    }
    seen
}

/// All modules below a crate's root, by their path.
fn modules(source: &Path) -> BTreeMap<Segments, Module> {
    let mut modules = BTreeMap::new();
    let mut open = vec![Segments::new()];
    while let Some(path) = open.pop() {
        let file = match &path[..] {
            [] => source.join("lib.rs"),
            segments => source.join(segments.join("/")).with_extension("rs"),
        };
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let module = read(&tokens(&text));
        open.extend(module.children.iter().map(|child| [&path[..], std::slice::from_ref(child)].concat()));
        modules.insert(path, module);
    }
    modules
}

/// Which file imports which.
fn imports(modules: &BTreeMap<Segments, Module>) -> BTreeMap<Segments, BTreeSet<Segments>> {
    let mut all = BTreeMap::new();
    for (path, module) in modules {
        let mut own = BTreeSet::new();
        let is_door = |import: &Import| import.public && !module.names.contains(&import.name);
        let named = module.imports.iter().map(|import| (&import.path, is_door(import)));
        for (named, is_door) in named.chain(module.paths.iter().map(|path| (path, false))) {
            let Some(Found::Item(to)) = resolve(modules, path, named, 0) else { continue };
            let is_re_exported = is_door && to.starts_with(path);
            let is_extended = path.starts_with(&to) && named.last().is_some_and(|name| module.extends.contains(name));
            if to != *path && !is_re_exported && !is_extended {
                own.insert(to);
            }
        }
        all.insert(path.clone(), own);
    }
    all
}

/// Where a path leads that stands in the file of a module; `None`: out of the crate, or to nothing that a reader of text can find.
fn resolve(modules: &BTreeMap<Segments, Module>, at: &Segments, path: &[String], depth: u8) -> Option<Found> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => follow(modules, Segments::new(), rest, depth),
        "self" => follow(modules, at.clone(), rest, depth),
        "super" => {
            let up = path.iter().take_while(|segment| *segment == "super").count();
            follow(modules, at[..at.len().checked_sub(up)?].to_vec(), &path[up..], depth)
        }
        name => {
            let module = &modules[at];
            let is_import = |import: &&Import| import.name == name && import.path[..] != *path;
            if module.children.contains(name) {
                follow(modules, at.clone(), path, depth)
            } else if let Some(import) = module.imports.iter().find(is_import) {
                through(modules, at, import, rest, depth)
            } else {
                None
            }
        }
    }
}

/// From a module on, segment by segment.
fn follow(modules: &BTreeMap<Segments, Module>, mut at: Segments, path: &[String], depth: u8) -> Option<Found> {
    for (index, segment) in path.iter().enumerate() {
        let module = modules.get(&at)?;
        if module.children.contains(segment) {
            at.push(segment.clone());
            continue;
        }
        if segment == "*" || module.items.contains(segment) {
            return Some(Found::Item(at));
        }
        if let Some(import) = module.imports.iter().find(|import| import.name == *segment) {
            return through(modules, &at, import, &path[index + 1..], depth);
        }
        let globs = module.imports.iter().filter(|import| import.name == "*" && import.public);
        let mut behind =
            globs.filter_map(|glob| match resolve(modules, &at, &glob.path[..glob.path.len() - 1], depth + 1) {
                Some(Found::Module(of)) if modules[&of].items.contains(segment) => Some(Found::Item(of)),
                _ => None,
            });
        return behind.next();
    }
    Some(Found::Module(at))
}

/// Through what a module has imported, and on.
fn through(
    modules: &BTreeMap<Segments, Module>,
    at: &Segments,
    import: &Import,
    rest: &[String],
    depth: u8,
) -> Option<Found> {
    // A chain of re-exports that is longer is a loop of names.
    if depth > 8 {
        return None;
    }
    match resolve(modules, at, &import.path, depth + 1)? {
        Found::Module(module) => follow(modules, module, rest, depth + 1),
        item @ Found::Item(_) => Some(item),
    }
}

/// What a file says.
fn read(tokens: &[String]) -> Module {
    const ITEMS: [&str; 8] = ["struct", "enum", "trait", "fn", "const", "static", "type", "union"];
    let mut module = Module::default();
    let mut at = 0;
    let is = |at: usize, token: &str| tokens.get(at).is_some_and(|found| found == token);
    while at < tokens.len() {
        if tokens[at..].iter().map(String::as_str).take(7).eq(["#", "[", "cfg", "(", "test", ")", "]"]) {
            at = end_of_item(tokens, at + 7);
        } else if is(at, "mod") && is(at + 2, ";") {
            module.children.insert(tokens[at + 1].clone());
            at += 3;
        } else if is(at, "use") && !is(at + 1, "<") {
            let end = at + tokens[at..].iter().position(|token| token == ";").unwrap_or(0);
            let public = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
            tree(&tokens[at + 1..end], &[], public, &mut module.imports);
            at = end + 1;
        } else if is(at, "impl") && (at == 0 || [";", "}", "]", "unsafe"].contains(&tokens[at - 1].as_str())) {
            let end = at + tokens[at..].iter().position(|token| token == "{" || token == ";").unwrap_or(0);
            module.extends.extend(extended(&tokens[at + 1..end]));
            at += 1;
        } else if ITEMS.contains(&tokens[at].as_str()) {
            module.items.extend(tokens.get(at + 1).cloned());
            at += 1;
        } else if is(at, "macro_rules") && is(at + 1, "!") {
            module.items.extend(tokens.get(at + 2).cloned());
            at += 2;
        } else if is_name(&tokens[at]) && is(at + 1, "::") {
            let mut path = vec![tokens[at].clone()];
            module.names.insert(tokens[at].clone());
            at += 1;
            while is(at, "::") && tokens.get(at + 1).is_some_and(|name| is_name(name)) {
                path.push(tokens[at + 1].clone());
                at += 2;
            }
            at += usize::from(is(at, "::"));
            module.paths.insert(path);
        } else {
            // No field, and nothing behind a dot.
            if is_name(&tokens[at]) && !is(at + 1, ":") && !(at > 0 && is(at - 1, ".")) {
                module.names.insert(tokens[at].clone());
            }
            at += 1;
        }
    }
    module
}

/// The name of the type that an `impl` with this head is of: neither its trait nor what its parameters are.
fn extended(head: &[String]) -> Option<String> {
    let mut depth = 0;
    let outer = head.iter().filter(|token| {
        depth += i32::from(*token == "<");
        let is_outer = depth == 0;
        depth -= i32::from(*token == ">");
        is_outer
    });
    let outer: Vec<&String> = outer.take_while(|token| *token != "where").collect();
    let of_type = outer.iter().position(|token| *token == "for").map_or(&outer[..], |at| &outer[at + 1..]);
    of_type.iter().rev().find(|token| is_name(token)).map(|token| (*token).clone())
}

/// The paths of a tree of imports.
fn tree(tokens: &[String], before: &[String], public: bool, imports: &mut Vec<Import>) {
    let mut path = before.to_vec();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "::" => {}
            "{" => {
                let inner = &tokens[at + 1..tokens.len() - 1];
                let mut depth = 0;
                let commas = |token: &String| {
                    depth += i32::from(token == "{") - i32::from(token == "}");
                    depth == 0 && token == ","
                };
                inner.split(commas).filter(|part| !part.is_empty()).for_each(|part| tree(part, &path, public, imports));
                return;
            }
            "as" => {
                imports.push(Import { path, name: tokens[at + 1].clone(), public });
                return;
            }
            // A module by itself.
            "self" if !path.is_empty() => {}
            name => path.push(name.to_owned()),
        }
        at += 1;
    }
    let name = path.last().cloned().unwrap_or_default();
    imports.push(Import { path, name, public });
}

/// The first token behind an item: behind its `;`, or its braces.
fn end_of_item(tokens: &[String], from: usize) -> usize {
    let (mut depth, mut at) = (0, from);
    while at < tokens.len() {
        match tokens[at].as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 && (tokens[at - 1] == ";" || tokens[at - 1] == "}") {
            // `use a::{b};` ends with its `;`.
            return at + usize::from(tokens.get(at).is_some_and(|next| next == ";"));
        }
    }
    at
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names, `::` and single characters; no comments, and no texts.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let (mut tokens, mut at) = (Vec::<String>::new(), 0);
    while at < chars.len() {
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        match chars[at] {
            '/' if next == '/' => at += chars[at..].iter().position(|&c| c == '\n').unwrap_or(chars.len() - at),
            '/' if next == '*' => at += 2 + chars[at + 2..].windows(2).position(|pair| pair == ['*', '/']).unwrap_or(0),
            '"' => at = end_of_text(&chars, at, tokens.last()),
            // A character, as no lifetime is.
            '\'' if next == '\\' => at += 3 + chars[at + 3..].iter().position(|&c| c == '\'').unwrap_or(0) + 1,
            '\'' if chars.get(at + 2) == Some(&'\'') => at += 3,
            ':' if next == ':' => {
                tokens.push("::".to_owned());
                at += 2;
            }
            c if c.is_alphanumeric() || c == '_' => {
                let name: String = chars[at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').collect();
                at += name.chars().count();
                tokens.push(name);
            }
            c => {
                if !c.is_whitespace() {
                    tokens.push(c.to_string());
                }
                at += 1;
            }
        }
    }
    tokens
}

/// The place behind a text that begins here. In a raw one (`r#"…"#`) a backslash is a backslash.
fn end_of_text(chars: &[char], from: usize, before: Option<&String>) -> usize {
    let hashes = chars[..from].iter().rev().take_while(|c| **c == '#').count();
    let is_raw = before.is_some_and(|token| token == "r" || token == "br")
        || (hashes > 0 && before.is_some_and(|token| token == "#"));
    let mut at = from + 1;
    while at < chars.len() {
        match chars[at] {
            '\\' if !is_raw => at += 1,
            '"' if !is_raw || chars[at + 1..].iter().take_while(|c| **c == '#').count() >= hashes => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at
}

#[test]
fn a_circle_is_found_through_a_re_export_and_with_a_parent() {
    let scratch = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    put("lib.rs", "mod a; mod b; mod c; pub use b::inner::Thing;");
    // A parent that uses its child, which extends the parent's own type.
    put("b.rs", "mod inner; pub struct Own; pub use inner::Thing as Renamed; fn f() { inner::g(); }");
    put("b/inner.rs", "use super::Own; pub struct Thing; impl Own {} pub fn g(_: Own) {}");
    // Comments, texts and tests import nothing.
    put(
        "c.rs",
        "//! crate::a::A\npub struct C; const T: &str = \"crate::a::A\"; #[cfg(test)] mod tests { use crate::a::A; }",
    );
    put("a.rs", "use crate::{Thing, c::C}; pub struct A(Thing, C);");
    assert_eq!(of_files(scratch.path()).len(), 0);
    put("b/inner.rs", "use super::Own; pub struct Thing; impl Own {} pub fn g(_: Own, _: crate::a::A) {}");
    let found = of_files(scratch.path());
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].files, ["a", "b::inner"]);
    assert_eq!(found[0].arrows, "a -> b::inner\nb::inner -> a");
    // A child that uses what its parent has, while that uses the child.
    put("b/inner.rs", "use super::Own; pub struct Thing; pub fn g(_: Own) {}");
    assert_eq!(of_files(scratch.path())[0].files, ["b", "b::inner"]);
    // The parent's trait is no type that the child extends, nor is the bound of a parameter.
    put("b.rs", "mod inner; pub trait Own {} pub use inner::Thing as Renamed; fn f() { inner::g(); }");
    for extends in ["impl Own for Thing {}", "impl<T: Own> Thing<T> {}"] {
        put("b/inner.rs", &format!("use super::Own; pub struct Thing; {extends} pub fn g() {{}}"));
        assert_eq!(of_files(scratch.path()).len(), 1, "{extends}");
    }
    // A door that does not use what it shows is none of it; one that does, is.
    put("b/inner.rs", "use super::Own; pub struct Thing; pub fn g(_: Own) {}");
    put("b.rs", "mod inner; pub struct Own; pub use inner::Thing;");
    assert_eq!(of_files(scratch.path()).len(), 0);
    put("b.rs", "mod inner; pub struct Own; pub use inner::Thing; fn f(_: Thing) {}");
    assert_eq!(of_files(scratch.path()).len(), 1);
}

#[test]
fn rooms_may_be_in_a_circle_though_no_files_are() {
    let scratch = tempfile::tempdir().expect("a folder");
    for folder in ["a", "b", "c/a", "c/b"] {
        fs::create_dir_all(scratch.path().join(folder)).expect("made");
    }
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "pub mod x; pub mod y;"),
        ("b.rs", "pub mod z;"),
        ("a/x.rs", "use crate::b::z::Z; pub struct X(Z);"),
        ("a/y.rs", "pub struct Y;"),
        ("b/z.rs", "use crate::a::y::Y; pub struct Z(Y);"),
        ("c.rs", "mod a; mod b;"),
        ("c/a.rs", "pub mod x; pub mod y;"),
        ("c/b.rs", "pub mod z;"),
        ("c/a/x.rs", "use crate::c::b::z::Z; pub struct X(Z);"),
        ("c/a/y.rs", "pub struct Y;"),
        ("c/b/z.rs", "use super::super::a::y::Y; pub struct Z(Y);"),
    ];
    for (name, text) in files {
        fs::write(scratch.path().join(name), text).expect("written");
    }
    assert_eq!(of_files(scratch.path()).len(), 0);
    let found = of_rooms(scratch.path());
    let files: Vec<_> = found.iter().map(|circle| circle.files.join(", ")).collect();
    assert_eq!(files, ["a, b", "c::a, c::b"]);
}

//! No long function and no wide struct.
//!
//! The rule is textual, and relies on rustfmt: what begins on a line ends on the first one after it that begins with a brace at
//! the same depth. Tests do not count, whether inline or in files of their own.

use std::{fs, path::Path};

use super::{root, sources};

/// Lines of a function, from its `fn` to its last brace.
const LONGEST_FUNCTION: usize = 80;
/// Fields of a struct that is more than plain data.
const MOST_FIELDS: usize = 12;

/// Longer functions and wider structs: file, name, and the reason why it is better so.
const MAY_BE_LARGE: [(&str, &str, &str); 0] = [];

#[test]
fn functions_fit_on_a_screen_and_structs_hold_what_belongs_together() {
    let (mut functions, mut structs, mut large) = (0, 0, Vec::new());
    for file in sources().filter(|file| !is_of_tests(file)) {
        let text = fs::read_to_string(root().join(&file)).expect("readable source");
        for item in items(&text) {
            let (size, most, unit) = match item.kind {
                Kind::Function => (item.lines.len(), LONGEST_FUNCTION, "lines"),
                Kind::Struct if item.is_plain_data() => continue,
                Kind::Struct => (item.fields().count(), MOST_FIELDS, "fields"),
            };
            *(if item.kind == Kind::Function { &mut functions } else { &mut structs }) += 1;
            if size > most {
                large.push((file.display().to_string(), item.name.to_owned(), size, unit));
            }
        }
    }
    assert!(functions > 3000 && structs > 300, "the search went wrong: {functions} functions, {structs} structs");
    let is_known = |file: &str, name: &str| MAY_BE_LARGE.iter().any(|(of, known, _)| *of == file && *known == name);
    let new: Vec<_> = large.iter().filter(|(file, name, ..)| !is_known(file, name)).collect();
    assert!(new.is_empty(), "take apart by what changes together, or say why not in MAY_BE_LARGE: {new:#?}");
    for (file, name, reason) in MAY_BE_LARGE {
        let is_large = large.iter().any(|(of, found, ..)| of == file && found == name);
        assert!(is_large, "{file}: {name} is not large any more ({reason}): take it out of MAY_BE_LARGE");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Function,
    Struct,
}

/// A function, or a struct with named fields.
#[derive(Debug)]
struct Item<'a> {
    kind: Kind,
    name: &'a str,
    /// From the first to the last brace.
    lines: Vec<&'a str>,
    /// The attributes and comments before it.
    above: Vec<&'a str>,
    /// What it is in, at the left edge, if anything.
    inside: Option<&'a str>,
}

impl<'a> Item<'a> {
    fn fields(&self) -> impl Iterator<Item = &'a str> {
        let depth = indent(self.lines[0]) + 4;
        let is_field = move |line: &&str| {
            let name = line.trim_start().trim_start_matches("pub").trim_start();
            let name = if name.starts_with('(') { name.split_once(") ").map_or("", |(_, rest)| rest) } else { name };
            let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '#');
            indent(line) == depth && name.split_once(": ").is_some_and(|(name, _)| !name.is_empty() && is_name(name))
        };
        self.lines.clone().into_iter().skip(1).filter(is_field)
    }

    /// Nothing but values side by side: every field is for all to read, or it is written to a file or read from the command line
    /// field by field, or it is a table of parameters or keys (`params!`, `table!`).
    fn is_plain_data(&self) -> bool {
        let is_open = self.fields().all(|line| line.trim_start().starts_with("pub "));
        let derives =
            |what| self.above.iter().any(|line| line.trim_start().starts_with("#[derive(") && line.contains(what));
        is_open || derives("Serialize") || derives("Args") || self.inside.is_some_and(|line| line.ends_with("! {"))
    }
}

/// What a text defines outside of its tests.
fn items(text: &str) -> Vec<Item<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut items, mut at, mut inside) = (Vec::new(), 0, None);
    while at < lines.len() {
        let line = lines[at];
        if indent(line) == 0 && !line.is_empty() {
            inside = Some(line);
        }
        if line.trim_start() == "#[cfg(test)]" {
            at = end(&lines, at + 1) + 1;
            continue;
        }
        if let Some((kind, name)) = begins(line) {
            let is_above = |line: &&&str| line.trim_start().starts_with(['#', '/']);
            items.push(Item {
                kind,
                name,
                lines: lines[at..=end(&lines, at)].to_vec(),
                above: lines[..at].iter().rev().take_while(is_above).copied().collect(),
                inside: inside.filter(|_| indent(line) > 0),
            });
        }
        at += 1;
    }
    items
}

/// The last line of what begins here.
fn end(lines: &[&str], from: usize) -> usize {
    let first = lines[from];
    if first.ends_with(';') || first.ends_with('}') {
        return from;
    }
    let is_end = |line: &str| {
        let rest = line.trim_start();
        indent(line) == indent(first) && (rest.starts_with('}') || (rest.starts_with(')') && rest.ends_with(';')))
    };
    (from + 1..lines.len()).find(|at| is_end(lines[*at])).unwrap_or(lines.len() - 1)
}

/// The name that a line begins to define as a function or a struct.
fn begins(line: &str) -> Option<(Kind, &str)> {
    let mut words = line.split_whitespace();
    let kind = loop {
        match words.next()? {
            "fn" => break Kind::Function,
            "struct" => break Kind::Struct,
            "const" | "async" | "unsafe" | "extern" | "\"C\"" => {}
            word if word.starts_with("pub") => {}
            _ => return None,
        }
    };
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = words.next()?.split(|c| !is_name(c)).next().filter(|name| !name.is_empty())?;
    (kind == Kind::Function || line.ends_with('{') || line.ends_with('>')).then_some((kind, name))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// True for the files of tests: those of a module, or inside of one, that is declared for tests alone.
fn is_of_tests(file: &Path) -> bool {
    file.ancestors().take_while(|path| !path.ends_with("src")).any(|path| {
        let above = path.parent().expect("below the root");
        let files = [above.with_extension("rs"), above.join("lib.rs"), above.join("main.rs")];
        let name = format!("mod {};", path.file_stem().expect("a name").display());
        let is_declared_for_tests = |text: String| {
            text.lines().zip(text.lines().skip(1)).any(|(attribute, line)| {
                attribute.starts_with("#[cfg(") && attribute.contains("test") && line.ends_with(&name)
            })
        };
        files.iter().filter_map(|file| fs::read_to_string(root().join(file)).ok()).any(is_declared_for_tests)
    })
}

#[test]
fn lines_and_fields_are_counted_without_tests_and_comments() {
    let text = "\
#[derive(Debug)]
pub(super) struct Wide<'a> {
    /// one: a comment
    pub(super) one: &'a str,
    two: BTreeMap<
        u8,
        u8,
    >,
}

#[derive(Debug, Serialize)]
struct Written {
    one: u8,
}

struct Unit;

params! {
    struct Table {
        one: u8 = 1;
    }
}

impl Wide<'_> {
    pub async fn long(
        &self,
    ) -> u8 {
        1
    }

    fn short(&self) -> u8 { 1 }
}

trait T {
    fn declared(
        &self,
    );
}

#[cfg(test)]
mod tests {
    fn not_counted() {}
}
";
    let items = items(text);
    let found: Vec<_> = items.iter().map(|item| (item.name, item.lines.len(), item.fields().count())).collect();
    let wanted =
        [("Wide", 8, 2), ("Written", 3, 1), ("Table", 3, 1), ("long", 5, 0), ("short", 1, 0), ("declared", 3, 0)];
    assert_eq!(found, wanted);
    let plain: Vec<bool> = items[..3].iter().map(Item::is_plain_data).collect();
    assert_eq!(plain, [false, true, true]);
    assert!(is_of_tests(Path::new("target-app/src/mail/parse/hostile.rs")));
    assert!(is_of_tests(Path::new("target-app/src/plant/conformance/live.rs")));
    assert!(!is_of_tests(Path::new("target-app/src/plant.rs")));
}

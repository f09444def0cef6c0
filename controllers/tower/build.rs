//! Writes a builder for each policy that a layer can host, from the catalogue.

use std::{env, fmt::Write as _, fs, path::Path};

use controllers::{
    Catalogue, Entry, Place,
    catalogue::{Param, ParamKind, Setting},
};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let hosted = |entry: &&'static Entry| {
        let has_place = entry.places.iter().any(|place| matches!(place, Place::Single | Place::Client | Place::Proxy));
        entry.is_policy() && has_place
    };
    let mut code = String::new();
    for entry in Catalogue::built_in().entries().filter(hosted) {
        builder(&mut code, entry);
    }
    let folder = env::var_os("OUT_DIR").expect("cargo names a folder for what is generated");
    fs::write(Path::new(&folder).join("policies.rs"), code).expect("the folder for what is generated is writable");
}

fn builder(code: &mut String, entry: &Entry) {
    // `None` would hide `Option::None` from who imports all builders.
    let name = if entry.name == "none" { "NoPolicy".to_owned() } else { pascal(entry.name) };
    let params = entry.params();
    for param in params.iter().filter(|param| param.kind == ParamKind::Choice) {
        choice(code, &name, param);
    }
    let caution = sentence(entry.caution);
    let source = format!("{}, {}", entry.source.title, entry.source.place);
    _ = writeln!(
        code,
        "/// `{}`: {}\n///\n/// When it fails: {caution}\n///\n/// Source: {}",
        entry.name,
        sentence(entry.about),
        sentence(&source)
    );
    for deviation in entry.deviations {
        _ = writeln!(code, "///\n/// Differs from it: {}", line(deviation));
    }
    _ = writeln!(
        code,
        "#[derive(Debug, Clone, Default)]\n#[must_use = \"a builder does nothing until a layer is made of it\"]\npub struct {name} {{\n    settings: Settings,\n}}\n"
    );
    _ = writeln!(code, "impl {name} {{");
    if !entry.presets.is_empty() {
        let presets: Vec<_> =
            entry.presets.iter().map(|preset| format!("`{}` ({})", preset.name, line(preset.about))).collect();
        _ = writeln!(
            code,
            "    /// Takes the defaults of a preset: {}.\n    pub fn preset(mut self, preset: &str) -> Self {{",
            presets.join("; ")
        );
        _ = writeln!(
            code,
            "        self.settings.insert(\"preset\".to_owned(), preset.into_setting());\n        self\n    }}\n"
        );
    }
    for param in &params {
        setter(code, &name, param);
    }
    _ = writeln!(code, "}}\n\nimpl From<{name}> for PolicyChoice {{\n    fn from(policy: {name}) -> Self {{");
    _ = writeln!(code, "        Self::named({:?}).settings(policy.settings)\n    }}\n}}\n", entry.name);
}

/// The words of a parameter as an enum.
fn choice(code: &mut String, policy: &str, param: &Param) {
    let name = format!("{policy}{}", pascal(param.name));
    _ = writeln!(code, "/// `{}` of [`{policy}`]: {}", param.name, sentence(param.about));
    _ = writeln!(code, "#[derive(Debug, Clone, Copy, PartialEq, Eq)]\n#[non_exhaustive]\npub enum {name} {{");
    let words: Vec<&str> = param.range.split(", ").collect();
    for word in &words {
        _ = writeln!(code, "    /// `{word}`.\n    {},", pascal(word));
    }
    _ = writeln!(
        code,
        "}}\n\nimpl IntoSetting for {name} {{\n    fn into_setting(self) -> Setting {{\n        match self {{"
    );
    for word in &words {
        _ = writeln!(code, "            Self::{} => {word:?}.into_setting(),", pascal(word));
    }
    _ = writeln!(code, "        }}\n    }}\n}}\n");
}

fn setter(code: &mut String, policy: &str, param: &Param) {
    let Param { name, about, kind, unit, range, default, source, .. } = param;
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    let default = match default {
        Ok(Setting::Text(text)) => text.clone(),
        Ok(Setting::Map(_)) => "an empty table".to_owned(),
        Ok(scalar) => format!("{scalar}{unit}"),
        Err(otherwise) => (*otherwise).to_owned(),
    };
    _ = writeln!(code, "    /// {}", sentence(about));
    _ = writeln!(
        code,
        "    ///\n    /// Range: {}{unit}. Default: {}. Source: {}",
        line(range),
        line(&default),
        sentence(source)
    );
    let table = |key: &str, key_type: &str, value_type: &str| {
        format!(
            "    pub fn {name}(mut self, {key}: {key_type}, value: {value_type}) -> Self {{\n        \
             set_in_table(&mut self.settings, {name:?}, {key}.to_string(), value.into_setting());\n        self\n    }}\n"
        )
    };
    let scalar = |value: &str| {
        format!(
            "    pub fn {name}(mut self, {name}: {value}) -> Self {{\n        \
             self.settings.insert({name:?}.to_owned(), {name}.into_setting());\n        self\n    }}\n"
        )
    };
    // A policy of its own: a name, or a builder of this module.
    let part = || {
        format!(
            "    pub fn {name}(mut self, {name}: impl Into<PolicyChoice>) -> Self {{\n        \
             self.settings.insert({name:?}.to_owned(), {name}.into().into_setting());\n        self\n    }}\n"
        )
    };
    let method = match kind {
        ParamKind::Number => scalar("f64"),
        ParamKind::Count => scalar("u32"),
        ParamKind::Time => scalar("Duration"),
        ParamKind::Flag => scalar("bool"),
        ParamKind::Choice => scalar(&format!("{policy}{}", pascal(name))),
        ParamKind::StageTimes => table("stage", "&str", "Duration"),
        ParamKind::ClassTimes => table("class", "u8", "Duration"),
        ParamKind::ClassNumbers => table("class", "u8", "f64"),
        ParamKind::CustomerNumbers => table("customer", "u32", "f64"),
        ParamKind::FlowNumbers => table("flow", "&str", "f64"),
        ParamKind::Part => part(),
    };
    _ = writeln!(code, "{method}");
}

/// `queue-length`, `limit_max` → `QueueLength`, `LimitMax`.
fn pascal(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
    };
    name.split(['-', '_', ' ', '.']).map(word).collect()
}

/// One line, which rustdoc does not take for a link or HTML.
fn line(text: &str) -> String {
    text.replace('\n', " ").replace('[', "\\[").replace(']', "\\]").replace('<', "\\<").replace('>', "\\>")
}

/// A line that begins with a capital letter and ends with a full stop.
fn sentence(text: &str) -> String {
    let line = line(text);
    let mut letters = line.chars();
    let first = letters.next().map_or_else(String::new, |first| first.to_uppercase().to_string());
    let line = first + letters.as_str();
    if line.is_empty() || line.ends_with('.') { line } else { line + "." }
}

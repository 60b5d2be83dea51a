//! The manual: a page for each policy kind and each diagnostic, in Markdown. `docs/` holds the same text.

use std::fmt::Write as _;

use bailiwick_access::risk;
use bailiwick_codes as codes;
use bailiwick_compiler::render;
use bailiwick_policy::kinds;
use bailiwick_workspace::Error;
use bailiwick_yaml::diag::{Code, DefaultSeverity, Diagnostic, nearest};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The name of the page about templates.
pub const TEMPLATES: &str = "templates";

/// The documentation of a policy kind, of a diagnostic or of templates, or the list of all pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ManualPage {
    /// The policy kind, the diagnostic, or `templates`; none for the list of all pages.
    pub name: Option<String>,
    /// The page, in Markdown.
    pub page: String,
}

impl ManualPage {
    /// Returns the list of all pages.
    pub fn index() -> Self {
        Self { name: None, page: index() }
    }

    /// Finds the page of a policy kind (in any case), of a diagnostic, of a risk rule, or of `templates`.
    ///
    /// # Errors
    /// When there is no such page; the error names the nearest one.
    ///
    /// # Examples
    /// ```
    /// use bailiwick_workspace::Error;
    /// use bailiwick_analysis::ManualPage;
    /// let page = ManualPage::find("tenancy")?;
    /// assert_eq!(page.name.as_deref(), Some("Tenancy"));
    /// assert!(ManualPage::find("tenacy").is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn find(word: &str) -> Result<Self, Error> {
        let found = kinds::names()
            .find(|name| name.eq_ignore_ascii_case(word))
            .and_then(|name| Some((name, kind(name)?)))
            .or_else(|| find_code(word).map(|found| (found.id(), code(found))))
            .or_else(|| (word == TEMPLATES).then(|| (TEMPLATES, render::page())));
        match found {
            Some((name, page)) => Ok(Self { name: Some(name.to_owned()), page }),
            None => Err(Error::invalid(unknown_page(word))),
        }
    }
}

/// Returns the code with an id, or the code of the risk rule with an id.
fn find_code(word: &str) -> Option<Code> {
    codes::find(word).or_else(|| Some(risk::of_id(&word.to_ascii_uppercase())?.code))
}

fn unknown_page(word: &str) -> Diagnostic {
    let rules = risk::all().map(|rule| rule.id);
    let names = kinds::names().chain(codes::all().iter().map(|code| code.id())).chain(rules).chain([TEMPLATES]);
    let help = nearest(word, names)
        .map_or_else(|| "`bailiwick explain` lists what there is".to_owned(), |near| format!("did you mean `{near}`?"));
    let message = format!("there is no policy kind, no diagnostic and no rule `{word}`");
    Diagnostic::error(codes::INVALID_USAGE, message).help(help)
}

fn index() -> String {
    let mut text = "# Policy kinds\n\n".to_owned();
    for name in kinds::names() {
        let _ = writeln!(text, "- `{name}`: {}", first_sentence(&description(&schema(name))));
    }
    let _ = write!(text, "\n# Topics\n\n- `{TEMPLATES}`: the form of the output\n\n# Diagnostics\n\n");
    for code in codes::all() {
        let _ = writeln!(text, "- `{}`: {}", code.id(), code.title());
    }
    text
}

/// Returns every page with its path below `docs/`.
pub fn pages() -> Vec<(String, String)> {
    let kinds = kinds::names().filter_map(|name| Some((format!("kinds/{}.md", name.to_lowercase()), kind(name)?)));
    let codes = codes::all().iter().map(|one| (format!("diagnostics/{}.md", one.id()), code(*one)));
    kinds.chain(codes).chain([(format!("{TEMPLATES}.md"), render::page())]).collect()
}

/// Returns the first sentence of the description of a kind.
pub fn summary(kind: &str) -> String {
    first_sentence(&description(&schema(kind)))
}

/// Returns the page of a diagnostic; for a risk rule with its condition and its risk severity.
fn code(code: Code) -> String {
    let mut text = format!("# {}\n\n{}.\n\n{}\n", code.id(), capitalised(code.title()), code.page());
    let Some(rule) = risk::of_code(code) else {
        let _ = write!(text, "\n## Severity\n\n{}\n", severity(code));
        return text;
    };
    let severities = match (rule.cluster, rule.namespace) {
        (Some(cluster), Some(namespace)) => format!("{cluster} cluster-wide, {namespace} in a namespace"),
        (Some(cluster), None) => format!("{cluster}, cluster-wide only"),
        (None, _) => "the severity of the granted permissions".to_owned(),
    };
    let ids: Vec<&str> = std::iter::once(rule.id).chain(rule.also.iter().copied()).collect();
    let ids = ids.join(", ");
    if rule.is_applied_while_compiling() {
        let by_command = format!("`lint --from` reports rule {ids}: {severities}.");
        let _ = write!(text, "\n## Severity\n\n{}\n\n{by_command}\n", severity(code));
        return text;
    }
    let _ = write!(text, "\n## Remedy\n\n{}.\n", capitalised(rule.help));
    let _ = write!(text, "\n## Rule\n\nRule {ids}: {severities}.");
    if let Some(condition) = rule.condition() {
        let condition = condition.replace("; ", ";\n");
        let _ = write!(text, " It is reported for a subject with these permissions:\n\n```text\n{condition}\n```");
    }
    text.push('\n');
    text
}

/// Describes the default severities of a code and the settings that `spec.diagnostics` takes for them.
fn severity(code: Code) -> String {
    let words: Vec<&str> = code.severities().iter().map(|severity| severity.words()).collect();
    let default = format!("Severity: {}.", words.join(" or "));
    let has = |severity| code.has(severity);
    match (code.is_warning(), has(DefaultSeverity::FailsCheck), has(DefaultSeverity::Error)) {
        (false, ..) => default,
        (true, false, false) => format!("{default} `spec.diagnostics` can set it to `error` or `ignore`."),
        (true, true, _) => format!("{default} `spec.diagnostics` can set it to `error`, `warning` or `ignore`."),
        (true, false, true) => {
            format!(
                "{default} `spec.diagnostics` can set the warning to `error` or `ignore`, and cannot lower the error."
            )
        }
    }
}

/// Returns the page of a kind, from its schema; none for a kind that is not there.
fn kind(name: &str) -> Option<String> {
    let schema = kinds::schema_of(name)?;
    let mut text = format!("# {name}\n\n{}\n\n## Fields of `spec`\n\n", description(&schema));
    let mut sections = Vec::new();
    fields(schema.pointer("/properties/spec")?, "spec", &mut text, &mut sections);
    let mut next = 0;
    while let Some((path, part)) = sections.get(next).cloned() {
        let _ = write!(text, "\n## Fields of `{path}`\n\n");
        fields(&part, &path, &mut text, &mut sections);
        next += 1;
    }
    Some(text)
}

/// Returns the title and the fields of the schema of a result, without the fields of objects among them. A result with several forms has a
/// list for each.
pub fn result(schema: &Value) -> String {
    let mut text = format!("{}\n\n", text_of(schema, "title"));
    fields(schema, "", &mut text, &mut Vec::new());
    for form in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
        let _ = write!(text, "\n{}\n\n", description(form));
        fields(form, "", &mut text, &mut Vec::new());
    }
    text
}

/// Lists the fields of an object; objects among them become sections of their own.
fn fields(schema: &Value, path: &str, text: &mut String, sections: &mut Vec<(String, Value)>) {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let (shape, part) = shape(field);
        let needed = if required.contains(&name.as_str()) { ", required" } else { "" };
        let about = description(field).replace("\n\n", "\n  ");
        let _ = writeln!(text, "- `{name}` ({shape}{needed}): {about}");
        if let Some((part, suffix)) = part {
            let path = format!("{path}.{name}{suffix}");
            if !sections.iter().any(|(_, known)| known == part) {
                sections.push((path, part.clone()));
            }
        }
    }
}

/// Describes the type of a field, and returns the object in it.
fn shape(field: &Value) -> (String, Option<(&Value, &'static str)>) {
    if let Some(words) = field.get("enum").and_then(Value::as_array) {
        let words: Vec<String> = words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
        return (words.join(" or "), None);
    }
    let types: Vec<&str> = match field.get("type") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => vec!["any value"],
    };
    match types.as_slice() {
        ["array"] => {
            let (items, part) = field.get("items").map_or(("any value".to_owned(), None), shape);
            (format!("list of {items}"), part.map(|(part, _)| (part, "[]")))
        }
        ["object"] if field.get("properties").is_some() => ("map".to_owned(), Some((field, ""))),
        ["object"] => {
            let values = field.get("additionalProperties").filter(|values| values.is_object());
            let (values, part) = values.map_or(("any value".to_owned(), None), shape);
            (format!("map of {values}"), part.map(|(part, _)| (part, ".*")))
        }
        _ => (types.join(" or "), None),
    }
}

fn schema(name: &str) -> Value {
    kinds::schema_of(name).unwrap_or_default()
}

fn description(schema: &Value) -> String {
    text_of(schema, "description")
}

fn text_of(schema: &Value, key: &str) -> String {
    schema.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn first_sentence(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    paragraph.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned()
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

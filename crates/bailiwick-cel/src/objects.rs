//! Objects with declared fields, such as an `object` of a known kind (k8s.io/apiserver v0.37.2
//! `pkg/cel/common/schemas.go` and `pkg/cel/types.go`).

use std::fmt;
use std::sync::Arc;

use super::types::Type;

/// The schema of a value, as far as expressions see it.
#[derive(Debug, Clone)]
pub enum ValueSchema {
    /// Without a restriction.
    Any,
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// Any number.
    Double,
    /// A text.
    String,
    /// Base64.
    Bytes,
    /// A date or a point in time.
    Timestamp,
    /// A length of time.
    Duration,
    /// A sequence with items of one schema.
    List(Box<ValueSchema>),
    /// A map from texts to values.
    Map(Box<ValueSchema>),
    /// An object with fields.
    Object(Arc<dyn Fields>),
}

/// The fields of an object.
pub trait Fields: fmt::Debug + Send + Sync {
    /// Returns the names of the fields, as objects have them, if there are few.
    fn names(&self) -> Vec<String>;

    /// Whether objects have a field of a name, also a field hidden from expressions.
    fn has(&self, name: &str) -> bool;

    /// Returns the schema of a field by its name; none for a hidden or unknown field.
    fn field(&self, name: &str) -> Option<ValueSchema>;
}

/// The type of an object with fields. Each place of a schema is a type of its own.
#[derive(Debug, Clone)]
pub struct ObjectType {
    /// The path of the place, such as `object.spec.containers[]`.
    path: String,
    fields: Arc<dyn Fields>,
}

impl Type {
    /// Returns the type of the values of a schema at a path, such as `object`.
    pub fn of_schema(schema: ValueSchema, path: &str) -> Type {
        match schema {
            ValueSchema::Any => Type::Dyn,
            ValueSchema::Bool => Type::Bool,
            ValueSchema::Int => Type::Int,
            ValueSchema::Double => Type::Double,
            ValueSchema::String => Type::String,
            ValueSchema::Bytes => Type::Bytes,
            ValueSchema::Timestamp => Type::Timestamp,
            ValueSchema::Duration => Type::Duration,
            ValueSchema::List(items) => Type::list(Type::of_schema(*items, &format!("{path}[]"))),
            ValueSchema::Map(values) => Type::map(Type::String, Type::of_schema(*values, &format!("{path}[]"))),
            ValueSchema::Object(fields) => Type::Object(Arc::new(ObjectType { path: path.to_owned(), fields })),
        }
    }
}

impl ObjectType {
    /// Returns the path of the objects, the name of the type.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the type of a field. Expressions use the escaped name; since 1.31 a reserved word may be written as it
    /// is.
    pub(super) fn field(&self, name: &str, takes_reserved_words: bool) -> Option<Type> {
        let field =
            if is_reserved(name) { Some(name.to_owned()).filter(|_| takes_reserved_words) } else { unescaped(name) }?;
        let schema = self.fields.field(&field)?;
        Some(Type::of_schema(schema, &format!("{}.{field}", self.path)))
    }

    /// Whether objects have a field hidden from expressions.
    pub(super) fn hides(&self, name: &str) -> bool {
        unescaped(name).is_some_and(|field| self.fields.has(&field) && self.fields.field(&field).is_none())
    }

    /// Returns the names of the visible fields, as expressions write them, if there are few.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.fields.names().into_iter();
        names.filter(|name| self.fields.field(name).is_some()).filter_map(|name| escaped(&name)).collect()
    }
}

/// The reserved words of CEL (k8s.io/apiserver v0.37.2 `pkg/cel/escaping.go`).
pub const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether CEL keeps a word for itself.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Returns the name of a field in expressions; none for a field without such a name.
fn escaped(name: &str) -> Option<String> {
    if is_reserved(name) {
        return Some(format!("__{name}__"));
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) || name.is_empty() {
        return None;
    }
    let mut escaped = String::new();
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '_' if letters.as_str().starts_with('_') => {
                letters.next();
                escaped.push_str("__underscores__");
            }
            '.' => escaped.push_str("__dot__"),
            '-' => escaped.push_str("__dash__"),
            '/' => escaped.push_str("__slash__"),
            letter if letter == '_' || letter.is_ascii_alphanumeric() => escaped.push(letter),
            _ => return None,
        }
    }
    Some(escaped)
}

/// Returns the field behind a name in expressions.
fn unescaped(name: &str) -> Option<String> {
    let inner = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    if let Some(word) = inner.filter(|word| is_reserved(word)) {
        return Some(word.to_owned());
    }
    const ESCAPES: [(&str, &str); 4] = [("underscores__", "__"), ("dot__", "."), ("dash__", "-"), ("slash__", "/")];
    let mut field = String::new();
    let mut rest = name;
    while let Some((before, behind)) = rest.split_once("__") {
        let (text, behind) = ESCAPES.iter().find_map(|(escape, text)| Some((*text, behind.strip_prefix(escape)?)))?;
        field.push_str(before);
        field.push_str(text);
        rest = behind;
    }
    field.push_str(rest);
    Some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_names() {
        let rows = [
            ("spec", Some("spec")),
            ("namespace", Some("__namespace__")),
            ("x-int", Some("x__dash__int")),
            ("a__b.c/d", Some("a__underscores__b__dot__c__slash__d")),
            ("a___b", Some("a__underscores___b")),
            ("$ref", None),
            ("1st", None),
            ("", None),
            ("größe", None),
        ];
        assert_eq!(unescaped("a__b"), None);
        for (name, expected) in rows {
            assert_eq!(escaped(name).as_deref(), expected, "{name}");
            assert_eq!(expected.and_then(unescaped).as_deref(), expected.map(|_| name), "{name}");
        }
    }
}

//! Texts with variables: `tool-{name}`.

use std::cell::RefCell;
use std::sync::Arc;

use super::texts::shared_text;
use super::{Account, Data, Target};

/// A text with places for variables. `{name}` takes an account's value, `{target.x}` a target's, and `{{` and
/// `}}` stand for single braces. A text with `{name?}` exists only with a value of the variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    pieces: Pieces,
}

/// The pieces of a pattern. Most patterns of a workspace are one text, and have no list of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pieces {
    One(Piece),
    /// None, or more than one.
    Many(Box<[Piece]>),
}

impl FromIterator<Piece> for Pieces {
    fn from_iter<I: IntoIterator<Item = Piece>>(pieces: I) -> Self {
        let pieces: Vec<Piece> = pieces.into_iter().collect();
        match <[Piece; 1]>::try_from(pieces) {
            Ok([piece]) => Self::One(piece),
            Err(pieces) => Self::Many(pieces.into()),
        }
    }
}

/// The source of the values of variables.
#[derive(Debug, Clone, Copy)]
pub struct Fill<'f> {
    /// The target compiled for.
    pub target: &'f Target,
    /// The account, if any.
    pub account: Option<Account<'f>>,
    /// The namespace of the object, for [`OWN_NAMESPACE`].
    pub namespace: Option<&'f Arc<str>>,
    /// The values of loops, the innermost first.
    pub bound: Option<&'f BoundValue<'f>>,
}

/// The value of a loop: an element of a list, in the place of a variable.
#[derive(Debug, Clone, Copy)]
pub struct BoundValue<'f> {
    /// The name of the variable.
    pub name: &'f str,
    /// The element.
    pub value: &'f Data,
    /// The loop around this one.
    pub outer: Option<&'f BoundValue<'f>>,
}

impl<'f> Fill<'f> {
    /// Uses the values of a target alone.
    pub fn from_target(target: &'f Target) -> Self {
        Self { target, account: None, namespace: None, bound: None }
    }

    /// Uses the values of a target and of an account.
    pub fn from_account(target: &'f Target, account: Account<'f>) -> Self {
        Self { account: Some(account), ..Self::from_target(target) }
    }

    /// Uses the name of the namespace of an object, too.
    #[must_use]
    pub fn in_namespace(self, namespace: &'f Arc<str>) -> Self {
        Self { namespace: Some(namespace), ..self }
    }

    /// Uses the value of a loop, too.
    #[must_use]
    pub fn within(self, bound: Option<&'f BoundValue<'f>>) -> Self {
        Self { bound: bound.or(self.bound), ..self }
    }

    /// Returns the value of a variable of loops or of the account, or of a field of a record.
    pub fn own_value(self, name: &str) -> Option<Data> {
        if let Some(value) = self.bound_value(name) {
            return Some(value.clone()).filter(|value| *value != Data::Null);
        }
        if let Some(value) = self.account.and_then(|account| account.get(name)) {
            return Some(value.to_data());
        }
        let (record, field) = name.split_once('.')?;
        self.own_value(record)?.get(field).filter(|value| **value != Data::Null).cloned()
    }

    /// Returns the values of the loops around an object, the outermost first. An object of the account alone is in no loop over its
    /// namespaces.
    pub(crate) fn loops(self, is_of_namespace: bool) -> Vec<(Arc<str>, Data)> {
        let mut loops = Vec::new();
        let mut bound = self.bound;
        while let Some(BoundValue { name, value, outer }) = bound {
            match *name {
                NAMESPACE_NAME if !is_of_namespace => break,
                NAMESPACE_NAME => {}
                name => loops.push((Arc::from(name), (*value).clone())),
            }
            bound = *outer;
        }
        loops.reverse();
        loops
    }

    /// Returns the value of a loop.
    fn bound_value(self, name: &str) -> Option<&'f Data> {
        let mut bound = self.bound;
        while let Some(BoundValue { name: known, value, outer }) = bound {
            if *known == name {
                return Some(value);
            }
            bound = *outer;
        }
        None
    }

    /// Whether a variable has a value that is no empty text.
    pub fn has_value(self, name: &str) -> bool {
        self.value(name).is_some_and(|value| value != Data::text(""))
    }

    /// Returns the value of a variable.
    pub fn value(self, name: &str) -> Option<Data> {
        if name == OWN_NAMESPACE {
            return self.namespace.map(|namespace| Data::Str(Arc::clone(namespace)));
        }
        match name.strip_prefix("target.") {
            Some(own) => self.target.variable(own),
            None => self.own_value(name),
        }
    }

    /// Appends the value of a variable as a part of a text.
    fn write_value(self, name: &str, out: &mut String) {
        if name == OWN_NAMESPACE {
            out.push_str(self.namespace.map(|namespace| -> &str { namespace }).unwrap_or_default());
        } else if let Some(own) = name.strip_prefix("target.") {
            write_text(self.target.variable(own), out);
        } else if let Some(value) = self.bound_value(name) {
            write_text(Some(value.clone()), out);
        } else if let Some(value) = self.account.and_then(|account| account.get(name)) {
            value.write_text(out);
        } else {
            write_text(self.own_value(name), out);
        }
    }
}

/// Appends a value as a part of a text: a string without quotes, nothing for an absent value.
fn write_text(value: Option<Data>, out: &mut String) {
    match value {
        Some(Data::Str(text)) => out.push_str(&text),
        Some(Data::Null) | None => {}
        Some(other) => other.write_json(out),
    }
}

/// An internal variable of kinds: the namespace of the object. It is never declared, so no policy can use it.
pub const OWN_NAMESPACE: &str = "own.namespace";

/// The variable with the name of the namespace of the object.
pub const NAMESPACE_NAME: &str = "namespace.name";

/// The beginnings of the variables with the labels and annotations of the namespace of the object. The key follows.
pub const NAMESPACE_MAPS: [&str; 2] = ["namespace.labels.", "namespace.annotations."];

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Unchanged text.
    Text(Arc<str>),
    /// A variable by its name, without braces.
    Variable(Arc<str>),
    /// A variable without a value makes the whole text absent: `{name?}`.
    Optional(Arc<str>),
}

impl Piece {
    /// Returns the name of the variable.
    pub fn variable(&self) -> Option<&Arc<str>> {
        match self {
            Piece::Variable(name) | Piece::Optional(name) => Some(name),
            Piece::Text(_) => None,
        }
    }
}

/// A pattern error with the byte offset of the wrong brace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError {
    /// Byte position of the brace within the text.
    pub position: usize,
    /// The text of the error.
    pub message: &'static str,
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// Fails if a brace has no partner or encloses something other than a name.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if !text.contains(['{', '}']) {
            return Ok(Self::constant(text));
        }
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut characters = text.char_indices().peekable();
        while let Some((position, character)) = characters.next() {
            let doubled = characters.peek().is_some_and(|&(_, next)| next == character);
            match character {
                '{' | '}' if doubled => {
                    characters.next();
                    literal.push(character);
                }
                '}' => return Err(PatternError { position, message: "this `}` has no opening brace" }),
                '{' => {
                    let name: String =
                        characters.by_ref().map(|(_, next)| next).take_while(|&next| next != '}').collect();
                    let closed = text.get(position + 1 + name.len()..).is_some_and(|rest| rest.starts_with('}'));
                    if !closed {
                        return Err(PatternError { position, message: "this `{` is not closed" });
                    }
                    let optional = name.strip_suffix('?');
                    if !is_name(optional.map_or(name.as_str(), |name| name)) {
                        return Err(PatternError { position, message: "the braces do not contain a name" });
                    }
                    if !literal.is_empty() {
                        pieces.push(Piece::Text(shared_text(&std::mem::take(&mut literal))));
                    }
                    pieces.push(match optional {
                        Some(name) => Piece::Optional(shared_text(name)),
                        None => Piece::Variable(shared_text(&name)),
                    });
                }
                _ => literal.push(character),
            }
        }
        if !literal.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(shared_text(&literal)));
        }
        Ok(Self { pieces: pieces.into_iter().collect() })
    }

    /// Makes a pattern without variables; braces in the text are literal.
    pub fn constant(text: &str) -> Self {
        Self { pieces: Pieces::One(Piece::Text(shared_text(text))) }
    }

    /// Parses a checked pattern; an invalid pattern becomes a constant.
    pub fn parse_checked(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|_| Self::constant(text))
    }

    /// Copies the pattern without shared parts, see [`super::TenancyPolicy::detached`].
    #[must_use]
    pub fn detached(&self) -> Self {
        let pieces = self.pieces().iter().map(|piece| match piece {
            Piece::Text(text) => Piece::Text(Arc::from(&**text)),
            Piece::Variable(name) => Piece::Variable(Arc::from(&**name)),
            Piece::Optional(name) => Piece::Optional(Arc::from(&**name)),
        });
        Self { pieces: pieces.collect() }
    }

    /// Returns the names of its variables.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.pieces().iter().filter_map(Piece::variable).map(|name| &**name)
    }

    /// Returns the names of the variables that decide whether the text exists.
    pub fn deciding_variables(&self) -> impl Iterator<Item = &str> {
        self.pieces().iter().filter_map(|piece| match piece {
            Piece::Optional(name) => Some(&**name),
            Piece::Text(_) | Piece::Variable(_) => None,
        })
    }

    /// Returns the names of the variables that become an empty text without a value.
    pub fn unconditional_variables(&self) -> impl Iterator<Item = &str> {
        self.pieces().iter().filter_map(|piece| match piece {
            Piece::Variable(name) => Some(&**name),
            Piece::Text(_) | Piece::Optional(_) => None,
        })
    }

    /// Whether the text exists with some values.
    pub fn exists(&self, from: Fill<'_>) -> bool {
        self.deciding_variables().all(|name| from.has_value(name))
    }

    /// Returns the texts for some values: one for each item of a list, and none for a text that does not exist.
    pub fn fill_each(&self, from: Fill<'_>) -> Vec<Arc<str>> {
        if !self.exists(from) {
            return Vec::new();
        }
        let list = self.variables().find_map(|name| match from.value(name) {
            Some(Data::List(items)) => Some((name, items)),
            _ => None,
        });
        let Some((name, items)) = list else { return vec![self.fill(from)] };
        let of_item = |value| self.fill(from.within(Some(&BoundValue { name, value, outer: from.bound })));
        items.iter().map(of_item).collect()
    }

    /// Returns its texts and variables in order.
    pub fn pieces(&self) -> &[Piece] {
        match &self.pieces {
            Pieces::One(piece) => std::slice::from_ref(piece),
            Pieces::Many(pieces) => pieces,
        }
    }

    /// Whether a variable comes from an account and not from the target.
    pub fn needs_account(&self) -> bool {
        self.account_variables().next().is_some()
    }

    /// Whether a variable is the namespace of the object.
    pub fn needs_namespace(&self) -> bool {
        self.variables().any(|name| name == OWN_NAMESPACE)
    }

    /// Returns the names of the account variables.
    pub fn account_variables(&self) -> impl Iterator<Item = String> {
        let own = |name: &&str| !name.starts_with("target.") && *name != OWN_NAMESPACE;
        self.variables().filter(own).map(str::to_owned)
    }

    /// Fills in the values of a target; the result is a pattern with account variables.
    pub fn at_target(text: &str, target: &Target) -> String {
        let from = Fill::from_target(target);
        let Ok(pattern) = Self::parse(text) else { return text.to_owned() };
        pattern.written(|piece| {
            let is_known = piece.variable().is_some_and(|name| name.starts_with("target."));
            is_known.then(|| Self { pieces: Pieces::One(piece.clone()) }.fill(from).to_string())
        })
    }

    /// Fills in some variables by their names; the result is a pattern with the other variables.
    pub fn with_values(&self, values: &[(&str, &str)]) -> String {
        self.written(|piece| {
            let name = piece.variable()?;
            values.iter().find(|(known, _)| **known == **name).map(|(_, value)| (*value).to_owned())
        })
    }

    /// Writes the pattern, with the values that are known for its variables.
    fn written(&self, value: impl Fn(&Piece) -> Option<String>) -> String {
        let escaped = |text: &str| text.replace('{', "{{").replace('}', "}}");
        let pieces = self.pieces().iter().map(|piece| match (value(piece), piece) {
            (Some(value), _) => escaped(&value),
            (None, Piece::Text(text)) => escaped(text),
            (None, Piece::Variable(name)) => format!("{{{name}}}"),
            (None, Piece::Optional(name)) => format!("{{{name}?}}"),
        });
        pieces.collect()
    }

    /// Fills in all variables; a variable without a value becomes an empty text.
    pub fn fill(&self, from: Fill<'_>) -> Arc<str> {
        if let Pieces::One(Piece::Text(text)) = &self.pieces {
            return Arc::clone(text);
        }
        let mut filled = FILLED.take();
        filled.clear();
        for piece in self.pieces() {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Variable(name) | Piece::Optional(name) => from.write_value(name, &mut filled),
            }
        }
        let shared = Arc::from(filled.as_str());
        FILLED.set(filled);
        shared
    }

    /// Returns the typed value of a pattern of one variable; for other patterns the filled text.
    pub fn fill_typed(&self, from: Fill<'_>) -> Data {
        match &self.pieces {
            Pieces::One(Piece::Variable(name) | Piece::Optional(name)) => {
                from.value(name).map_or(Data::Null, |value| value)
            }
            _ => Data::Str(self.fill(from)),
        }
    }
}

thread_local! {
    /// A reused buffer: each of a million objects has a few patterns.
    static FILLED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Whether the text between braces is a name. Only the key of a label or an annotation may contain a slash.
fn is_name(name: &str) -> bool {
    let has_key = NAMESPACE_MAPS.iter().any(|map| name.starts_with(map));
    let fits = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.') || (character == '/' && has_key)
    };
    name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_names_from_braces() {
        let pattern = Pattern::parse("a{{{name}}}-{target.zone}").expect("a pattern");
        assert_eq!(pattern.variables().collect::<Vec<_>>(), ["name", "target.zone"]);
        assert_eq!(pattern.pieces().first(), Some(&Piece::Text("a{".into())));
        assert!(pattern.needs_account());
    }

    #[test]
    fn takes_the_values_of_a_target_alone() {
        let mut target = Target::plain("t", 36);
        target.variables.insert("zone".to_owned(), Data::text("n{1"));
        assert_eq!(Pattern::at_target("a}}{target.zone}-{name}", &target), "a}}n{{1-{name}");
    }

    #[test]
    fn points_at_the_brace_that_is_wrong() {
        assert_eq!(Pattern::parse("tool-{name").expect_err("open").position, 5);
        assert_eq!(Pattern::parse("a}").expect_err("closed").position, 1);
        assert_eq!(Pattern::parse("{}").expect_err("empty").position, 0);
    }
}

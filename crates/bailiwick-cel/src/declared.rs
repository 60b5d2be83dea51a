//! The table of functions and object types for expressions: [`declared.txt`](declared.txt).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::lexer::split_while;
use super::types::Type;

/// The API servers with a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Since {
    /// Servers with a library of this minor or a later one.
    Library(u32),
    /// Servers of this minor or a later one.
    Server(u32),
    /// Servers of this minor or an earlier one.
    ServerUpTo(u32),
    /// All servers, in expressions that change objects.
    Patches,
}

/// A function with the types of its arguments.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) since: Since,
    /// Whether it is a member function. The value is then the first argument.
    pub(super) is_member: bool,
    pub(super) arguments: Vec<Type>,
    pub(super) result: Type,
    /// How many free types there are.
    pub(super) free: usize,
    /// Whether it is evaluated here.
    pub(super) is_evaluated: bool,
}

/// The content of the table.
#[derive(Debug, Default)]
pub(super) struct Declared {
    functions: BTreeMap<&'static str, Vec<Function>>,
    objects: BTreeMap<&'static str, BTreeMap<&'static str, Type>>,
}

/// The types behind the word `comparable`.
const COMPARABLE: [Type; 8] =
    [Type::Int, Type::UInt, Type::Double, Type::Bool, Type::Duration, Type::Timestamp, Type::String, Type::Bytes];
/// The types behind the word `summable`.
const SUMMABLE: [Type; 4] = [Type::Int, Type::UInt, Type::Double, Type::Duration];

static DECLARED: LazyLock<Declared> = LazyLock::new(|| read(include_str!("declared.txt")));

impl Declared {
    pub(super) fn get() -> &'static Self {
        &DECLARED
    }

    /// Returns the functions of a name.
    pub(super) fn functions(&self, name: &str) -> &[Function] {
        self.functions.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether a function of a name with a number of arguments is evaluated here.
    pub(super) fn is_evaluated(&self, name: &str, is_member: bool, arguments: usize) -> bool {
        let arguments = arguments + usize::from(is_member);
        let fits = |function: &Function| function.is_member == is_member && function.arguments.len() == arguments;
        self.functions(name).iter().any(|function| function.is_evaluated && fits(function))
    }

    /// Returns the fields of an object type with declared fields.
    pub(super) fn fields(&self, object: &str) -> Option<&BTreeMap<&'static str, Type>> {
        self.objects.get(object)
    }

    /// Returns the name of an object type with declared fields.
    pub(super) fn object(&self, name: &str) -> Option<&'static str> {
        self.objects.get_key_value(name).map(|(name, _)| *name)
    }

    /// Whether functions begin with a name and a point.
    pub(super) fn is_namespace(&self, name: &str) -> bool {
        let prefix = format!("{name}.");
        self.functions.range(prefix.as_str()..).next().is_some_and(|(found, _)| found.starts_with(&prefix))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> (usize, usize) {
        (self.functions.values().map(Vec::len).sum(), self.objects.values().map(BTreeMap::len).sum())
    }
}

/// Reads the table. An invalid line is skipped; a test counts the lines.
fn read(text: &'static str) -> Declared {
    let mut declared = Declared::default();
    let (mut since, mut object) = (Since::Library(0), None);
    for line in text.lines() {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (first, rest.parse()) {
            ("" | "#", _) => {}
            ("library", Ok(minor)) => since = Since::Library(minor),
            ("server-up-to", Ok(minor)) => since = Since::ServerUpTo(minor),
            ("server", Ok(minor)) => since = Since::Server(minor),
            ("patches", _) => since = Since::Patches,
            ("object", _) => object = Some(rest),
            ("+" | "-", _) => {
                let words = [("comparable", &COMPARABLE[..]), ("summable", &SUMMABLE[..])];
                let word = words.into_iter().find(|(word, _)| rest.contains(word));
                let meanings: Vec<Word<'_>> = match word {
                    Some((word, types)) => types.iter().map(|of| Some((word, of))).collect(),
                    None => vec![None],
                };
                for (name, made) in meanings.into_iter().filter_map(|word| function(rest, since, first == "+", word)) {
                    declared.functions.entry(name).or_default().push(made);
                }
            }
            (field, _) => {
                if let (Some(object), Some((of, ""))) = (object, read_type(rest, None)) {
                    declared.objects.entry(object).or_default().insert(field, of);
                }
            }
        }
    }
    declared
}

/// A word of the table, and its type.
type Word<'w> = Option<(&'static str, &'w Type)>;

fn function(text: &'static str, since: Since, is_evaluated: bool, word: Word<'_>) -> Option<(&'static str, Function)> {
    let (mut arguments, mut rest, is_member) = (Vec::new(), text, text.starts_with('('));
    if is_member {
        let (of, behind) = read_type(rest.strip_prefix('(')?, word)?;
        arguments.push(of);
        rest = behind.strip_prefix(").")?;
    }
    // The name of an index has a bracket and the name of a condition a colon; no name has a parenthesis.
    let (name, behind) = rest.split_once('(')?;
    rest = behind;
    while !rest.starts_with(')') {
        let (of, behind) = read_type(rest, word)?;
        arguments.push(of);
        rest = behind.trim_start_matches(", ");
    }
    let (result, behind) = read_type(rest.strip_prefix(") -> ")?, word)?;
    let free = arguments.iter().map(count_free).fold(count_free(&result), usize::max);
    behind.is_empty().then_some((name, Function { since, is_member, arguments, result, free, is_evaluated }))
}

fn count_free(of: &Type) -> usize {
    match of {
        Type::Free(number) => number + 1,
        Type::List(inner) | Type::Optional(inner) | Type::Type(inner) => count_free(inner),
        Type::Map(key, value) => count_free(key).max(count_free(value)),
        _ => 0,
    }
}

/// Reads a type, and returns the rest of the text.
fn read_type<'t>(text: &'t str, word: Word<'_>) -> Option<(Type, &'t str)> {
    let (name, rest) = split_while(text, |letter| letter.is_ascii_alphanumeric() || "._".contains(letter));
    if let Some(inner) = rest.strip_prefix('(') {
        let (first, rest) = read_type(inner, word)?;
        let (made, rest) = match name {
            "map" => {
                let (second, rest) = read_type(rest.strip_prefix(", ")?, word)?;
                (Type::map(first, second), rest)
            }
            "list" => (Type::list(first), rest),
            "optional" => (Type::optional(first), rest),
            "type" => (Type::Type(first.into()), rest),
            _ => return None,
        };
        return Some((made, rest.strip_prefix(')')?));
    }
    let made = match (word, name) {
        (Some((word, of)), name) if name == word => of.clone(),
        (_, "A") => Type::Free(0),
        (_, "B") => Type::Free(1),
        (_, "") => return None,
        (_, name) => Type::simple(name).unwrap_or_else(|| Type::named(name)),
    };
    Some((made, rest))
}

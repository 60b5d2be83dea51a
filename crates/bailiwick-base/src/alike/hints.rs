//! The values that splitting a text looks for.

use super::name::{OwnName, is_own_value};
use super::shape::Hole;

/// Values that are looked for in a text.
#[derive(Debug, Clone)]
pub struct Hints<'h> {
    names: Vec<OwnName<'h>>,
    /// Columns of the account, each with its value.
    columns: Vec<(&'h str, &'h str)>,
    pub(super) numbers: bool,
}

impl<'h> Hints<'h> {
    /// Looks for one name, and for numbers.
    pub fn of_name(name: OwnName<'h>) -> Self {
        Self { names: vec![name], columns: Vec::new(), numbers: true }
    }

    /// Looks for all of these names that have no meaning of their own, and for numbers.
    pub fn of_names(names: &[&'h str]) -> Self {
        let names = names.iter().filter_map(|name| OwnName::new(name)).collect();
        Self { names, columns: Vec::new(), numbers: true }
    }

    /// Looks also for the values of an account, given with the names of their columns, except for values with a meaning of
    /// their own.
    #[must_use]
    pub fn with_columns(self, columns: &[(&'h str, &'h str)]) -> Self {
        let columns = columns.iter().copied().filter(|(_, value)| is_own_value(value));
        Self { columns: columns.collect(), ..self }
    }

    /// Looks for names alone.
    #[must_use]
    pub fn without_numbers(self) -> Self {
        Self { numbers: false, columns: Vec::new(), ..self }
    }

    /// Returns the longest value that a text begins with, and its length: the name before a column with the same value, and
    /// the first column before others.
    pub(super) fn find(&self, text: &str, in_role_ref: bool) -> Option<(Found<'h>, usize)> {
        let ends = |length: usize| !text.as_bytes().get(length).is_some_and(|&next| is_word(next));
        let names = self
            .names
            .iter()
            .flat_map(|own| [(Found::Hole(Hole::Name), Some(own.name())), (Found::Hole(Hole::ShortName), own.short())]);
        let columns = self.columns.iter().filter(|_| !in_role_ref);
        let columns = columns.map(|&(column, value)| (Found::Column { column, value }, Some(value)));
        let mut longest: Option<(Found<'h>, usize)> = None;
        for (found, word) in names.chain(columns) {
            if let Some(word) = word
                && longest.is_none_or(|(_, length)| length < word.len())
                && text.starts_with(word)
                && ends(word.len())
            {
                longest = Some((found, word.len()));
            }
        }
        longest
    }
}

/// A value that was found in a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found<'h> {
    Hole(Hole),
    /// The value of a column of the account.
    Column {
        column: &'h str,
        value: &'h str,
    },
}

/// Whether words are made of a byte. A hyphen separates words, since it joins names.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::super::shape::Shape;
    use super::*;

    #[test]
    fn values_of_the_account_are_left_open_but_for_roles() {
        let of = |name, team, text: &str| {
            let hints =
                Hints::of_name(OwnName::new(name).expect("a name")).with_columns(&[("team", team), ("lead", "zoe")]);
            let text = text.replace("{}", team);
            let (shape, values) = Shape::split_change(None, Some(&text), &hints).expect("a shape");
            assert_eq!(shape.fill(&values), text);
            (shape, values.own.columns)
        };
        let same = |text: &str| of("team-ada", "maps", text).0 == of("team-bob", "navigation", text).0;
        assert!(same("subjects:\n- kind: Group\n  name: {}\n"));
        assert!(same("  name: x-{}-y\nb: zoe\n"));
        for text in ["roleRef:\n  kind: Role\n  name: {}\n", "{}: x\n", "verbs:\n- {}\n", "  name: x{}\n"] {
            assert!(!same(text), "{text}");
        }
        // A role reference ends where the next key begins.
        assert!(same("roleRef:\n  name: a\nsubjects:\n- name: {}\n"));
        let text = "b: {}\n";
        for word in ["view", "admin", "ma", "system:masters", "secrets", "Maps", "a b"] {
            assert_eq!(of("team-ada", word, text).1, [], "{word}");
        }
        let [ref value] = of("team-ada", "kim@example.org", text).1[..] else { panic!("a value") };
        assert_eq!((&*value.column, &*value.value, value.is_changed), ("team", "kim@example.org", true));
        // Values that are equal for one account are equal for the other.
        let text = "b: zoe\nc: {}\n";
        assert!(of("team-ada", "zoe", text).0 != of("team-bob", "maps", text).0);
        assert!(of("team-ada", "maps", text).0 == of("team-bob", "roads", text).0);
    }

    #[test]
    fn values_on_lines_that_stay_are_not_described() {
        let hints = Hints::of_name(OwnName::new("team-ada").expect("a name")).with_columns(&[("team", "maps")]);
        let (old, new) = ("a: maps\n", "a: maps\nb: x\n");
        let change = |old, new| Shape::split_change(Some(old), Some(new), &hints).expect("a shape").1.own.columns;
        assert_eq!(change(old, new).iter().map(|value| value.is_changed).collect::<Vec<_>>(), [false]);
        assert_eq!(change("a: maps\n", "a: x\n").iter().map(|value| value.is_changed).collect::<Vec<_>>(), [true]);
    }
}

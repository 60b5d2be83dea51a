//! Shapes that were found before: a file of a known shape is recognized without splitting it.

use std::sync::{Arc, Mutex};

use bailiwick_base::alike::{Hole, OwnName, Shape, is_own_value};
use bailiwick_base::parallel::locked;
use bailiwick_yaml::digest::digest_of_run;

/// How many shapes a file is compared with before it is split.
const MAXIMUM_TRIED: usize = 16;

/// The shapes of the files that were split, the latest last.
#[derive(Default)]
pub(super) struct KnownShapes(Mutex<Arc<Vec<Arc<KnownShape>>>>);

/// A shape with the columns in its holes.
struct KnownShape {
    shape: Shape,
    digest: u128,
    /// The names of the columns of its account, in their order.
    columns: Vec<String>,
    /// The columns with holes, each with its position among the columns of the account.
    positions: Vec<(u128, usize)>,
}

impl KnownShapes {
    /// Remembers the shape of a file.
    pub(super) fn add(&self, shape: Shape, digest: u128, columns: &[(&str, &str)]) {
        let is_used = |column: u128| shape.holes().any(|hole| *hole == Hole::Column(column));
        let all = columns.iter().enumerate().map(|(position, (name, _))| (digest_of_run(*name), position));
        let known = KnownShape {
            digest,
            columns: columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
            positions: all.filter(|(column, _)| is_used(*column)).collect(),
            shape,
        };
        Arc::make_mut(&mut locked(&self.0)).push(Arc::new(known));
    }

    /// Returns the digest of the known shape of a file of a namespace.
    pub(super) fn find(&self, text: &str, namespace: &str, columns: &[(&str, &str)]) -> Option<u128> {
        let own = OwnName::new(namespace)?;
        let known = Arc::clone(&locked(&self.0));
        let mut tried = known.iter().rev().take(MAXIMUM_TRIED);
        tried.find(|known| known.has(text, own, columns)).map(|known| known.digest)
    }
}

impl KnownShape {
    /// Whether a file is this shape with the values of its own account, each different from the others where the values of the
    /// shape are different.
    fn has(&self, text: &str, own: OwnName<'_>, columns: &[(&str, &str)]) -> bool {
        let has_same_columns = self.columns.iter().map(String::as_str).eq(columns.iter().map(|(name, _)| *name));
        if !has_same_columns {
            return false;
        }
        let mut ranges = Vec::new();
        let length = |hole: &Hole, rest: &[u8]| {
            let starts_with = |value: &str| rest.starts_with(value.as_bytes()).then_some(value.len());
            match hole {
                Hole::Name => starts_with(own.name()),
                Hole::ShortName => starts_with(own.short()?),
                Hole::Column(column) => {
                    let (_, position) = self.positions.iter().find(|(known, _)| known == column)?;
                    starts_with(columns.get(*position)?.1)
                }
                Hole::Number(_) => Some(digits(rest)),
                Hole::SameNumber(number) => starts_with(&number.to_string()),
                Hole::Note => Some(rest.iter().take_while(|byte| **byte != b'\n').count()),
                Hole::End | Hole::Created | Hole::Deleted | Hole::Changed => None,
            }
        };
        if self.shape.find_values(text, length, &mut ranges).is_none() {
            return false;
        }
        let mut numbers: Vec<(usize, &str)> = Vec::new();
        for (hole, range) in self.shape.holes().zip(ranges) {
            let Hole::Number(index) = hole else { continue };
            let value = text.get(range).map_or("", |value| value);
            if !(4..=15).contains(&value.len()) || value.starts_with('0') {
                return false;
            }
            match numbers.iter().find(|(known, other)| known == index || *other == value) {
                Some(known) if *known != (*index, value) => return false,
                Some(_) => {}
                None => numbers.push((*index, value)),
            }
        }
        self.has_own_values(own, columns)
    }

    /// Whether the columns in the holes have values without a meaning of their own that are neither equal to each other nor the
    /// name of the namespace, as in the shape: a splitter takes equal values for one. None of them and no name may be in the text
    /// between the holes, where a splitter would find it.
    fn has_own_values(&self, own: OwnName<'_>, columns: &[(&str, &str)]) -> bool {
        let values =
            || self.positions.iter().filter_map(|(_, position)| columns.get(*position)).map(|(_, value)| *value);
        let is_name = |value: &str| value == own.name() || Some(value) == own.short();
        let is_repeated = |(position, value): (usize, &str)| values().take(position).any(|other| other == value);
        values().all(|value| is_own_value(value) && !is_name(value))
            && !values().enumerate().any(is_repeated)
            && !values().chain([own.name()]).chain(own.short()).any(|value| self.shape.has_words(value))
    }
}

/// Returns how many digits a text begins with.
fn digits(rest: &[u8]) -> usize {
    rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_base::alike::Hints;

    /// Splits the first file, and returns whether the second has the same shape by splitting and by comparison.
    fn are_same(text: &str, first: [&str; 3], second: [&str; 3]) -> (bool, bool) {
        let filled =
            |[name, team, uid]: [&str; 3]| text.replace("{ns}", name).replace("{team}", team).replace("{uid}", uid);
        let split = |[name, team, uid]: [&str; 3]| {
            let columns = [("team", team), ("lead", "zoe")];
            let text = filled([name, team, uid]);
            Shape::split(&text, &Hints::of_names(&[name]).with_columns(&columns)).0
        };
        let (one, other) = (split(first), split(second));
        let known = KnownShapes::default();
        known.add(one.clone(), 1, &[("team", first[1]), ("lead", "zoe")]);
        let found = known.find(&filled(second), second[0], &[("team", second[1]), ("lead", "zoe")]);
        (one == other, found == Some(1))
    }

    #[test]
    fn a_file_has_the_shape_that_splitting_finds() {
        let text =
            "metadata:\n  name: {ns}\n  labels:\n    team: {team}\nspec:\n  uid: {uid}\n  users: [x-{team}, zoe]\n";
        let ada = ["team-ada", "maps", "50000"];
        for (other, is_same) in [
            (["team-bob", "roads", "50001"], true),
            (["team-bob", "maps", "50001"], true),
            // A value with a meaning, a small number, a value that is a name, and a value that is another column.
            (["team-bob", "view", "50001"], false),
            (["team-bob", "roads", "999"], false),
            (["team-bob", "bob", "50001"], false),
            (["team-bob", "team-bob", "50001"], false),
            (["team-bob", "zoe", "50001"], false),
            (["kube-system", "roads", "50001"], false),
        ] {
            assert_eq!(are_same(text, ada, other), (is_same, is_same), "{other:?}");
        }
        // A splitter finds a text that happens to be the value of another account.
        let text = "metadata:\n  name: {ns}\nuser: {team}\nother: roads\n";
        assert_eq!(are_same(text, ada, ["team-bob", "roads", "1"]), (false, false));
    }
}

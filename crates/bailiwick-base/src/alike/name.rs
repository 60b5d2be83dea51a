//! The name by which a file calls the tenant that it is for.

use std::sync::OnceLock;

use bailiwick_kubernetes::catalogue::Catalogue;
use bailiwick_kubernetes::default_policy;
use hashbrown::HashSet;

use super::hints::Hints;
use super::shape::Shape;

/// Words with a meaning to some reader that no default role contains.
const MEANINGFUL: &str = "\
    all any audit baseline configmap csi default disabled enabled enforce ephemeral false host inf kube \
    latest localhost master nan nfs no none null off on openshift privileged projected required restricted \
    root runtime secret system true unconfined use warn worker yes";

/// The fewest bytes of a word that is looked for by itself, where it is not a whole name.
const SHORTEST: usize = 3;

/// The name of a namespace, and the part of it behind the first hyphen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnName<'n> {
    name: &'n str,
    /// The offset of the part behind the first hyphen; none where the part has a meaning of its own or is too short.
    short: Option<usize>,
}

impl<'n> OwnName<'n> {
    /// Returns the name of a namespace; none where the name means something else as well.
    pub fn new(name: &'n str) -> Option<Self> {
        if !is_telling(name) {
            return None;
        }
        let behind = name.find('-').map(|hyphen| hyphen + 1);
        let is_word =
            |start: &usize| name.get(*start..).is_some_and(|short| short.len() >= SHORTEST && is_telling(short));
        Some(Self { name, short: behind.filter(is_word) })
    }

    /// Returns the name of another namespace whose file has the same shape, and which is looked for in the same way.
    pub fn of_same_shape<'o>(self, name: &'o str) -> OwnName<'o> {
        OwnName { name, short: self.short.and(name.find('-')).map(|hyphen| hyphen + 1) }
    }

    /// Returns the whole name.
    pub fn name(self) -> &'n str {
        self.name
    }

    /// Returns the part behind the first hyphen, if it is looked for by itself.
    pub fn short(self) -> Option<&'n str> {
        self.name.get(self.short?..)
    }

    /// Whether a text has the name.
    pub fn is_in(self, text: &str) -> bool {
        let (shape, _) = Shape::split_message(text, &Hints::of_name(self).without_numbers());
        shape.has_holes()
    }

    /// Whether a text has a number that may be the tenant's own.
    pub fn has_number(self, text: &str) -> bool {
        let (_, values) = Shape::split_message(text, &Hints::of_names(&[]));
        !values.own.numbers.is_empty()
    }

    /// Returns a text with another name in place of this one.
    pub fn renamed(self, other: OwnName<'_>, text: &str) -> String {
        let (shape, values) = Shape::split_message(text, &Hints::of_name(self).without_numbers());
        shape.fill_renamed(&values, other)
    }
}

/// Whether a value of an account has no meaning beside being a value: a word as names are, or the name of a user with a
/// domain.
pub fn is_own_value(value: &str) -> bool {
    let (user, domain) = match value.split_once('@') {
        Some((user, domain)) => (user, Some(domain)),
        None => (value, None),
    };
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let ends_in_word = |part: &str| part.ends_with(|last: char| last.is_ascii_alphanumeric());
    user.len() >= SHORTEST
        && is_telling(user)
        && ends_in_word(user)
        && domain.is_none_or(|domain| domain.bytes().all(is_part) && ends_in_word(domain))
}

/// Whether a word has no meaning beside being a name.
fn is_telling(word: &str) -> bool {
    static WITH_A_MEANING: OnceLock<HashSet<&'static str>> = OnceLock::new();
    let with_a_meaning = WITH_A_MEANING.get_or_init(|| {
        let of_roles = default_policy::TEXT.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        let resources = Catalogue::get().entries();
        let served = resources.flat_map(|entry| {
            let group = Some(&*entry.group).filter(|_| !entry.is_custom);
            std::iter::once(&*entry.resource).chain(group)
        });
        of_roles.chain(MEANINGFUL.split(' ')).chain(served).collect()
    });
    word.starts_with(|first: char| first.is_ascii_lowercase())
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !with_a_meaning.contains(word)
        && !word.starts_with("kube-")
        && !word.starts_with("openshift-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_kubernetes_names_no_tenant() {
        for name in [
            "view",
            "edit",
            "cluster-admin",
            "secrets",
            "get",
            "delete",
            "restricted",
            "privileged",
            "default",
            "kube-system",
            "openshift-etcd",
            "batch",
            "true",
            "admin",
            "podsecuritypolicies",
            "6e5",
        ] {
            assert_eq!(OwnName::new(name), None, "{name}");
        }
        let team = OwnName::new("team-view").expect("a name");
        assert_eq!((team.name(), team.short()), ("team-view", None));
        assert_eq!(OwnName::new("team-ada").and_then(OwnName::short), Some("ada"));
    }
}

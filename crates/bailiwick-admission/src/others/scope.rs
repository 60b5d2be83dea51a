//! The namespaces and pods that a rule selects, as far as the objects of a cluster decide it.

use std::collections::BTreeMap;

use bailiwick_kubernetes::selector::LabelSelector;

/// The label with the name of a namespace, set by the API server.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// A condition on the namespace of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleScope {
    /// The pods of the namespaces with such a name, with the wildcards `*` and `?`.
    Names(Vec<String>),
    /// The pods of the namespaces with such labels.
    Labels(LabelSelector),
    /// Some pods, by a condition that a namespace does not decide.
    Some(String),
    /// Each of these conditions; all pods for an empty list.
    All(Vec<RuleScope>),
    /// One of these conditions; no pods for an empty list.
    Any(Vec<RuleScope>),
    /// The opposite.
    Not(Box<RuleScope>),
}

/// Whether a rule selects the pods of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selected {
    /// All pods.
    Yes,
    /// No pod.
    No,
    /// Undecided, or only some pods, for this reason.
    Undecided(String),
}

impl RuleScope {
    /// Returns the scope of all pods.
    pub fn everything() -> Self {
        Self::All(Vec::new())
    }

    /// Returns the scope of no pod.
    pub fn nothing() -> Self {
        Self::Any(Vec::new())
    }

    /// Decides a namespace by its name and labels; the labels are unknown without the Namespace.
    pub fn of(&self, name: &str, labels: Option<&BTreeMap<String, String>>) -> Selected {
        match self {
            RuleScope::Names(patterns) => Selected::from(patterns.iter().any(|pattern| is_like(pattern, name))),
            RuleScope::Labels(selector) => match labels {
                _ if selector.is_everything() => Selected::Yes,
                None => Selected::Undecided("the labels of the namespace are unknown".to_owned()),
                Some(labels) => Selected::from(selector.matches(|key| match key {
                    NAME_LABEL => Some(name),
                    key => labels.get(key).map(String::as_str),
                })),
            },
            RuleScope::Some(reason) => Selected::Undecided(reason.clone()),
            RuleScope::All(scopes) => first(scopes, Selected::Yes, &Selected::No, |scope| scope.of(name, labels)),
            RuleScope::Any(scopes) => first(scopes, Selected::No, &Selected::Yes, |scope| scope.of(name, labels)),
            RuleScope::Not(scope) => match scope.of(name, labels) {
                Selected::Yes => Selected::No,
                Selected::No => Selected::Yes,
                undecided => undecided,
            },
        }
    }
}

/// Joins the answers of conditions: one `decisive` answer decides, then an undecided one, and `otherwise` is left.
fn first(
    scopes: &[RuleScope],
    otherwise: Selected,
    decisive: &Selected,
    of: impl Fn(&RuleScope) -> Selected,
) -> Selected {
    let mut joined = otherwise;
    for answer in scopes.iter().map(of) {
        if answer == *decisive {
            return answer;
        }
        if !matches!(joined, Selected::Undecided(_)) {
            joined = answer;
        }
    }
    joined
}

impl From<bool> for Selected {
    fn from(is_selected: bool) -> Self {
        if is_selected { Selected::Yes } else { Selected::No }
    }
}

/// Whether a text is like a pattern with the wildcards `*` and `?`. The work is bounded by the product of both lengths.
pub(super) fn is_like(pattern: &str, text: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return pattern == text;
    }
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    // For each length of the pattern so far: whether it is like the text so far.
    let mut is_like_so_far = vec![true];
    is_like_so_far.extend(pattern.iter().scan(true, |all, letter| {
        *all &= *letter == '*';
        Some(*all)
    }));
    for letter in &text {
        let mut next = vec![false];
        for (wanted, pair) in pattern.iter().zip(is_like_so_far.windows(2)) {
            let (without, with) = (pair.first() == Some(&true), pair.last() == Some(&true));
            next.push(match wanted {
                '*' => with || next.last() == Some(&true),
                '?' => without,
                wanted => without && wanted == letter,
            });
        }
        is_like_so_far = next;
    }
    is_like_so_far.last() == Some(&true)
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn wildcards_match_as_in_a_shell() {
        for (pattern, text, is_expected) in [
            ("kube-*", "kube-system", true),
            ("*-system", "kube-system", true),
            ("kube-?ystem", "kube-system", true),
            ("*", "", true),
            ("?", "", false),
            ("", "", true),
            ("kube", "kube-system", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "xxbxxaxx", false),
        ] {
            assert_eq!(is_like(pattern, text), is_expected, "{pattern} {text}");
        }
        assert!(!is_like(&"*a".repeat(2_000), &"a".repeat(1_000)));
    }
}

//! Label selectors, as `metav1.LabelSelectorAsSelector` reads them.

use serde::{Deserialize, Serialize};

use bailiwick_yaml::NodeRef;

/// A label selector. All its requirements have to hold; an empty selector selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
    /// True when the server could not make sense of it; it then selects nothing.
    invalid: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct Requirement {
    key: String,
    operator: LabelSelectorOperator,
    values: Vec<String>,
}

/// How a requirement compares a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LabelSelectorOperator {
    /// The label is there with one of the values.
    In,
    /// The label is missing, or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is missing.
    DoesNotExist,
}

impl LabelSelector {
    /// Iterates over the keys of the compared labels.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.requirements.iter().map(|requirement| requirement.key.as_str())
    }

    /// Iterates over the keys of the compared labels, each with the values that a requirement names.
    pub fn named_values(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.requirements.iter().map(|requirement| (requirement.key.as_str(), requirement.values.as_slice()))
    }

    /// Reads `matchLabels` and `matchExpressions`.
    pub fn from_node(selector: NodeRef<'_>) -> Self {
        let mut read = Self::default();
        for (key, value) in selector.get("matchLabels").into_iter().flat_map(NodeRef::entries) {
            match (key.as_str(), value.as_str()) {
                (Some(key), Some(value)) => read.require(key, LabelSelectorOperator::In, vec![value.to_owned()]),
                _ => read.invalid = true,
            }
        }
        for expression in selector.get("matchExpressions").into_iter().flat_map(NodeRef::items) {
            let text = |key| expression.get(key).and_then(NodeRef::as_str);
            let values: Vec<String> = super::rbac::strings(expression, "values").map(str::to_owned).collect();
            let operator = match text("operator") {
                Some("In") if !values.is_empty() => LabelSelectorOperator::In,
                Some("NotIn") if !values.is_empty() => LabelSelectorOperator::NotIn,
                Some("Exists") if values.is_empty() => LabelSelectorOperator::Exists,
                Some("DoesNotExist") if values.is_empty() => LabelSelectorOperator::DoesNotExist,
                _ => {
                    read.invalid = true;
                    continue;
                }
            };
            match text("key") {
                Some(key) => read.require(key, operator, values),
                None => read.invalid = true,
            }
        }
        read
    }

    /// Adds a requirement.
    pub fn require(&mut self, key: &str, operator: LabelSelectorOperator, mut values: Vec<String>) {
        values.sort_unstable();
        self.requirements.push(Requirement { key: key.to_owned(), operator, values });
    }

    /// Returns the keys of required labels, each with its permitted values, if limited.
    pub fn demanded(&self) -> impl Iterator<Item = (&str, Option<&[String]>)> {
        self.requirements.iter().filter_map(|requirement| match requirement.operator {
            LabelSelectorOperator::In => Some((requirement.key.as_str(), Some(requirement.values.as_slice()))),
            LabelSelectorOperator::Exists => Some((requirement.key.as_str(), None)),
            LabelSelectorOperator::NotIn | LabelSelectorOperator::DoesNotExist => None,
        })
    }

    /// Returns the selector with its requirements in order, each of them once.
    #[must_use]
    pub fn sorted(&self) -> Self {
        let mut selector = self.clone();
        selector.requirements.sort_unstable();
        selector.requirements.dedup();
        selector
    }

    /// Whether it selects everything.
    pub fn is_everything(&self) -> bool {
        !self.invalid && self.requirements.is_empty()
    }

    /// Whether labels, looked up by key, are selected.
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        !self.invalid
            && self.requirements.iter().all(|requirement| {
                let value = label(&requirement.key);
                let is_listed = value.is_some_and(|value| {
                    requirement.values.binary_search_by(|listed| listed.as_str().cmp(value)).is_ok()
                });
                match requirement.operator {
                    LabelSelectorOperator::In => is_listed,
                    LabelSelectorOperator::NotIn => !is_listed,
                    LabelSelectorOperator::Exists => value.is_some(),
                    LabelSelectorOperator::DoesNotExist => value.is_none(),
                }
            })
    }
}

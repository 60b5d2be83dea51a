//! Label selectors, as Kubernetes has them.

use std::collections::BTreeMap;

use bailiwick_codes as codes;
use bailiwick_kubernetes::{names, selector};
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shared::StringMap;
use crate::model::{Fill, Pattern, Target};

/// A selector of labels, as Kubernetes has it: all of its parts have to fit.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "LabelSelector")]
pub struct LabelSelectorSpec {
    /// Labels with their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: StringMap,
    /// Further conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<Requirement>,
}

/// A condition on one label.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// How it is compared.
    pub operator: SelectorOperator,
    /// The values for `In` and `NotIn`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// How a condition compares a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Operator")]
pub enum SelectorOperator {
    /// The label is there with one of the values.
    In,
    /// The label is missing, or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is missing.
    DoesNotExist,
}

impl LabelSelectorSpec {
    /// Whether it matches everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Reports selectors that the API server rejects (`ValidateLabelSelector` in
    /// staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go).
    pub(crate) fn check(&self, origin: Origin, sink: &mut Sink) {
        let mut refuse = |message: String, help: &str| {
            sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(origin).help(help.to_owned()));
        };
        let is_open = |text: &str| text.contains(['{', '}']);
        let keys = self.match_labels.keys().chain(self.match_expressions.iter().map(|condition| &condition.key));
        for key in keys.filter(|key| !is_open(key) && names::label_key(key).is_err()) {
            refuse(format!("`{key}` is not a valid label key"), "write a name, or a domain, `/` and a name");
        }
        let values = self.match_labels.values().chain(self.match_expressions.iter().flat_map(|own| &own.values));
        for value in values.filter(|value| !is_open(value) && names::label_value(value).is_err()) {
            refuse(
                format!("`{value}` is not a valid label value"),
                "at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
            );
        }
        for condition in &self.match_expressions {
            match (condition.operator, condition.values.is_empty()) {
                (SelectorOperator::In | SelectorOperator::NotIn, true) => {
                    refuse(format!("the condition on `{}` has no values", condition.key), "list `values`");
                }
                (SelectorOperator::Exists | SelectorOperator::DoesNotExist, false) => refuse(
                    format!("the condition on `{}` takes no values", condition.key),
                    "remove `values`, or set `operator: In`",
                ),
                _ => {}
            }
        }
    }

    /// Fills in the values of a target.
    pub(crate) fn at(&self, target: &Target) -> selector::LabelSelector {
        let fill = |text: &String| Pattern::parse_checked(text).fill(Fill::from_target(target)).to_string();
        let mut filled = selector::LabelSelector::default();
        for (key, value) in &self.match_labels {
            filled.require(&fill(key), selector::LabelSelectorOperator::In, vec![fill(value)]);
        }
        for condition in &self.match_expressions {
            let operator = match condition.operator {
                SelectorOperator::In => selector::LabelSelectorOperator::In,
                SelectorOperator::NotIn => selector::LabelSelectorOperator::NotIn,
                SelectorOperator::Exists => selector::LabelSelectorOperator::Exists,
                SelectorOperator::DoesNotExist => selector::LabelSelectorOperator::DoesNotExist,
            };
            filled.require(&fill(&condition.key), operator, condition.values.iter().map(fill).collect());
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(selector: &str, labels: &[(&str, &str)]) -> bool {
        let selector: LabelSelectorSpec = serde_json::from_str(selector).expect("a selector");
        let label = |key: &str| labels.iter().find(|(known, _)| *known == key).map(|(_, value)| *value);
        selector.at(&Target::plain("t", 36)).matches(label)
    }

    #[test]
    fn every_part_has_to_fit() {
        assert!(fits("{}", &[]));
        assert!(fits(r#"{"matchLabels": {"a": "1"}}"#, &[("a", "1"), ("b", "2")]));
        assert!(!fits(r#"{"matchLabels": {"a": "1", "b": "3"}}"#, &[("a", "1"), ("b", "2")]));
        let only = |operator: &str, values: &str| {
            format!(r#"{{"matchExpressions": [{{"key": "a", "operator": "{operator}", "values": [{values}]}}]}}"#)
        };
        assert!(fits(&only("In", r#""1", "2""#), &[("a", "2")]));
        assert!(!fits(&only("In", r#""1""#), &[]));
        assert!(fits(&only("NotIn", r#""1""#), &[]), "a label that is missing is not among the values");
        assert!(!fits(&only("NotIn", r#""1""#), &[("a", "1")]));
        assert!(fits(&only("Exists", ""), &[("a", "")]));
        assert!(fits(&only("DoesNotExist", ""), &[("b", "")]));
    }
}

//! A step of an escalation path in words.

use bailiwick_paths::PathStep;
use bailiwick_workspace::words::{place_text, rule_text};
use bailiwick_yaml::diag::Files;
use schemars::JsonSchema;
use serde::Serialize;

/// A step of an escalation path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewedStep {
    /// The kind of step, such as `create-pods`.
    pub edge: String,
    /// The subject or power before the step.
    pub from: String,
    /// The subject or power after the step.
    pub to: String,
    /// The namespace of the step; none for the whole cluster.
    pub namespace: Option<String>,
    /// The binding, such as `ClusterRoleBinding/ops`.
    pub binding: Option<String>,
    /// The role, such as `ClusterRole/edit`.
    pub role: Option<String>,
    /// The rule in words.
    pub rule: Option<String>,
    /// The place of the role, as `path:line`.
    pub place: Option<String>,
    /// Whether the earlier state does not have the step.
    pub new: bool,
    /// The condition or the limit of the step.
    pub note: Option<String>,
}

/// Returns a step in words, with the place of its role below a folder.
pub fn reviewed_step(step: &PathStep, files: &Files, root: &str, new: bool) -> ReviewedStep {
    let chain = step.chains.first();
    let place = chain.and_then(|chain| chain.role.place.or(chain.binding.place));
    let place = place.map(|place| {
        let text = place_text(place, files);
        format!("{root}{}", text.rsplit_once(':').map_or(text.as_str(), |(line, _)| line))
    });
    ReviewedStep {
        edge: step.edge.word().to_owned(),
        from: step.from.to_string(),
        to: step.to.to_string(),
        namespace: step.namespace.clone(),
        binding: chain.map(|chain| chain.binding.name.clone()),
        role: chain.map(|chain| chain.role.name.clone()),
        rule: chain.and_then(|chain| chain.rules.first()).map(|rule| rule_text(&rule.rule)),
        place,
        new,
        note: step.note.clone(),
    }
}

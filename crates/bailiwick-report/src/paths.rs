//! Escalation paths with their steps, as text and as JSON.

use bailiwick_paths::{Certainty, EdgeKind, EscalationPath, PathNode, PathStep, Power};
use bailiwick_workspace::words::{chain_line, number};
use bailiwick_yaml::diag::Files;
use schemars::JsonSchema;
use serde::Serialize;

use super::access::ChainRecord;
use super::page::Page;

/// An escalation path to a power.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PathRecord {
    /// The power at the end.
    pub reaches: Power,
    /// How sure the path is.
    pub certainty: Certainty,
    /// The steps in order.
    pub steps: Vec<StepRecord>,
}

/// A step of an escalation path.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StepRecord {
    /// The kind of the step.
    pub edge: EdgeKind,
    /// The start of the step.
    pub from: PathNode,
    /// The gain.
    pub to: PathNode,
    /// The namespace; none for the whole cluster.
    pub namespace: Option<String>,
    /// How sure the step is.
    pub certainty: Certainty,
    /// A condition or limit of the step.
    pub note: Option<String>,
    /// The bindings and rules behind the step.
    pub grants: Vec<ChainRecord>,
}

impl PathRecord {
    /// Returns the records of paths.
    pub fn list(paths: &[EscalationPath], files: &Files) -> Vec<Self> {
        let step = |step: &PathStep| StepRecord {
            edge: step.edge,
            from: step.from.clone(),
            to: step.to.clone(),
            namespace: step.namespace.clone(),
            certainty: step.certainty,
            note: step.note.clone(),
            grants: ChainRecord::list(&step.chains, files),
        };
        let record = |path: &EscalationPath| Self {
            reaches: path.reaches.clone(),
            certainty: path.certainty,
            steps: path.steps.iter().map(step).collect(),
        };
        paths.iter().map(record).collect()
    }
}

/// Whether a path is one step to Secrets, an account or permissions of a namespace: the first steps of a subject name them.
fn is_first_step(path: &EscalationPath) -> bool {
    let is_local = matches!(path.reaches, Power::NamespaceAdmin(_) | Power::Secrets(_) | Power::Account { .. });
    is_local && path.steps.len() == 1
}

/// Returns the paths of a subject, each with its steps and their grants, without the first steps.
pub fn text(paths: &[EscalationPath], files: &Files) -> String {
    let mut text = Page::new();
    for path in paths.iter().filter(|path| !is_first_step(path)) {
        let possibly = if path.certainty == Certainty::Possible { ", possibly" } else { "" };
        writeln!(text, "  {}, in {}{possibly}", path.reaches, number(path.steps.len(), "step"));
        text.append(&steps(path, files));
    }
    text.finish()
}

/// Returns the steps of a path with their grants.
pub fn steps(path: &EscalationPath, files: &Files) -> String {
    let mut text = Page::new();
    for step in &path.steps {
        let note = step.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
        writeln!(text, "    {}: {}{note}", step.label(), step.to);
        for chain in &step.chains {
            writeln!(text, "      {}", chain_line(chain, files));
        }
    }
    text.finish()
}

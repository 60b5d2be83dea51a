//! The stages of a migration from PodSecurityPolicy: a target for each, from the last version with PodSecurityPolicies on.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// The last minor with PodSecurityPolicies.
const LAST_WITH_POLICIES: u32 = 24;

/// The last minor without admission policies.
const LAST_WITHOUT_ADMISSION_POLICIES: u32 = 29;

/// A stage of the migration. Each is a change of the target of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationStage {
    /// The name of its target.
    pub target: &'static str,
    /// The minor of Kubernetes.
    pub minor: u32,
    /// The modes of the Pod Security labels; none for all.
    pub modes: Option<&'static [&'static str]>,
    /// The actions of the bindings of admission policies; none for `Deny`. The empty list stands for no admission policy.
    pub validation_actions: Option<&'static [&'static str]>,
}

/// Returns the stages of a migration to a minor, in order.
pub fn stages(to: u32) -> Vec<MigrationStage> {
    let stage = |target, minor| MigrationStage { target, minor, modes: None, validation_actions: None };
    let mut stages = vec![
        MigrationStage { modes: Some(&["audit", "warn"]), ..stage("warn", LAST_WITH_POLICIES) },
        stage("enforce", LAST_WITH_POLICIES),
    ];
    if to > LAST_WITH_POLICIES {
        let minor = to.min(LAST_WITHOUT_ADMISSION_POLICIES);
        stages.push(MigrationStage { validation_actions: Some(&[]), ..stage("levels", minor) });
    }
    if to > LAST_WITHOUT_ADMISSION_POLICIES {
        stages.push(MigrationStage { validation_actions: Some(&["Audit", "Warn"]), ..stage("audit", to) });
        stages.push(stage("deny", to));
    }
    stages
}

/// Returns the minors of the stages, whose checks decide about the level of a namespace.
pub fn minors(to: u32) -> BTreeSet<u32> {
    stages(to).into_iter().map(|stage| stage.minor).collect()
}

/// Returns a workspace with a target for each stage.
pub fn workspace(to: u32) -> Value {
    let targets: Vec<Value> = stages(to).iter().map(MigrationStage::target).collect();
    json!({
        "apiVersion": "bailiwick.dev/v1alpha1",
        "kind": "Workspace",
        "metadata": { "name": "migration" },
        "spec": { "targets": targets },
    })
}

impl MigrationStage {
    /// Returns the target of the stage, as the workspace file has it.
    fn target(&self) -> Value {
        let mut pod_security = Map::new();
        if let Some(modes) = self.modes {
            pod_security.insert("modes".to_owned(), json!(modes));
        }
        if let Some(actions) = self.validation_actions {
            pod_security.insert("validationActions".to_owned(), json!(actions));
        }
        let mut target = Map::new();
        target.insert("name".to_owned(), self.target.into());
        target.insert("version".to_owned(), format!("1.{}", self.minor).into());
        if !pod_security.is_empty() {
            target.insert("podSecurity".to_owned(), pod_security.into());
        }
        target.into()
    }
}

//! The stages of a migration from PodSecurityPolicy: a target for each, from the last version with PodSecurityPolicies on.
//!
//! OpenShift never had PodSecurityPolicies: workloads move from a cluster of Kubernetes to a cluster of OpenShift.

use std::collections::BTreeSet;

use bailiwick_admission::scc::release::Release;
use serde_json::{Map, Value, json};

/// The last minor with PodSecurityPolicies.
const LAST_WITH_POLICIES: u32 = 24;

/// The last minor without admission policies.
const LAST_WITHOUT_ADMISSION_POLICIES: u32 = 29;

/// The cluster at the end of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalCluster {
    /// The same cluster, at a minor of Kubernetes.
    Kubernetes(u32),
    /// Another cluster, of a release of OpenShift.
    Openshift(Release),
}

impl FinalCluster {
    /// Whether profiles have admission policies at the end: since Kubernetes 1.30, and beside constraints since OpenShift 4.17.
    pub fn has_admission_policies(self) -> bool {
        let minor = match self {
            Self::Kubernetes(minor) => minor,
            Self::Openshift(release) => release.kubernetes_minor(),
        };
        minor > LAST_WITHOUT_ADMISSION_POLICIES
    }

    /// Returns the release of OpenShift.
    pub fn release(self) -> Option<Release> {
        match self {
            Self::Kubernetes(_) => None,
            Self::Openshift(release) => Some(release),
        }
    }
}

/// A stage of the migration. Each is a change of the target of the cluster; a stage on OpenShift is the target of another cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationStage {
    /// The name of its target.
    pub target: &'static str,
    /// The platform and its version.
    pub cluster: FinalCluster,
    /// The modes of the Pod Security labels; none for all.
    pub modes: Option<&'static [&'static str]>,
    /// The actions of the bindings of admission policies; none for `Deny`. The empty list stands for no admission policy.
    pub validation_actions: Option<&'static [&'static str]>,
}

/// Returns the stages of a migration, in order.
pub fn stages(to: FinalCluster) -> Vec<MigrationStage> {
    let stage = |target, cluster| MigrationStage { target, cluster, modes: None, validation_actions: None };
    let first = FinalCluster::Kubernetes(LAST_WITH_POLICIES);
    let mut stages =
        vec![MigrationStage { modes: Some(&["audit", "warn"]), ..stage("warn", first) }, stage("enforce", first)];
    match to {
        FinalCluster::Kubernetes(minor) if minor > LAST_WITH_POLICIES => {
            let cluster = FinalCluster::Kubernetes(minor.min(LAST_WITHOUT_ADMISSION_POLICIES));
            stages.push(MigrationStage { validation_actions: Some(&[]), ..stage("levels", cluster) });
        }
        FinalCluster::Openshift(_) if !to.has_admission_policies() => {
            stages.push(MigrationStage { validation_actions: Some(&[]), ..stage("constraints", to) });
        }
        FinalCluster::Kubernetes(_) | FinalCluster::Openshift(_) => {}
    }
    if to.has_admission_policies() {
        stages.push(MigrationStage { validation_actions: Some(&["Audit", "Warn"]), ..stage("audit", to) });
        stages.push(stage("deny", to));
    }
    stages
}

/// Returns the minors of the stages, whose checks decide about the level of a namespace.
pub fn minors(to: FinalCluster) -> BTreeSet<u32> {
    let minors = stages(to).into_iter().map(|stage| match stage.cluster {
        FinalCluster::Kubernetes(minor) => minor,
        FinalCluster::Openshift(release) => release.kubernetes_minor(),
    });
    minors.collect()
}

/// Returns a workspace with a target for each stage.
pub fn workspace(to: FinalCluster) -> Value {
    let targets: Vec<Value> = stages(to).iter().map(MigrationStage::target).collect();
    json!({
        "apiVersion": "bailiwick.dev/v1alpha1",
        "kind": "Workspace",
        "metadata": { "name": "migration" },
        "spec": { "targets": targets },
    })
}

impl MigrationStage {
    /// Returns the platform of the cluster, as the workspace file has it.
    pub fn platform(&self) -> &'static str {
        match self.cluster {
            FinalCluster::Kubernetes(_) => "kubernetes",
            FinalCluster::Openshift(_) => "openshift",
        }
    }

    /// Returns the version of the cluster: of Kubernetes, or of OpenShift.
    pub fn version(&self) -> String {
        match self.cluster {
            FinalCluster::Kubernetes(minor) => format!("1.{minor}"),
            FinalCluster::Openshift(release) => release.to_string(),
        }
    }

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
        if self.cluster.release().is_some() {
            target.insert("platform".to_owned(), self.platform().into());
        }
        target.insert("version".to_owned(), self.version().into());
        if !pod_security.is_empty() {
            target.insert("podSecurity".to_owned(), pod_security.into());
        }
        target.into()
    }
}

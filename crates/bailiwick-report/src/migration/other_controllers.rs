//! The policies of other admission controllers in the report of a migration.

use bailiwick_admission::others::{OtherController, OtherPolicy};
use bailiwick_yaml::diag::foreign;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Entry, PspMigrationReport};

/// A policy of another admission controller. It is not evaluated, and can reject or change pods.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtherPolicyRecord {
    /// The controller: `Kyverno` or `Gatekeeper`.
    controller: String,
    /// The Kubernetes kind, such as `ClusterPolicy`.
    kind: String,
    /// The namespace of the policy; none for a policy of the cluster.
    namespace: Option<String>,
    /// Its name in the cluster.
    name: String,
}

/// The longest name that is printed whole.
const LONGEST_NAME: usize = 100;

/// Returns an entry for each controller.
pub(super) fn entries(report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let controllers = [OtherController::Kyverno, OtherController::Gatekeeper];
    let entries = controllers.into_iter().filter_map(|controller| {
        let policies = report.others.iter().filter(|policy| policy.controller == controller);
        let names: Vec<String> = policies.map(shown).collect();
        let title = format!("{}, not evaluated, can reject or change pods: ", controller.name());
        (!names.is_empty()).then(|| Entry::listed(title, names, String::new()))
    });
    entries.collect()
}

/// Returns the kind and the name of a policy; the name does not end its backticks.
fn shown(policy: &OtherPolicy) -> String {
    let plain = |text: &str| foreign::shortened(text, LONGEST_NAME).replace('`', "'");
    let namespace = if policy.namespace.is_empty() { String::new() } else { format!("{}/", plain(&policy.namespace)) };
    format!("{} `{namespace}{}`", plain(&policy.kind), plain(&policy.name))
}

/// Returns the policies as JSON.
pub(super) fn records(report: &PspMigrationReport<'_>) -> Vec<OtherPolicyRecord> {
    let record = |policy: &OtherPolicy| OtherPolicyRecord {
        controller: policy.controller.name().to_owned(),
        kind: policy.kind.clone(),
        namespace: (!policy.namespace.is_empty()).then(|| policy.namespace.clone()),
        name: policy.name.clone(),
    };
    report.others.iter().map(record).collect()
}

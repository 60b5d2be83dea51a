//! The risk of single permissions of a subject, as if the subject had no others.

use serde_json::json;

use super::{RiskOptions, RiskRule, RiskSeverity, table};
use crate::who_can::PermissionScope;
use crate::world::{Builder, World};
use bailiwick_kubernetes::rbac::{GROUP, PolicyRule};
use bailiwick_yaml as yaml;

/// The rules about subjects that stand for very many identities.
const SUBJECT_RULES: [&str; 3] = ["B001", "B002", "B003"];

/// The name of the role and of its binding.
const NAME: &str = "gained";

/// A namespace of users, for permissions in a namespace.
const NAMESPACE: &str = "users";

impl World {
    /// Returns the worst risk of permissions that a subject has in a scope; none for permissions without a risk. The subject is
    /// written as in a [`crate::compare::Affected`].
    pub fn worst_risk(
        &self,
        subject: &str,
        scope: &PermissionScope,
        permissions: &[PolicyRule],
    ) -> Option<(&'static RiskRule, RiskSeverity)> {
        let mut builder = Builder::new(self.minor());
        if permissions.iter().any(|rule| !rule.resource_names.is_empty()) {
            // The names can be names of default roles.
            builder = builder.with_default_policy(self.minor());
        }
        self.custom.iter().for_each(|resource| builder.know(resource.clone()));
        let namespace =
            scope.namespace().map(|namespace| if is_of_control_plane(namespace) { namespace } else { NAMESPACE });
        let metadata = |name: &str| match namespace {
            Some(namespace) => json!({"name": name, "namespace": namespace}),
            None => json!({"name": name}),
        };
        let (role, binding) =
            if namespace.is_some() { ("Role", "RoleBinding") } else { ("ClusterRole", "ClusterRoleBinding") };
        let api_version = format!("{GROUP}/v1");
        let objects = [
            json!({"apiVersion": api_version, "kind": role, "metadata": metadata(NAME), "rules": permissions}),
            json!({
                "apiVersion": api_version, "kind": binding, "metadata": metadata(NAME), "subjects": [subject_of(subject)],
                "roleRef": {"apiGroup": GROUP, "kind": role, "name": NAME},
            }),
        ];
        for object in &objects {
            yaml::from_json(object).documents().for_each(|document| builder.add_document(document, |_, _| {}));
        }
        let counts = |rule: &&RiskRule| rule.condition().is_some() || SUBJECT_RULES.contains(&rule.id);
        let options = RiskOptions { rules: table::all().filter(counts).collect(), apart: false, one_per_cause: false };
        let findings = builder.build().findings(&options);
        let own = findings.iter().filter(|finding| {
            finding.first.iter().any(|first| first.subject == subject) || finding.rule.condition().is_none()
        });
        own.max_by_key(|finding| finding.severity).map(|finding| (finding.rule, finding.severity))
    }
}

fn is_of_control_plane(namespace: &str) -> bool {
    table::CONTROL_PLANE.contains(&namespace)
}

/// Returns a subject of a binding.
fn subject_of(subject: &str) -> serde_json::Value {
    let (kind, name) = subject.split_once('/').unwrap_or(("User", subject));
    match (kind, name.split_once('/')) {
        ("ServiceAccount", Some((namespace, name))) => json!({"kind": kind, "namespace": namespace, "name": name}),
        _ => json!({"kind": kind, "name": name, "apiGroup": GROUP}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_judged_by_themselves() {
        let world = Builder::new(34).build();
        let rule = |verbs: &str, group: &str, resource: &str| PolicyRule {
            verbs: verbs.split(',').map(str::to_owned).collect(),
            api_groups: vec![group.to_owned()],
            resources: vec![resource.to_owned()],
            ..PolicyRule::default()
        };
        let judge = |subject: &str, scope: &PermissionScope, rule: PolicyRule| {
            world.worst_risk(subject, scope, &[rule]).map(|(rule, severity)| (rule.id, severity))
        };
        let (cluster, local) = (PermissionScope::Cluster, PermissionScope::Namespace("shop".to_owned()));
        assert_eq!(judge("Group/a", &cluster, rule("list", "", "secrets")), Some(("S002", RiskSeverity::Critical)));
        assert_eq!(judge("Group/a", &local, rule("create", "", "pods")), Some(("W001", RiskSeverity::High)));
        assert_eq!(judge("Group/a", &local, rule("get", "apps", "deployments")), None);
        let all = "Group/system:authenticated";
        assert_eq!(judge(all, &cluster, rule("get", "apps", "deployments")), Some(("B002", RiskSeverity::High)));
    }
}

//! The admission policy of a Guard and its binding.

use std::collections::BTreeSet;
use std::sync::Arc;

use bailiwick_kubernetes::rbac;
use bailiwick_kubernetes::validation_action::ValidationAction;
use bailiwick_yaml::diag::Origin;
use serde_json::{Value as Json, json};

use super::{GuardSpec, GuardedPart, platform};
use crate::kinds::pod_security_profile::quoted;
use crate::model::{Data, GuardedKind, GuardedTarget, ObjectId, Target, TypeMeta, Unit, UnitSource};

/// The templates of the kind.
pub(super) const TEMPLATES: &[&str] = &[POLICY_TEMPLATE, BINDING_TEMPLATE];

const POLICY_TEMPLATE: &str = "guard/validatingadmissionpolicy.yaml.j2";
const BINDING_TEMPLATE: &str = "guard/validatingadmissionpolicybinding.yaml.j2";

/// The message for a refused writer, unless the Guard has one.
const MESSAGE: &str =
    "this object is kept in git: only the applier of this cluster and its break-glass groups may write it";

/// The labels that Pod Security reads, up to their last part. Source: `k8s.io/pod-security-admission/api/constants.go`.
const LABELS: &str = "pod-security.kubernetes.io/";

/// The parts of the cluster that are whole API groups of guarded kinds; every version of a group is guarded.
const GROUPS: [(GuardedPart, &str); 2] =
    [(GuardedPart::Rbac, rbac::GROUP), (GuardedPart::WebhookConfigurations, "admissionregistration.k8s.io")];

/// Resources whose writes can change the labels of a namespace. Source: `pkg/registry/core/namespace/strategy.go` of
/// Kubernetes 1.37: updates of both subresources keep spec or status, and take the new labels.
const NAMESPACES: [&str; 3] = ["namespaces", "namespaces/finalize", "namespaces/status"];

/// The identities that may write guarded objects.
struct Writers {
    users: BTreeSet<String>,
    groups: BTreeSet<String>,
}

impl Writers {
    /// Collects the identities of a target with an applier.
    fn new(spec: &GuardSpec, target: &Target, applier: &str) -> Self {
        let mut users: BTreeSet<String> =
            platform::writers(target.platform).map(|writer| writer.user).chain([applier.to_owned()]).collect();
        let mut groups: BTreeSet<String> = spec.break_glass.groups.iter().map(|group| group.value.clone()).collect();
        if let Some(allow) = &spec.allow {
            users.extend(allow.users.iter().map(|user| user.value.clone()));
            users.extend(allow.service_accounts.iter().map(|account| account.user()));
            groups.extend(allow.groups.iter().map(|group| group.value.clone()));
        }
        Self { users, groups }
    }

    /// Returns the expression that holds for a request of one of them. An anonymous request can lack both fields.
    fn expression(&self) -> String {
        let list = |names: &BTreeSet<String>| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        format!(
            "(has(request.userInfo.username) && request.userInfo.username in [{}]) || \
             (has(request.userInfo.groups) && request.userInfo.groups.exists(group, group in [{}]))",
            list(&self.users),
            list(&self.groups)
        )
    }
}

/// Returns the fact about a target with an applier.
pub(super) fn fact(spec: &GuardSpec, target: &Target, origin: Origin) -> Option<GuardedTarget> {
    let applier = target.applied_by.as_ref()?.user.clone();
    let Writers { users, groups } = Writers::new(spec, target, &applier);
    let targets = BTreeSet::from([target.name.clone()]);
    Some(GuardedTarget {
        applier,
        platform: platform::writers(target.platform).collect(),
        users,
        groups,
        denies: spec.validation_actions().contains(&ValidationAction::Deny),
        parts: GuardedPart::ALL.into_iter().filter(|part| spec.guards(*part)).map(GuardedPart::name).collect(),
        origin,
        targets,
    })
}

/// Builds the policy and its binding for a target with an applier.
pub(super) fn of_target(spec: &GuardSpec, target: &Target, origin: Origin) -> Vec<Unit> {
    let Some(applier) = &target.applied_by else { return Vec::new() };
    let writers = Writers::new(spec, target, &applier.user);
    let message = spec.message.as_ref().map_or(MESSAGE, |message| message.value.as_str());
    let policy = [
        ("resourceRules", Json::Array(resource_rules(spec))),
        ("variables", Json::Array(variables(spec, &writers))),
        ("validations", json!([{"expression": validation(spec), "message": message, "reason": "Forbidden"}])),
    ];
    let actions: BTreeSet<&str> = spec.validation_actions().iter().map(|action| action.name()).collect();
    let binding = [("validationActions", json!(actions))];
    vec![
        unit("ValidatingAdmissionPolicy", POLICY_TEMPLATE, &policy, origin),
        unit("ValidatingAdmissionPolicyBinding", BINDING_TEMPLATE, &binding, origin),
    ]
}

fn resource_rules(spec: &GuardSpec) -> Vec<Json> {
    let groups = GROUPS.iter().filter(|(part, _)| spec.guards(*part));
    let mut rules: Vec<Json> = groups
        .map(|(_, group)| {
            let kinds = GuardedKind::ALL.iter().filter(|kind| kind.api_group == *group);
            let resources: Vec<&str> = kinds.map(|kind| kind.resource).collect();
            rule([group, "*"], &["CREATE", "DELETE", "UPDATE"], &resources)
        })
        .collect();
    if spec.guards(GuardedPart::PodSecurityLabels) {
        rules.push(rule(["", "v1"], &["CREATE", "UPDATE"], &NAMESPACES));
    }
    rules
}

fn rule([group, version]: [&str; 2], operations: &[&str], resources: &[&str]) -> Json {
    json!({
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": operations,
        "resources": resources,
        "scope": "*",
    })
}

/// Returns the variables of the expression. A DELETE has no `object`, a CREATE no `oldObject`, and an object without
/// labels no map of them.
fn variables(spec: &GuardSpec, writers: &Writers) -> Vec<Json> {
    let variable = |name: &str, expression: &str| json!({"name": name, "expression": expression});
    let mut variables = vec![variable("mayWrite", &writers.expression())];
    if spec.guards(GuardedPart::PodSecurityLabels) {
        let labels = |object: &str| {
            format!("{object} != null && has({object}.metadata.labels) ? {object}.metadata.labels : {{}}")
        };
        let changes = format!(
            "variables.newLabels.exists(key, key.startsWith('{LABELS}') && \
             (!(key in variables.oldLabels) || variables.oldLabels[key] != variables.newLabels[key])) || \
             variables.oldLabels.exists(key, key.startsWith('{LABELS}') && !(key in variables.newLabels))"
        );
        variables.extend([
            variable("isNamespace", "request.resource.group == '' && request.resource.resource == 'namespaces'"),
            variable("newLabels", &labels("object")),
            variable("oldLabels", &labels("oldObject")),
            variable("changesPodSecurity", &changes),
        ]);
    }
    variables
}

fn validation(spec: &GuardSpec) -> &'static str {
    if spec.guards(GuardedPart::PodSecurityLabels) {
        "variables.mayWrite || (variables.isNamespace && !variables.changesPodSecurity)"
    } else {
        "variables.mayWrite"
    }
}

fn unit(kind: &str, template: &'static str, fields: &[(&'static str, Json)], origin: Origin) -> Unit {
    let name: Arc<str> = GuardedTarget::OBJECT.into();
    let own = [
        ("name", Data::Str(Arc::clone(&name))),
        ("namespace", Data::Null),
        ("labels", Data::Null),
        ("annotations", Data::Null),
    ];
    let fields = fields.iter().map(|(name, value)| (*name, Data::from_json(value)));
    Unit {
        identity: ObjectId {
            object_type: TypeMeta::new("admissionregistration.k8s.io/v1", kind),
            namespace: None,
            name,
        },
        template: template.into(),
        data: Data::map(own.into_iter().chain(fields)),
        origin,
        content: origin,
        account: None,
        without_levels: false,
        source: UnitSource::default(),
    }
}

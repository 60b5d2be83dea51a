//! `Guard`: an admission policy that leaves guarded objects to the applier.

mod check;
mod platform;
mod policy;

use std::collections::BTreeMap;

use bailiwick_kubernetes::validation_action::ValidationAction;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::Sink;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::{
    CommonMetadataSpec, Contribution, Kind, Linker, OutputFileKey, Patterns, Policy, PolicyMeta, RawDocument, Target,
    Unit,
};

/// The policy kind `Guard`.
pub struct GuardKind;

/// An admission policy for RBAC, webhook configurations and Pod Security labels: only the applier of the target, the
/// controllers of Kubernetes and a break-glass group write them.
///
/// A Guard writes one ValidatingAdmissionPolicy and its binding, both with the name `bailiwick-guard`. This requires
/// Kubernetes 1.30 and `appliedBy` of each target. The API server refuses other writers, with every permission of RBAC:
///
/// - create, update, patch and delete of Roles, ClusterRoles, RoleBindings and ClusterRoleBindings;
/// - the same of ValidatingWebhookConfigurations and MutatingWebhookConfigurations;
/// - labels `pod-security.kubernetes.io/*` of namespaces, through `namespaces`, `namespaces/status` and
///   `namespaces/finalize`. Each subject with the permission of RBAC still creates
///   namespaces without such labels.
///
/// The user of `appliedBy` may write; its groups may not. The controllers for aggregated roles, namespaces, garbage and
/// storage versions may write, and the API server itself.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: Guard
/// metadata:
///   name: git
/// spec:
///   breakGlass: {groups: [cluster-emergency]}
///   allow:
///     serviceAccounts:
///     - {namespace: cert-manager, name: cert-manager-cainjector}
///   validationActions: [Deny]
///   message: this object is kept in example.com/access, ask in the channel "access"
/// ```
///
/// Texts are literal; they have no variables.
///
/// **Adopt it** with `validationActions: [Audit]`. Nothing is refused, and the audit log has the annotation
/// `validation.policy.admission.k8s.io/validation_failure` at each write that `Deny` would refuse. Add operators such as
/// the injector of cert-manager and OLM to `allow`, then write `Deny`. On OpenShift the accounts of the operators that
/// write RBAC are not known here: `Deny` needs `allow`.
///
/// **Break the glass** as a member of a group of `breakGlass`: its writes pass, as far as RBAC permits them. A tool such
/// as kubeadm writes RBAC during an upgrade: upgrade as a member, or add its identity to `allow`. Without a
/// member, delete the binding `bailiwick-guard`; the next apply brings it back.
///
/// **Not refused** are writes of admission policies and their bindings, since the API server asks no admission policy
/// about them: each subject with permission to update or delete ValidatingAdmissionPolicies or their bindings can switch the Guard off.
/// A subject with permission to impersonate an allowed identity, or to get a token of an allowed service account by
/// `serviceaccounts/token`, a pod or a Secret of its namespace, writes in its name. Static manifests of the control plane and writes to etcd
/// pass no admission. A namespace that is deleted and created again has no Pod Security labels until the next apply.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GuardSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Labels and annotations of every object of the policy.
    #[serde(default)]
    pub common_metadata: CommonMetadataSpec,
    /// The identities for an emergency.
    pub break_glass: BreakGlass,
    /// Further identities that write guarded objects, such as operators.
    #[serde(default)]
    pub allow: Option<AllowedWriters>,
    /// The guarded parts of the cluster. Default: all of them.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub guards: Option<Vec<GuardedPart>>,
    /// The actions of the binding at a write by others: `Deny`, `Audit`, `Warn`. Default: `Deny`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub validation_actions: Option<Vec<ValidationAction>>,
    /// The message for a refused writer, one line: the place of the policies. Default: a line about git.
    #[serde(default)]
    pub message: Option<Spanned<String>>,
}

/// The identities for an emergency.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BreakGlass {
    /// Group names. A group of all users or all service accounts is an error.
    #[schemars(length(min = 1))]
    pub groups: Vec<Spanned<String>>,
}

/// Identities that write guarded objects.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AllowedWriters {
    /// User names, exactly as the authenticator gives them.
    #[serde(default)]
    pub users: Vec<Spanned<String>>,
    /// Group names.
    #[serde(default)]
    pub groups: Vec<Spanned<String>>,
    /// ServiceAccounts by namespace and name.
    #[serde(default)]
    pub service_accounts: Vec<AllowedAccount>,
}

/// A service account that writes guarded objects.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowedAccount {
    /// The namespace of the ServiceAccount.
    pub namespace: Spanned<String>,
    /// The name of the ServiceAccount.
    pub name: Spanned<String>,
}

impl AllowedAccount {
    /// Returns its user name.
    fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace.value, self.name.value)
    }
}

/// A guarded part of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GuardedPart {
    /// Roles and their bindings.
    Rbac,
    /// ValidatingWebhookConfigurations and MutatingWebhookConfigurations.
    WebhookConfigurations,
    /// The labels of namespaces that Pod Security reads.
    PodSecurityLabels,
}

impl GuardedPart {
    /// Every part.
    const ALL: [Self; 3] = [Self::Rbac, Self::WebhookConfigurations, Self::PodSecurityLabels];

    /// Returns its word in a Guard.
    fn name(self) -> &'static str {
        match self {
            Self::Rbac => "rbac",
            Self::WebhookConfigurations => "webhookConfigurations",
            Self::PodSecurityLabels => "podSecurityLabels",
        }
    }
}

impl GuardSpec {
    fn guards(&self, part: GuardedPart) -> bool {
        self.guards.as_ref().is_none_or(|parts| parts.contains(&part))
    }

    fn validation_actions(&self) -> &[ValidationAction] {
        self.validation_actions.as_deref().map_or(&[ValidationAction::Deny], |actions| actions)
    }
}

impl Kind for GuardKind {
    type Spec = GuardSpec;

    const NAME: &'static str = "Guard";
    const TEMPLATES: &'static [&'static str] = policy::TEMPLATES;
    const PATTERNS: Patterns = Patterns::Own;

    fn link(
        document: &RawDocument<'_>,
        spec: GuardSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        let meta = document.meta.clone();
        let targets = linker.targets_of(&meta);
        let mut found = Sink::new();
        check::guard(&spec, meta.origin, &targets, &mut found);
        let is_usable = !found.has_errors();
        sink.absorb(found);
        targets
            .iter()
            .filter_map(|target| policy::fact(&spec, target, meta.origin))
            .for_each(|fact| linker.facts.push(fact));
        let objects = |target: &Target| (target.name.clone(), policy::of_target(&spec, target, meta.origin));
        let made = targets.iter().map(objects).collect();
        is_usable.then(|| Box::new(Linked { meta, made }) as Box<dyn Policy>)
    }
}

struct Linked {
    meta: PolicyMeta,
    /// The objects of each target.
    made: BTreeMap<String, Vec<Unit>>,
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        if self.made.contains_key(&target.name) {
            visit(OutputFileKey::Cluster, 0);
        }
    }

    fn expand(&self, target: &Target, _: &OutputFileKey, _: Contribution, units: &mut Vec<Unit>) {
        units.extend(self.made.get(&target.name).into_iter().flatten().cloned());
    }
}

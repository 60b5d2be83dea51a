//! The columns `edge` and `to`: the step of the graph of permissions opened by a row.

use schemars::JsonSchema;
use serde::Serialize;

/// A kind of step in an escalation path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// A binding grants it.
    Held,
    /// Creating pods with any service account.
    CreatePods,
    /// Writing objects whose controllers create pods.
    ChangeWorkloads,
    /// Changing running pods.
    ChangePods,
    /// Running commands in pods.
    Exec,
    /// Requesting tokens of service accounts.
    TokenRequest,
    /// Reading Secrets.
    ReadSecrets,
    /// Creating and reading token Secrets.
    MakeTokenSecret,
    /// Acting as another identity.
    Impersonate,
    /// Binding roles with more permissions.
    BindRole,
    /// Writing roles with more permissions.
    EscalateRole,
    /// Writing roles and bindings within the own permissions.
    WriteRbac,
    /// Approving certificates.
    ApproveCsr,
    /// Signing certificates.
    SignCsr,
    /// Writing webhooks that change objects.
    WriteMutatingWebhooks,
    /// Writing webhooks that read and reject objects.
    WriteValidatingWebhooks,
    /// Writing admission policies.
    WriteAdmissionPolicies,
    /// Answering for API groups.
    WriteApiservices,
    /// Requests to the kubelet by `nodes/proxy`.
    KubeletApi,
    /// Creating volumes of folders of a node.
    Volumes,
    /// Control of a node.
    Node,
    /// Changing the labels of a namespace.
    NamespaceLabels,
    /// Use of a SecurityContextConstraints object.
    UseScc,
    /// Use of a PodSecurityPolicy.
    UsePsp,
    /// Writing a ClusterRole gathered by another one.
    Aggregate,
    /// Writing objects of a GitOps controller.
    DriveGitops,
    /// Writing objects of a package manager.
    DriveInstaller,
}

impl EdgeKind {
    /// Every kind.
    pub const ALL: [EdgeKind; 27] = [
        EdgeKind::Held,
        EdgeKind::CreatePods,
        EdgeKind::ChangeWorkloads,
        EdgeKind::ChangePods,
        EdgeKind::Exec,
        EdgeKind::TokenRequest,
        EdgeKind::ReadSecrets,
        EdgeKind::MakeTokenSecret,
        EdgeKind::Impersonate,
        EdgeKind::BindRole,
        EdgeKind::EscalateRole,
        EdgeKind::WriteRbac,
        EdgeKind::ApproveCsr,
        EdgeKind::SignCsr,
        EdgeKind::WriteMutatingWebhooks,
        EdgeKind::WriteValidatingWebhooks,
        EdgeKind::WriteAdmissionPolicies,
        EdgeKind::WriteApiservices,
        EdgeKind::KubeletApi,
        EdgeKind::Volumes,
        EdgeKind::Node,
        EdgeKind::NamespaceLabels,
        EdgeKind::UseScc,
        EdgeKind::UsePsp,
        EdgeKind::Aggregate,
        EdgeKind::DriveGitops,
        EdgeKind::DriveInstaller,
    ];

    /// Returns the name of the kind, such as `create-pods`.
    pub fn word(self) -> &'static str {
        match self {
            EdgeKind::Held => "held",
            EdgeKind::CreatePods => "create-pods",
            EdgeKind::ChangeWorkloads => "change-workloads",
            EdgeKind::ChangePods => "change-pods",
            EdgeKind::Exec => "exec",
            EdgeKind::TokenRequest => "token-request",
            EdgeKind::ReadSecrets => "read-secrets",
            EdgeKind::MakeTokenSecret => "make-token-secret",
            EdgeKind::Impersonate => "impersonate",
            EdgeKind::BindRole => "bind-role",
            EdgeKind::EscalateRole => "escalate-role",
            EdgeKind::WriteRbac => "write-rbac",
            EdgeKind::ApproveCsr => "approve-csr",
            EdgeKind::SignCsr => "sign-csr",
            EdgeKind::WriteMutatingWebhooks => "write-mutating-webhooks",
            EdgeKind::WriteValidatingWebhooks => "write-validating-webhooks",
            EdgeKind::WriteAdmissionPolicies => "write-admission-policies",
            EdgeKind::WriteApiservices => "write-apiservices",
            EdgeKind::KubeletApi => "kubelet-api",
            EdgeKind::Volumes => "volumes",
            EdgeKind::Node => "node",
            EdgeKind::NamespaceLabels => "namespace-labels",
            EdgeKind::UseScc => "use-scc",
            EdgeKind::UsePsp => "use-psp",
            EdgeKind::Aggregate => "aggregate",
            EdgeKind::DriveGitops => "drive-gitops",
            EdgeKind::DriveInstaller => "drive-installer",
        }
    }
}

/// The gain by an edge, before names, the scope and the objects of the cluster decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EdgeTarget {
    /// All permissions of the scope.
    Everything,
    /// All permissions in the scopes of the own ClusterRoles.
    OwnClusterRoles,
    /// All permissions in the namespaces of the own Roles.
    OwnRoles,
    /// Own permissions again, delegated.
    OwnPermissions,
    /// ClusterRoles, cluster-wide.
    ClusterRolesEverywhere,
    /// ClusterRoles, in the namespace.
    ClusterRolesHere,
    /// The Roles of the namespace.
    RolesHere,
    /// The users named by a rule, or any.
    Users,
    /// The groups named by a rule, or any.
    Groups,
    /// Service accounts.
    Accounts,
    /// Identities in certificates of signers.
    Certificates,
    /// Secrets, and the accounts with tokens there.
    Secrets,
    /// Pods with any service account.
    NewPods,
    /// Pods of new workloads.
    NewWorkloads,
    /// Pods of changed workloads.
    ChangedWorkloads,
    /// Pods of others.
    RunningPods,
    /// Every pod of nodes.
    Kubelets,
    /// Objects on their way into the cluster, to be read or rejected.
    Admission,
    /// Objects on their way into the cluster, to be changed.
    Mutation,
    /// Folders of nodes.
    HostFolders,
    /// The limits of pods by the labels of their namespace.
    PodLevel,
    /// The limits of pods by named objects.
    PodPolicies,
    /// A controller that writes objects.
    Controllers,
}

/// An edge of a row: the step and its gain, for some verbs and resources of the condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RiskEdge {
    /// The kind of the step.
    pub kind: EdgeKind,
    /// The gain.
    pub to: EdgeTarget,
    /// The verbs of the condition; empty for all.
    pub(in super::super) verbs: &'static [&'static str],
    /// The resources of the condition; empty for all.
    pub(in super::super) resources: &'static [&'static str],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_serialized_form() {
        for kind in EdgeKind::ALL {
            let word = serde_json::to_value(kind).expect("a word");
            assert_eq!(word, kind.word());
        }
    }
}

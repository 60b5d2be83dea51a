//! One world for each kind of step in which the step exists, and worlds in which its condition blocks it.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::tests_outside_test_module,
    clippy::unwrap_used,
    reason = "a file of tests"
)]

mod support;

use bailiwick_paths::{EdgeKind, EscalationGraph, EscalationPath, Power};
use support::Objects;
use support::manifests::Manifests;

/// A world with the expected steps of the group `a`.
struct Row {
    kind: EdgeKind,
    about: &'static str,
    minor: u32,
    is_openshift: bool,
    manifests: Manifests,
    /// The expected steps, as `create-pods@shop nodes proven`.
    has: &'static [&'static str],
    /// Steps that do not exist: the beginning of their text.
    lacks: &'static [&'static str],
}

const A: &str = "Group/a";

/// Returns a namespace with a level, and an account with all permissions.
fn shop(level: &str) -> Manifests {
    let labels = if level.is_empty() { String::new() } else { format!("pod-security.kubernetes.io/enforce: {level}") };
    Manifests::default().namespace("shop", &labels).account("shop", "boss").bind(
        "ServiceAccount/shop/boss",
        "",
        "ClusterRole",
        "cluster-admin",
    )
}

fn row(kind: EdgeKind, about: &'static str, manifests: Manifests) -> Row {
    Row { kind, about, minor: 34, is_openshift: false, manifests, has: &[], lacks: &[] }
}

impl Row {
    fn has(self, has: &'static [&'static str]) -> Self {
        Self { has, ..self }
    }

    fn lacks(self, lacks: &'static [&'static str]) -> Self {
        Self { lacks, ..self }
    }

    fn minor(self, minor: u32) -> Self {
        Self { minor, ..self }
    }

    fn openshift(self) -> Self {
        Self { is_openshift: true, ..self }
    }
}

fn steps(graph: &EscalationGraph<'_>) -> Vec<String> {
    let steps = graph.direct_steps(A).into_iter();
    steps.map(|step| format!("{} {} {}", step.label(), step.to, step.certainty)).collect()
}

fn check(rows: Vec<Row>) {
    for row in rows {
        let objects = Objects::new(row.minor, row.is_openshift, row.manifests.text());
        let steps = steps(&objects.graph());
        let name = format!("{}: {}", row.kind.word(), row.about);
        for wanted in row.has {
            assert!(steps.iter().any(|step| step == wanted), "{name}: no `{wanted}` among {steps:#?}");
        }
        for unwanted in row.lacks {
            assert!(!steps.iter().any(|step| step.starts_with(unwanted)), "{name}: `{unwanted}` is among {steps:#?}");
        }
    }
}

#[test]
fn new_pods() {
    let kind = EdgeKind::CreatePods;
    check(vec![
        row(kind, "without a level", shop("").grant(A, "shop", "create pods")).has(&[
            "create-pods@shop ServiceAccount/shop/boss proven",
            "create-pods@shop secrets:shop proven",
            "create-pods@shop nodes proven",
        ]),
        row(kind, "a level", shop("baseline").grant(A, "shop", "create pods"))
            .has(&["create-pods@shop ServiceAccount/shop/boss proven"])
            .lacks(&["create-pods@shop nodes"]),
        row(kind, "a level before levels", shop("baseline").grant(A, "shop", "create pods"))
            .minor(22)
            .has(&["create-pods@shop nodes proven"]),
        row(kind, "another namespace", shop("").grant(A, "other", "create pods"))
            .lacks(&["create-pods@shop", "create-pods@other ServiceAccount"]),
        row(kind, "cluster-wide", shop("").grant(A, "", "create pods")).has(&[
            "create-pods any-account proven",
            "create-pods all-secrets proven",
            "create-pods nodes proven",
        ]),
        row(kind, "on OpenShift", shop("").grant("Group/b", "other", "create pods").grant(A, "other", "create pods"))
            .openshift()
            .lacks(&["create-pods@other nodes"]),
        row(kind, "with constraints of the account", {
            let uses = "use securitycontextconstraints.security.openshift.io named privileged";
            shop("").grant("ServiceAccount/other/x", "other", uses).grant(A, "other", "create pods")
        })
        .openshift()
        .has(&["create-pods@other nodes proven"]),
        row(kind, "only reading", shop("").grant(A, "shop", "get,list pods")).lacks(&["create-pods"]),
    ]);
}

#[test]
fn workloads() {
    let kind = EdgeKind::ChangeWorkloads;
    let change = "patch deployments.apps";
    check(vec![
        row(kind, "creation", shop("").grant(A, "shop", "create jobs.batch")).has(&[
            "change-workloads@shop ServiceAccount/shop/boss proven",
            "change-workloads@shop secrets:shop proven",
            "change-workloads@shop nodes proven",
        ]),
        row(kind, "a change without a workload", shop("").grant(A, "shop", change))
            .has(&["change-workloads@shop ServiceAccount/shop/boss possible"]),
        row(kind, "a change", shop("").workload("Deployment", "shop", "web", "web").grant(A, "shop", change))
            .has(&["change-workloads@shop ServiceAccount/shop/boss proven"]),
        row(kind, "another kind", shop("").workload("DaemonSet", "shop", "web", "web").grant(A, "shop", change))
            .has(&["change-workloads@shop ServiceAccount/shop/boss possible"]),
        row(kind, "by name", {
            let named = "patch deployments.apps named web";
            shop("").workload("Deployment", "shop", "web", "web").grant(A, "shop", named)
        })
        .has(&["change-workloads@shop ServiceAccount/shop/boss proven", "change-workloads@shop secrets:shop proven"]),
        row(kind, "by name, cluster-wide", {
            let named = "patch deployments.apps named web";
            shop("").workload("Deployment", "shop", "web", "web").account("other", "x").grant(A, "", named)
        })
        .has(&["change-workloads@shop ServiceAccount/shop/boss proven"])
        .lacks(&["change-workloads any-account", "change-workloads@other"]),
        row(kind, "by another name", {
            let named = "patch deployments.apps named api";
            shop("").workload("Deployment", "shop", "web", "web").grant(A, "shop", named)
        })
        .lacks(&["change-workloads"]),
        row(kind, "a Job, with a template that never changes", {
            shop("").workload("Job", "shop", "web", "web").grant(A, "shop", "update,patch jobs.batch")
        })
        .lacks(&["change-workloads"]),
        row(kind, "own constraints do not count", {
            let uses = "use securitycontextconstraints.security.openshift.io named privileged";
            Manifests::default().grant(A, "other", &format!("create deployments.apps; {uses}"))
        })
        .openshift()
        .lacks(&["change-workloads@other nodes"]),
    ]);
}

#[test]
fn running_pods() {
    let pods = || shop("restricted").pod("shop", "web", "web", "").grant("Group/b", "shop", "create pods");
    check(vec![
        row(EdgeKind::ChangePods, "an update", pods().grant(A, "shop", "update pods"))
            .has(&["change-pods@shop ServiceAccount/shop/web proven"])
            .lacks(&["change-pods@shop ServiceAccount/shop/boss"]),
        row(EdgeKind::ChangePods, "ephemeral containers", pods().grant(A, "shop", "patch pods/ephemeralcontainers"))
            .has(&["change-pods@shop ServiceAccount/shop/web proven"]),
        row(EdgeKind::ChangePods, "privileged containers", {
            let pods = || shop("").pod("shop", "web", "web", "n1");
            pods().grant(A, "shop", "patch pods/ephemeralcontainers named web")
        })
        .has(&["change-pods@shop nodes proven"]),
        row(EdgeKind::ChangePods, "a level against privileged containers", {
            pods().pod("shop", "api", "web", "n1").grant(A, "shop", "patch pods/ephemeralcontainers")
        })
        .lacks(&["change-pods@shop nodes"]),
        row(EdgeKind::ChangePods, "privileged containers of a workload", {
            shop("").workload("Deployment", "shop", "web", "web").grant(A, "shop", "patch pods/ephemeralcontainers")
        })
        .has(&["change-pods@shop nodes possible"]),
        row(EdgeKind::ChangePods, "an image of a pod", {
            shop("").pod("shop", "web", "web", "n1").grant(A, "shop", "patch pods")
        })
        .lacks(&["change-pods@shop nodes"]),
        row(EdgeKind::ChangePods, "another pod", pods().grant(A, "shop", "update pods named api"))
            .lacks(&["change-pods"]),
        row(EdgeKind::Exec, "a command", pods().grant(A, "shop", "create pods/exec"))
            .has(&["exec@shop ServiceAccount/shop/web proven"]),
        row(EdgeKind::Exec, "no pod known", shop("").grant(A, "shop", "create pods/attach"))
            .has(&["exec@shop ServiceAccount/shop/boss possible"]),
        row(EdgeKind::Exec, "get before 1.35", pods().grant(A, "shop", "get pods/exec"))
            .has(&["exec@shop ServiceAccount/shop/web proven"]),
        row(EdgeKind::Exec, "get since 1.35", pods().grant(A, "shop", "get pods/exec")).minor(35).lacks(&["exec"]),
        row(EdgeKind::Exec, "a pod of a workload by name", {
            shop("").workload("StatefulSet", "shop", "db", "db").grant(A, "shop", "create pods/exec named db-0")
        })
        .has(&["exec@shop ServiceAccount/shop/db possible"]),
    ]);
}

#[test]
fn tokens_and_secrets() {
    let token = "{apiVersion: v1, kind: Secret, metadata: {name: boss-token, namespace: shop, annotations: \
                 {kubernetes.io/service-account.name: boss}}, type: kubernetes.io/service-account-token}";
    check(vec![
        row(EdgeKind::TokenRequest, "any", shop("").grant(A, "shop", "create serviceaccounts/token"))
            .has(&["token-request@shop ServiceAccount/shop/boss proven"]),
        row(EdgeKind::TokenRequest, "by name", shop("").grant(A, "shop", "create serviceaccounts/token named web"))
            .lacks(&["token-request"]),
        row(EdgeKind::TokenRequest, "cluster-wide", shop("").grant(A, "", "create serviceaccounts/token"))
            .has(&["token-request any-account proven"]),
        row(EdgeKind::ReadSecrets, "list", shop("").grant(A, "", "list secrets"))
            .has(&["read-secrets all-secrets proven"]),
        row(EdgeKind::ReadSecrets, "another Secret", shop("").grant(A, "shop", "get secrets named tls"))
            .lacks(&["read-secrets"]),
        row(EdgeKind::ReadSecrets, "a token", shop("").object(token).grant(A, "shop", "get secrets named boss-token"))
            .has(&["read-secrets@shop ServiceAccount/shop/boss proven"]),
        row(EdgeKind::MakeTokenSecret, "both", shop("").grant(A, "shop", "create,get secrets"))
            .has(&["make-token-secret@shop ServiceAccount/shop/boss proven"]),
        row(EdgeKind::MakeTokenSecret, "creation alone", shop("").grant(A, "shop", "create secrets"))
            .lacks(&["make-token-secret"]),
    ]);
}

#[test]
fn identities() {
    let csr = "create certificatesigningrequests.certificates.k8s.io; update \
               certificatesigningrequests/approval.certificates.k8s.io; approve signers.certificates.k8s.io named";
    let sign = "update certificatesigningrequests/status.certificates.k8s.io; sign signers.certificates.k8s.io";
    let constrained = "impersonate:user-info users.authentication.k8s.io; impersonate-on:user-info:list pods";
    check(vec![
        row(EdgeKind::Impersonate, "users", shop("").grant(A, "", "impersonate users"))
            .has(&["impersonate any-user proven"]),
        row(EdgeKind::Impersonate, "an account as a user", {
            shop("").grant(A, "", "impersonate users named system:serviceaccount:shop:boss")
        })
        .lacks(&["impersonate"]),
        row(EdgeKind::Impersonate, "groups", shop("").grant(A, "", "impersonate users,groups"))
            .has(&["impersonate cluster-admin proven"]),
        row(EdgeKind::Impersonate, "groups without users", shop("").grant(A, "", "impersonate groups"))
            .lacks(&["impersonate"]),
        row(EdgeKind::Impersonate, "a group", {
            shop("").grant("Group/b", "shop", "get pods").grant(A, "", "impersonate users; impersonate groups named b")
        })
        .has(&["impersonate Group/b proven"])
        .lacks(&["impersonate cluster-admin"]),
        row(EdgeKind::Impersonate, "accounts", shop("").grant(A, "shop", "impersonate serviceaccounts"))
            .has(&["impersonate@shop ServiceAccount/shop/boss proven"]),
        row(EdgeKind::Impersonate, "users of a namespace", shop("").grant(A, "shop", "impersonate users"))
            .lacks(&["impersonate"]),
        row(EdgeKind::Impersonate, "constrained", shop("").grant(A, "", constrained))
            .minor(36)
            .has(&["impersonate any-user possible"]),
        row(EdgeKind::Impersonate, "constrained before", shop("").grant(A, "", constrained)).lacks(&["impersonate"]),
        row(EdgeKind::ApproveCsr, "users", {
            shop("").grant(A, "", &format!("{csr} kubernetes.io/kube-apiserver-client"))
        })
        .has(&["approve-csr any-user proven"]),
        row(EdgeKind::ApproveCsr, "kubelets", {
            shop("").grant(A, "", &format!("{csr} kubernetes.io/kube-apiserver-client-kubelet"))
        })
        .has(&["approve-csr nodes proven"])
        .lacks(&["approve-csr any-user"]),
        row(EdgeKind::ApproveCsr, "another signer", shop("").grant(A, "", &format!("{csr} example.org/own")))
            .lacks(&["approve-csr"]),
        row(EdgeKind::SignCsr, "any signer", shop("").grant(A, "", sign)).has(&["sign-csr any-user possible"]),
        row(EdgeKind::SignCsr, "no signer", {
            shop("").grant(A, "", "update certificatesigningrequests/status.certificates.k8s.io")
        })
        .lacks(&["sign-csr"]),
    ]);
}

#[test]
fn bindings_of_roles() {
    let bind = "bind clusterroles.rbac; create rolebindings.rbac";
    check(vec![
        row(EdgeKind::BindRole, "any role", shop("").grant(A, "shop", bind))
            .has(&["bind-role@shop namespace-admin:shop proven"])
            .lacks(&["bind-role cluster-admin"]),
        row(EdgeKind::BindRole, "bind alone", shop("").grant(A, "shop", "bind clusterroles.rbac"))
            .lacks(&["bind-role"]),
        row(EdgeKind::BindRole, "changes without a binding", {
            shop("").grant(A, "shop", "bind clusterroles.rbac; patch rolebindings.rbac")
        })
        .lacks(&["bind-role"]),
        row(EdgeKind::BindRole, "changes of a binding", {
            let keepers = shop("").bind("Group/b", "shop", "ClusterRole", "view");
            keepers.grant(A, "shop", "bind clusterroles.rbac; patch rolebindings.rbac")
        })
        .has(&["bind-role@shop Group/a proven"])
        .lacks(&["bind-role@shop namespace-admin"]),
        row(EdgeKind::BindRole, "changes of a binding of a Role", {
            let keepers = shop("").grant("Group/b", "shop", "get secrets");
            keepers.grant(A, "shop", "bind roles.rbac; update rolebindings.rbac")
        })
        .has(&["bind-role@shop Group/a proven"]),
        row(EdgeKind::BindRole, "changes in any namespace", {
            let keepers = shop("").bind("Group/b", "shop", "ClusterRole", "view");
            keepers.grant(A, "", "bind clusterroles.rbac; patch rolebindings.rbac")
        })
        .has(&["bind-role Group/a proven"])
        .lacks(&["bind-role any-account"]),
        row(EdgeKind::BindRole, "cluster-wide", {
            shop("").grant(A, "", "bind clusterroles.rbac; create clusterrolebindings.rbac")
        })
        .has(&["bind-role cluster-admin proven"]),
        row(EdgeKind::BindRole, "one role", {
            shop("").grant(A, "shop", "bind clusterroles.rbac named view; create rolebindings.rbac")
        })
        .has(&["bind-role@shop Group/a proven"])
        .lacks(&["bind-role@shop namespace-admin"]),
    ]);
}

#[test]
fn roles() {
    let escalate = "escalate,patch clusterroles.rbac";
    check(vec![
        row(EdgeKind::Held, "all permissions", shop("").bind(A, "", "ClusterRole", "cluster-admin"))
            .has(&["held cluster-admin proven"]),
        row(EdgeKind::Held, "all permissions of a namespace", shop("").bind(A, "shop", "ClusterRole", "cluster-admin"))
            .has(&["held@shop namespace-admin:shop proven"])
            .lacks(&["held cluster-admin"]),
        row(EdgeKind::WriteRbac, "all permissions", shop("").bind(A, "", "ClusterRole", "cluster-admin"))
            .has(&["write-rbac cluster-admin proven"]),
        row(EdgeKind::WriteRbac, "fewer permissions", {
            shop("").grant(A, "", "create,update clusterroles.rbac,clusterrolebindings.rbac")
        })
        .lacks(&["write-rbac", "escalate-role", "bind-role"]),
        row(EdgeKind::EscalateRole, "the own role", shop("").grant(A, "", escalate))
            .has(&["escalate-role cluster-admin proven"]),
        row(EdgeKind::EscalateRole, "another role", {
            shop("").grant(A, "", "escalate,patch clusterroles.rbac named view")
        })
        .lacks(&["escalate-role"]),
        row(EdgeKind::EscalateRole, "a Role", shop("").grant(A, "shop", "escalate,update roles.rbac"))
            .has(&["escalate-role@shop namespace-admin:shop proven"]),
        row(EdgeKind::EscalateRole, "a new Role", {
            shop("").grant(A, "", "escalate,create,patch roles.rbac; create rolebindings.rbac")
        })
        .has(&["escalate-role any-account proven"]),
        row(EdgeKind::EscalateRole, "a new Role that never changes", {
            shop("").grant(A, "", "escalate,create roles.rbac; create rolebindings.rbac")
        })
        .lacks(&["escalate-role"]),
        row(EdgeKind::Aggregate, "an aggregated role", {
            let view = shop("").bind(A, "shop", "ClusterRole", "view");
            view.grant(A, "", "escalate,create clusterroles.rbac")
        })
        .has(&["aggregate namespace-admin:shop proven"])
        .lacks(&["escalate-role"]),
        row(EdgeKind::Aggregate, "without escalate", {
            shop("").bind(A, "shop", "ClusterRole", "view").grant(A, "", "create clusterroles.rbac")
        })
        .lacks(&["aggregate"]),
    ]);
}

#[test]
fn admission() {
    let group = "admissionregistration.k8s.io";
    let write = |resource: &str| shop("").grant(A, "", &format!("create {resource}.{group}"));
    let update = |resource: &str| shop("").grant(A, "", &format!("update {resource}.{group}"));
    let delete = "delete mutatingwebhookconfigurations.admissionregistration.k8s.io";
    check(vec![
        row(EdgeKind::WriteMutatingWebhooks, "creation", write("mutatingwebhookconfigurations"))
            .has(&["write-mutating-webhooks admission proven"]),
        row(EdgeKind::WriteMutatingWebhooks, "an update", update("mutatingwebhookconfigurations"))
            .has(&["write-mutating-webhooks admission possible"]),
        row(EdgeKind::WriteMutatingWebhooks, "a deletion", shop("").grant(A, "", delete))
            .lacks(&["write-mutating-webhooks"]),
        row(EdgeKind::WriteValidatingWebhooks, "creation", write("validatingwebhookconfigurations"))
            .has(&["write-validating-webhooks admission proven"])
            .lacks(&["write-mutating-webhooks"]),
        row(EdgeKind::WriteAdmissionPolicies, "creation", {
            let both = "validatingadmissionpolicies.admissionregistration.k8s.io,validatingadmissionpolicybindings";
            write(both)
        })
        .has(&["write-admission-policies admission proven"]),
        row(EdgeKind::WriteAdmissionPolicies, "creation without bindings", write("validatingadmissionpolicies"))
            .has(&["write-admission-policies admission possible"]),
        row(EdgeKind::WriteAdmissionPolicies, "in a namespace", {
            shop("").grant(A, "shop", "update validatingadmissionpolicies.admissionregistration.k8s.io")
        })
        .lacks(&["write-admission-policies"]),
        row(EdgeKind::WriteAdmissionPolicies, "a deletion", {
            shop("").grant(A, "", "delete mutatingadmissionpolicies.admissionregistration.k8s.io")
        })
        .lacks(&["write-admission-policies"]),
        row(EdgeKind::WriteApiservices, "a deletion", {
            shop("").grant(A, "", "delete apiservices.apiregistration.k8s.io")
        })
        .lacks(&["write-apiservices"]),
        row(
            EdgeKind::WriteApiservices,
            "an update",
            shop("").grant(A, "", "update apiservices.apiregistration.k8s.io"),
        )
        .has(&["write-apiservices admission proven"]),
        row(EdgeKind::WriteApiservices, "reading", shop("").grant(A, "", "get apiservices.apiregistration.k8s.io"))
            .lacks(&["write-apiservices"]),
    ]);
    let objects = Objects::new(34, false, write("mutatingwebhookconfigurations").text());
    let paths = objects.graph().paths_of(A);
    let found: Vec<String> = paths.iter().map(|path| format!("{} {}", path.reaches, path.certainty)).collect();
    assert_eq!(found, ["cluster-admin possible", "admission proven"]);
    let objects = Objects::new(34, false, write("validatingwebhookconfigurations").text());
    let reached: Vec<Power> = objects.graph().paths_of(A).into_iter().map(|path| path.reaches).collect();
    assert_eq!(reached, [Power::Admission]);
}

#[test]
fn nodes() {
    let restricted = || shop("restricted").namespace("kube-system", "pod-security.kubernetes.io/enforce: baseline");
    let baseline = || shop("baseline");
    let volumes = "create persistentvolumes; create pods";
    check(vec![
        row(EdgeKind::KubeletApi, "any node", shop("").grant(A, "", "get nodes/proxy"))
            .has(&["kubelet-api nodes proven"]),
        row(EdgeKind::KubeletApi, "metrics", shop("").grant(A, "", "get nodes/metrics")).lacks(&["kubelet-api"]),
        row(
            EdgeKind::Volumes,
            "with pods",
            baseline().grant(A, "shop", "create pods").grant(A, "", "create persistentvolumes"),
        )
        .has(&["volumes Group/a proven", "create-pods@shop nodes proven"]),
        row(EdgeKind::Volumes, "without pods", baseline().grant(A, "", "create persistentvolumes")).lacks(&["volumes"]),
        row(EdgeKind::Volumes, "without root", {
            restricted().grant(A, "shop", "create pods").grant(A, "", "create persistentvolumes")
        })
        .has(&["create-pods@shop nodes possible"])
        .lacks(&["create-pods@shop nodes proven"]),
        row(EdgeKind::Volumes, "changes of volumes", {
            baseline().grant(A, "shop", "create pods").grant(A, "", "update,patch persistentvolumes")
        })
        .lacks(&["volumes", "create-pods@shop nodes"]),
        row(EdgeKind::Volumes, "in a namespace", baseline().grant(A, "shop", volumes)).lacks(&["volumes"]),
        row(EdgeKind::NamespaceLabels, "of the own namespace", {
            baseline().grant(A, "shop", "create pods; patch namespaces")
        })
        .has(&["namespace-labels@shop Group/a proven", "create-pods@shop nodes proven"]),
        row(EdgeKind::NamespaceLabels, "without pods", baseline().grant(A, "shop", "patch namespaces"))
            .lacks(&["namespace-labels"]),
        row(EdgeKind::NamespaceLabels, "of new namespaces", {
            baseline().grant(A, "shop", "create pods").grant(A, "", "create namespaces")
        })
        .lacks(&["namespace-labels"]),
        row(EdgeKind::NamespaceLabels, "of another namespace", {
            baseline().grant(A, "shop", "create pods").grant(A, "", "patch namespaces named other")
        })
        .lacks(&["namespace-labels"]),
    ]);
}

#[test]
fn accounts_on_nodes() {
    let steps_from_nodes = |manifests: Manifests, power: &str| {
        let objects = Objects::new(34, false, manifests.grant(A, "other", "create pods").text());
        let paths = objects.graph().paths_of(A);
        paths.iter().find(|path| path.reaches.to_string() == power).map(|path| path.certainty.word())
    };
    let agent = |kind| shop("").workload(kind, "shop", "agent", "boss");
    assert_eq!(steps_from_nodes(agent("DaemonSet"), "cluster-admin"), Some("proven"));
    assert_eq!(steps_from_nodes(agent("Deployment"), "cluster-admin"), Some("possible"));
    assert_eq!(steps_from_nodes(shop("").pod("shop", "agent", "boss", "n1"), "cluster-admin"), Some("proven"));
    assert_eq!(steps_from_nodes(shop(""), "cluster-admin"), None);
}

/// Returns the steps of the best path to a power, with its certainty.
fn best_path(manifests: &Manifests, power: &Power) -> Option<String> {
    let objects = Objects::bare(34, manifests.text());
    let path = objects.graph().paths_of(A).into_iter().find(|path| path.reaches == *power)?;
    Some(format!("{} {}", path.certainty, path.via().join(" ")))
}

#[test]
fn a_named_node_has_the_pods_of_that_node() {
    let shop = || Manifests::default().grant("ServiceAccount/shop/boss", "", "* *.*");
    let on = |node| shop().pod("shop", "agent", "boss", node).grant(A, "", "get nodes/proxy named n1");
    let path = "proven kubelet-api nodes node ServiceAccount/shop/boss held cluster-admin";
    assert_eq!(best_path(&on("n1"), &Power::ClusterAdmin).as_deref(), Some(path));
    assert_eq!(best_path(&on("n2"), &Power::ClusterAdmin), None);
    assert!(best_path(&on("n2"), &Power::Nodes).is_some());
    let daemon = shop().workload("DaemonSet", "shop", "agent", "boss").grant(A, "", "get nodes/proxy named n1");
    assert_eq!(best_path(&daemon, &Power::ClusterAdmin).as_deref(), Some(path));
}

#[test]
fn a_certificate_names_groups_and_service_accounts() {
    let csr = "create certificatesigningrequests.certificates.k8s.io; update \
               certificatesigningrequests/approval.certificates.k8s.io; approve signers.certificates.k8s.io named \
               kubernetes.io/kube-apiserver-client";
    let of_subject = |subject| Manifests::default().grant(subject, "", "* *.*");
    let path = |subject: &str| format!("proven approve-csr any-user held {subject} held cluster-admin");
    for subject in ["Group/admins", "User/root", "ServiceAccount/shop/boss"] {
        let found = best_path(&of_subject(subject).grant(A, "", csr), &Power::ClusterAdmin);
        assert_eq!(found, Some(path(subject)));
    }
}

#[test]
fn an_impersonated_user_is_no_group_and_no_service_account() {
    for subject in ["Group/admins", "ServiceAccount/shop/boss"] {
        let world = Manifests::default().grant(subject, "", "* *.*");
        let objects = Objects::bare(34, world.grant(A, "", "impersonate users").text());
        let reached: Vec<Power> = objects.graph().paths_of(A).into_iter().map(|path| path.reaches).collect();
        assert_eq!(reached, [Power::AnyUser], "{subject}");
    }
}

#[test]
fn a_path_within_a_better_one_is_left_out() {
    let world = shop("").account("shop", "web").grant(A, "", "escalate,patch clusterroles.rbac; list secrets");
    let world = world.grant(A, "shop", "create serviceaccounts/token named web");
    let objects = Objects::bare(34, world.text());
    let reached = |paths: Vec<EscalationPath>| -> Vec<String> {
        paths.into_iter().map(|path| path.reaches.to_string()).collect()
    };
    let graph = objects.graph();
    let all = reached(graph.paths_of(A));
    assert!(all.contains(&"account:shop/web".to_owned()), "{all:?}");
    // The Secrets are within reach by a step of their own.
    assert_eq!(reached(graph.separate_paths_of(A)), ["cluster-admin", "all-secrets"], "{all:?}");
}

#[test]
fn pod_policies() {
    let policy = "{apiVersion: policy/v1beta1, kind: PodSecurityPolicy, metadata: {name: big}, spec: {privileged: true, \
                  volumes: ['*'], hostPID: true, hostNetwork: true, runAsUser: {rule: RunAsAny}, fsGroup: {rule: RunAsAny}, \
                  seLinux: {rule: RunAsAny}, supplementalGroups: {rule: RunAsAny}}}";
    let psp = "use podsecuritypolicies.policy named big";
    let scc = "use securitycontextconstraints.security.openshift.io named";
    check(vec![
        row(EdgeKind::UsePsp, "with pods", shop("").object(policy).grant(A, "other", &format!("create pods; {psp}")))
            .minor(21)
            .has(&["use-psp@other Group/a proven", "create-pods@other nodes proven"]),
        row(EdgeKind::UsePsp, "without a policy", shop("").object(policy).grant(A, "other", "create pods"))
            .minor(21)
            .lacks(&["use-psp", "create-pods@other nodes"]),
        row(EdgeKind::UsePsp, "since 1.25", shop("").object(policy).grant(A, "other", &format!("create pods; {psp}")))
            .minor(25)
            .has(&["create-pods@other nodes proven"])
            .lacks(&["use-psp"]),
        row(EdgeKind::UseScc, "with pods", shop("").grant(A, "other", &format!("create pods; {scc} privileged")))
            .openshift()
            .has(&["use-scc@other Group/a proven", "create-pods@other nodes proven"]),
        row(EdgeKind::UseScc, "a narrow one", shop("").grant(A, "other", &format!("create pods; {scc} nonroot-v2")))
            .openshift()
            .lacks(&["use-scc", "create-pods@other nodes"]),
    ]);
}

#[test]
fn controllers() {
    let argo = || {
        let accounts = shop("").account("argocd", "argocd-application-controller");
        accounts.bind("ServiceAccount/argocd/argocd-application-controller", "", "ClusterRole", "cluster-admin")
    };
    let olm = || shop("").account("olm", "olm-operator-serviceaccount");
    let subscribe = "create subscriptions.operators.coreos.com";
    check(vec![
        row(EdgeKind::DriveGitops, "in its namespace", argo().grant(A, "argocd", "create applications.argoproj.io"))
            .has(&["drive-gitops@argocd gitops proven"]),
        row(EdgeKind::DriveGitops, "elsewhere", argo().grant(A, "shop", "create applications.argoproj.io"))
            .has(&["drive-gitops@shop gitops possible"]),
        row(EdgeKind::DriveGitops, "another controller", {
            argo().grant(A, "shop", "create kustomizations.kustomize.toolkit.fluxcd.io")
        })
        .has(&["drive-gitops@shop gitops possible"]),
        row(EdgeKind::DriveGitops, "reading", argo().grant(A, "argocd", "get applications.argoproj.io"))
            .lacks(&["drive-gitops"]),
        row(EdgeKind::DriveInstaller, "a package manager", olm().grant(A, "shop", subscribe))
            .has(&["drive-installer@shop gitops proven"]),
        row(EdgeKind::DriveInstaller, "reading", olm().grant(A, "shop", "get subscriptions.operators.coreos.com"))
            .lacks(&["drive-installer"]),
    ]);
}

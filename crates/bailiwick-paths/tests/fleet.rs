//! Changes of a fleet: a platform with an operator that is cluster-admin, applications, teams and tools.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::tests_outside_test_module,
    clippy::unwrap_used,
    reason = "a file of tests"
)]

mod support;

use bailiwick_paths::{EscalationPath, Power};
use support::Objects;
use support::manifests::Manifests;

const RESTRICTED: &str = "pod-security.kubernetes.io/enforce: restricted";
const SRE: &str = "Group/sre";
const PROMETHEUS: &str = "ServiceAccount/monitoring/prometheus";
const OPERATOR: &str = "ServiceAccount/platform-ops/cluster-operator";

/// Returns the fleet. Team namespaces have a level; the namespaces of platform and applications have none.
fn fleet() -> Manifests {
    Manifests::default()
        .namespace("argocd", "")
        .namespace("monitoring", "")
        .namespace("platform-ops", "")
        .namespace("shop-back", "")
        .namespace("team-01-dev", RESTRICTED)
        .bind("ServiceAccount/argocd/argocd-application-controller", "", "ClusterRole", "cluster-admin")
        .account("platform-ops", "cluster-operator")
        .bind(OPERATOR, "", "ClusterRole", "cluster-admin")
        .workload("Deployment", "platform-ops", "cluster-operator", "cluster-operator")
        .workload("Deployment", "monitoring", "prometheus", "prometheus")
        .grant(PROMETHEUS, "", "get,list nodes,pods")
        .grant("Group/support", "", "get,list pods,namespaces")
        .bind(SRE, "", "ClusterRole", "view")
        .bind("Group/shop", "shop-back", "ClusterRole", "edit")
        .grant(
            "Group/team-01",
            "team-01-dev",
            "get,list,create secrets; create pods/exec; create,patch deployments.apps",
        )
}

/// A change, and the expected path after it.
struct Row {
    id: &'static str,
    change: Manifests,
    who: &'static str,
    reaches: Power,
    via: &'static [&'static str],
    /// Whether the path exists on Kubernetes and OpenShift.
    on: [bool; 2],
}

fn find(manifests: &Manifests, is_openshift: bool, row: &Row) -> Option<EscalationPath> {
    let minor = if is_openshift { 33 } else { 34 };
    let objects = Objects::new(minor, is_openshift, manifests.text());
    let paths = objects.graph().paths_of(row.who);
    paths.into_iter().find(|path| path.reaches == row.reaches && path.certainty.word() == "proven")
}

fn in_both(change: impl Fn(Manifests, &str) -> Manifests) -> Manifests {
    change(change(fleet(), "platform-ops"), "monitoring")
}

#[test]
fn a_change_opens_a_path() {
    let admin = || Power::ClusterAdmin;
    let csr = "create certificatesigningrequests.certificates.k8s.io; update \
               certificatesigningrequests/approval.certificates.k8s.io; approve signers.certificates.k8s.io named \
               kubernetes.io/kube-apiserver-client";
    let star =
        |manifests: Manifests, namespace: &str| manifests.grant(SRE, namespace, "* deployments.apps,daemonsets.apps");
    let pods = |manifests: Manifests, namespace: &str| manifests.grant(SRE, namespace, "create pods");
    let tokens =
        |manifests: Manifests, namespace: &str| manifests.grant(SRE, namespace, "create serviceaccounts/token");
    let row = |id, change, who, reaches, via| Row { id, change, who, reaches, via, on: [true, true] };
    let only_kubernetes = |row: Row| Row { on: [true, false], ..row };
    let rows = [
        row("escalate-clusterroles", fleet().grant("Group/support", "", "get,patch,escalate clusterroles.rbac"),
            "Group/support", admin(), &["escalate-role"]),
        row("create-pods-beside-admin", in_both(pods), SRE, admin(), &["create-pods@platform-ops", OPERATOR]),
        only_kubernetes(row("create-pods-without-level", fleet().grant(SRE, "monitoring", "create pods"), SRE, Power::Nodes,
            &["create-pods@monitoring"])),
        row("list-secrets", fleet().grant("Group/support", "", "list secrets"), "Group/support", Power::AllSecrets,
            &["read-secrets"]),
        row("nodes-proxy", fleet().grant(PROMETHEUS, "", "get nodes/proxy"), PROMETHEUS, admin(),
            &["kubelet-api", "nodes", OPERATOR]),
        row("token-request", in_both(tokens), SRE, admin(), &["token-request@platform-ops", OPERATOR]),
        row("star-on-deployments", in_both(star), SRE, admin(), &["change-workloads@platform-ops", OPERATOR]),
        row("approve-csr", fleet().grant("ServiceAccount/platform-ops/cert-bot", "", csr),
            "ServiceAccount/platform-ops/cert-bot", admin(), &["approve-csr", "any-user", OPERATOR]),
        row("aggregate-secrets-into-view", fleet().object("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, \
            metadata: {name: more, labels: {rbac.authorization.k8s.io/aggregate-to-view: 'true'}}, rules: [{apiGroups: [''], \
            resources: [secrets], verbs: [get, list]}]}"), SRE, Power::AllSecrets, &["read-secrets"]),
        only_kubernetes(row("group-replaced", fleet().bind("Group/contractors", "shop-back", "ClusterRole", "edit"),
            "Group/contractors", Power::Nodes, &["create-pods@shop-back"])),
        row("tenants-may-bind", fleet().grant("Group/team-01", "team-01-dev", "create rolebindings.rbac; bind clusterroles.rbac"),
            "Group/team-01", Power::Nodes, &["bind-role@team-01-dev"]),
        row("cluster-admin", fleet().bind(SRE, "", "ClusterRole", "cluster-admin"), SRE, admin(), &[]),
    ];
    for row in rows {
        for (is_openshift, exists) in [false, true].into_iter().zip(row.on) {
            assert_eq!(find(&fleet(), is_openshift, &row), None, "{} before", row.id);
            let path = find(&row.change, is_openshift, &row);
            assert_eq!(path.is_some(), exists, "{} on OpenShift: {is_openshift}", row.id);
            let Some(path) = path else { continue };
            let via = path.via();
            let mut words = via.iter();
            let has_all = row.via.iter().all(|wanted| words.any(|word| word == wanted));
            assert!(has_all, "{}: {via:?}", row.id);
            let last = path.steps.last().expect("a step");
            assert_eq!(last.to.to_string(), row.reaches.to_string(), "{}", row.id);
            assert!(path.steps.windows(2).all(|pair| pair[0].to == pair[1].from), "{}: {via:?}", row.id);
            let first = &path.steps[0];
            assert!(!first.chains.is_empty() && first.chains[0].subject == row.who, "{}: {first:?}", row.id);
        }
    }
}

/// Returns a tool of a cluster with PodSecurityPolicies, whose pods may use these paths of the node.
fn tool(paths: &str) -> Manifests {
    let policy = format!(
        "{{apiVersion: policy/v1beta1, kind: PodSecurityPolicy, metadata: {{name: tool-blurp-psp}}, spec: {{\
         allowPrivilegeEscalation: false, volumes: [configMap, emptyDir, secret, hostPath], runAsUser: {{rule: MustRunAs, \
         ranges: [{{min: 50001, max: 50001}}]}}, fsGroup: {{rule: MustRunAs, ranges: [{{min: 50001, max: 50001}}]}}, \
         seLinux: {{rule: RunAsAny}}, supplementalGroups: {{rule: MustRunAs, ranges: [{{min: 1, max: 65535}}]}}, \
         allowedHostPaths: [{paths}]}}}}"
    );
    let uses = "use podsecuritypolicies.policy named tool-blurp-psp";
    Manifests::default()
        .namespace("tool-blurp", "")
        .object(&policy)
        .grant("ServiceAccount/tool-blurp/default", "tool-blurp", uses)
        .bind("User/blurp", "tool-blurp", "ClusterRole", "edit")
}

#[test]
fn the_root_folder_without_root_is_a_possible_path() {
    let reached = |paths: &str| {
        let objects = Objects::new(21, false, tool(paths).text());
        let paths = objects.graph().paths_of("User/blurp");
        let nodes = paths.into_iter().find(|path| path.reaches == Power::Nodes);
        nodes.map(|path| format!("{} {}", path.certainty, path.via().join(" ")))
    };
    assert_eq!(reached("{pathPrefix: /public/dumps, readOnly: true}"), None);
    let path = reached("{pathPrefix: /public/dumps, readOnly: true}, {pathPrefix: /}");
    assert_eq!(path.as_deref(), Some("possible create-pods@tool-blurp nodes"));
}

#[test]
fn a_question_about_one_power_takes_every_path() {
    let manifests = fleet().grant(PROMETHEUS, "", "get nodes/proxy");
    let manifests = manifests.bind("Group/system:authenticated", "shop-back", "ClusterRole", "edit");
    let objects = Objects::new(34, false, manifests.text());
    let graph = objects.graph();
    let path = |who: &str, power: &str| {
        let path = graph.path_to(who, &power.parse().expect("a power"));
        path.map(|path| format!("{} {} {}", path.reaches, path.certainty, path.steps.len()))
    };
    let operator = "account:platform-ops/cluster-operator";
    assert_eq!(path(PROMETHEUS, operator).as_deref(), Some("account:platform-ops/cluster-operator proven 2"));
    assert_eq!(path(OPERATOR, "nodes").as_deref(), Some("cluster-admin proven 1"));
    assert_eq!(path("User/nobody", "nodes").as_deref(), Some("nodes proven 1"));
    assert_eq!(path("User/nobody", "secrets:shop-back").as_deref(), Some("secrets:shop-back proven 1"));
    assert_eq!(path("User/nobody", "any-user").as_deref(), Some("cluster-admin possible 3"));
}

#[test]
fn a_power_of_everybody_is_not_reported() {
    let everybody = "Group/system:authenticated";
    let objects = Objects::new(34, false, fleet().grant(everybody, "", "list secrets").text());
    let graph = objects.graph();
    let reach = |who: &str| graph.paths_of(who).iter().map(|path| path.reaches.to_string()).collect::<Vec<_>>();
    assert!(reach(everybody).contains(&"all-secrets".to_owned()));
    assert!(!reach("Group/support").contains(&"all-secrets".to_owned()));
    assert!(!graph.subjects().contains(&"Group/system:masters".to_owned()));
    assert!(reach("Group/nobody").is_empty());
    for subject in graph.subjects() {
        let paths = graph.paths_of(&subject);
        let outlines = graph.outlines_of(&subject);
        assert_eq!(outlines.len(), paths.len(), "{subject}");
        for (outline, path) in outlines.iter().zip(&paths) {
            assert_eq!((outline.certainty, outline.steps), (path.certainty, path.steps.len()), "{subject}");
            let best = graph.path_to(&subject, &outline.reaches).expect("a path");
            assert!((best.certainty, best.steps.len()) <= (path.certainty, path.steps.len()), "{subject}");
        }
    }
}

//! Changes of the admission of pods, each found by the proof on random pairs of worlds.

use bailiwick::app::review::{
    ChangeCertainty, ChangeReview, Direction, EffectSeverity, PodChange, PodChangeKind, Verdict,
};
use serde_json::json;

use super::silence::{NAMESPACE, review, workspace};

/// Reviews two states of the objects of a target.
fn reviewed(targets: [&str; 2], objects: [&str; 2]) -> ChangeReview {
    let [old, new] = targets.map(workspace);
    let [before, after] = objects.map(|objects| format!("{NAMESPACE}---\n{objects}"));
    review(
        &[("bailiwick.yaml", &old), ("policies/objects/a.yaml", &before)],
        &[("bailiwick.yaml", &new), ("policies/objects/a.yaml", &after)],
    )
}

/// Returns the kinds and directions of the changes of pods.
fn changes(review: &ChangeReview) -> Vec<(PodChangeKind, Direction)> {
    review.pods.iter().map(|change| (change.kind, change.direction)).collect()
}

/// Newer checks of a level can admit more, such as further kernel parameters.
#[test]
fn newer_checks_of_a_level_are_compared_by_what_they_admit() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: b, labels: {pod-security.kubernetes.io/enforce: baseline}}\n";
    let between = |old: u32, new: u32| {
        let [old, new] = [old, new].map(|minor| format!("{{name: t, version: \"1.{minor}\"}}"));
        changes(&reviewed([&old, &new], [namespace; 2]))
    };
    assert_eq!(between(31, 32), [(PodChangeKind::Level, Direction::Wider)]);
    assert_eq!(between(33, 34), [(PodChangeKind::Level, Direction::Narrower)]);
    assert_eq!(between(29, 30), []);
}

/// The level of a namespace depends on the configuration of the cluster.
#[test]
fn levels_are_compared_with_the_defaults_and_exemptions_of_the_cluster() {
    let namespaces = "apiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n";
    let between = |old: &str, new: &str| {
        let [old, new] =
            [old, new].map(|settings| format!("{{name: t, version: \"1.37\", podSecurity: {{{settings}}}}}"));
        changes(&reviewed([&old, &new], [namespaces; 2]))
    };
    let strict = "defaults: {enforce: restricted}";
    let exempt = "defaults: {enforce: restricted}, exemptions: {namespaces: [b, shop]}";
    assert_eq!(between("", strict), [(PodChangeKind::Level, Direction::Narrower)]);
    assert_eq!(between(strict, exempt), [(PodChangeKind::Level, Direction::Wider)]);
    assert_eq!(between("", exempt), []);
}

/// Returns the changes of profiles between two states of a namespace, given as the settings of its profiles: the direction and
/// the first detail.
fn profile_changes(old: &str, new: &str) -> Vec<(Direction, Option<String>)> {
    let head = "apiVersion: bailiwick.dev/v1alpha1\nkind:";
    let profile = |name: &str, privileges: &str| {
        format!(
            "{head} PodSecurityProfile\nmetadata: {{name: {name}}}\nspec:\n  {privileges}\n  runAsUser: {{rule: RunAsAny}}\n  \
             fsGroup: {{rule: RunAsAny}}\n  supplementalGroups: {{rule: RunAsAny}}\n  seLinux: {{rule: RunAsAny}}\n  volumes: [secret]\n---\n"
        )
    };
    let profiles = profile("app", "allowPrivilegeEscalation: false") + &profile("node-plugin", "hostPID: true");
    let set = |settings: &str| {
        format!(
            "{profiles}{head} NamespaceSet\nmetadata: {{name: all}}\nspec:\n  namespaces:\n  \
             - {{name: other, podSecurity: {{profile: app, level: privileged}}}}\n  \
             - {{name: storage, podSecurity: {{profile: app, level: privileged, serviceAccounts: [{settings}]}}}}\n"
        )
    };
    let (settings, old, new) = (workspace("{name: t, version: \"1.37\"}"), set(old), set(new));
    let state = |policies| {
        [("bailiwick.yaml", &*settings), ("policies/a.yaml", policies), ("policies/objects/a.yaml", NAMESPACE)]
    };
    let review = review(&state(&old), &state(&new));
    for change in &review.pods {
        assert_eq!(change.kind, PodChangeKind::Profile, "{change:#?}");
        assert!(change.namespaces.iter().all(|namespace| namespace == "storage"), "{change:#?}");
    }
    review.pods.iter().map(|change| (change.direction, change.details.first().cloned())).collect()
}

/// A service account with another profile is a change for its pods alone.
#[test]
fn profiles_are_compared_for_each_service_account() {
    let first = "{names: [csi-node], profile: node-plugin}";
    let both = "{names: [csi-node, web], profile: node-plugin}";
    let of = |direction, account: &str| (direction, Some(format!("service account {account}")));
    assert_eq!(profile_changes("", ""), []);
    assert_eq!(profile_changes(first, first), []);
    assert_eq!(profile_changes("", first), [of(Direction::Wider, "csi-node")]);
    assert_eq!(profile_changes(first, both), [of(Direction::Wider, "web")]);
    assert_eq!(profile_changes(both, first), [of(Direction::Narrower, "web")]);
    assert_eq!(profile_changes(first, ""), [of(Direction::Narrower, "csi-node")]);
    assert_eq!(profile_changes("", "{names: [web], profile: app}"), []);
    assert_eq!(profile_changes("", both), [(Direction::Wider, Some("service accounts csi-node, web".to_owned()))]);
}

/// Returns the changes of pods between two states of the settings of a target, with a profile, levels and a host path.
fn stage_changes(target: &str, old: &str, new: &str) -> Vec<(PodChangeKind, Direction, ChangeCertainty, Vec<String>)> {
    let head = "apiVersion: bailiwick.dev/v1alpha1\nkind:";
    let any = "  fsGroup: {rule: RunAsAny}\n  supplementalGroups: {rule: RunAsAny}\n  seLinux: {rule: RunAsAny}\n";
    let policies = format!(
        "{head} PodSecurityProfile\nmetadata: {{name: app}}\nspec:\n  runAsUser: {{rule: RunAsAny}}\n{any}  \
         volumes: [hostPath, secret]\n  hostPaths: [{{pathPrefix: /data}}]\n---\n\
         {head} NamespaceSet\nmetadata: {{name: all}}\nspec:\n  namespaces:\n  \
         - {{name: own, podSecurity: {{profile: app, level: baseline, labelSync: false}}}}\n"
    );
    let [old, new] = [old, new].map(|settings| workspace(&format!("{{name: t, {target}{settings}}}")));
    let state = |settings| {
        [("bailiwick.yaml", settings), ("policies/a.yaml", &*policies), ("policies/objects/a.yaml", NAMESPACE)]
    };
    let review = review(&state(&old), &state(&new));
    let change = |change: &PodChange| (change.kind, change.direction, change.certainty, change.details.clone());
    review.pods.iter().map(change).collect()
}

/// The stages of a rollout: a binding without `Deny` and a namespace without `enforce` reject no pod.
#[test]
fn a_stage_without_enforcement_admits_more() {
    let kubernetes = |old: &str, new: &str| stage_changes("version: \"1.34\"", old, new);
    let [audit, warn, deny] = ["[Audit]", "[Warn, Audit]", "[Audit, Deny]"]
        .map(|actions| format!(", podSecurity: {{validationActions: {actions}}}"));
    let of = |kind, direction, detail: &str| {
        let details = Some(detail.to_owned()).filter(|detail| !detail.is_empty()).into_iter().collect();
        vec![(kind, direction, ChangeCertainty::Proven, details)]
    };
    let profile = |direction, detail| of(PodChangeKind::Profile, direction, detail);
    assert_eq!(kubernetes("", &audit), profile(Direction::Wider, "`validationActions` has `Audit` and no `Deny`"));
    assert_eq!(
        kubernetes(&deny, &warn),
        profile(Direction::Wider, "`validationActions` has `Audit`, `Warn` and no `Deny`")
    );
    assert_eq!(kubernetes(&audit, ""), profile(Direction::Narrower, "`validationActions` had `Audit` and no `Deny`"));
    assert_eq!(kubernetes("", &deny), []);
    assert_eq!(kubernetes(&audit, &warn), []);
    let observed = ", podSecurity: {modes: [audit, warn]}";
    assert_eq!(kubernetes("", observed), of(PodChangeKind::Level, Direction::Wider, ""));
    assert_eq!(kubernetes(observed, ""), of(PodChangeKind::Level, Direction::Narrower, ""));
    assert_eq!(kubernetes("", ", podSecurity: {modes: [enforce]}"), []);
    // On OpenShift, the policy beside the constraints is compared as other policies are.
    let openshift = |old: &str, new: &str| {
        let changes = stage_changes("platform: openshift, version: \"4.20\"", old, new);
        changes.into_iter().map(|(kind, direction, ..)| (kind, direction)).collect::<Vec<_>>()
    };
    assert_eq!(openshift("", &audit), [(PodChangeKind::Policy, Direction::Wider)]);
    assert_eq!(openshift(&audit, &deny), [(PodChangeKind::Policy, Direction::Narrower)]);
    assert_eq!(openshift("", &deny), []);
    assert_eq!(openshift(&audit, &warn), []);
}

const GRANT: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: use}\n\
    rules: [{apiGroups: [GROUP], resources: [RESOURCE], verbs: [use], resourceNames: [open]}]\n---\n\
    apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: use, namespace: shop}\n\
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: use}\n\
    subjects: [{kind: ServiceAccount, name: default, namespace: shop}]\n";

/// A policy that some account may use before it exists.
#[test]
fn a_new_policy_with_users_admits_more() {
    let target = "{name: t, version: \"1.24\"}";
    let grant = GRANT.replace("GROUP", "policy").replace("RESOURCE", "podsecuritypolicies");
    let policy = "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: open}\nspec:\n  privileged: true\n  \
        seLinux: {rule: RunAsAny}\n  runAsUser: {rule: RunAsAny}\n  fsGroup: {rule: RunAsAny}\n  supplementalGroups: {rule: RunAsAny}\n";
    let with = format!("{grant}---\n{policy}");
    let first = reviewed([target; 2], [&grant, &with]);
    assert_eq!(changes(&first), [(PodChangeKind::Psp, Direction::Both)], "{}", first.line);
    let other = policy.replace("name: open", "name: other");
    let (grant, with) = (format!("{grant}---\n{other}"), format!("{with}---\n{other}"));
    let come = reviewed([target; 2], [&grant, &with]);
    assert_eq!(changes(&come), [(PodChangeKind::Psp, Direction::Wider)], "{}", come.line);
    let gone = reviewed([target; 2], [&with, &grant]);
    assert_eq!(changes(&gone), [(PodChangeKind::Psp, Direction::Narrower)], "{}", gone.line);
}

/// New and removed constraints, and constraints without their last user.
#[test]
fn constraints_that_come_and_go_are_compared() {
    // The label synchronization would change the level, too.
    let target = "{name: okd, platform: openshift, version: \"4.20\", features: {podSecurityLabelSync: none}}";
    let constraints = |more: &str| {
        format!(
            "apiVersion: security.openshift.io/v1\nkind: SecurityContextConstraints\nmetadata: {{name: open}}\nallowPrivilegedContainer: true\n\
             allowHostDirVolumePlugin: false\nallowHostIPC: false\nallowHostNetwork: false\nallowHostPID: false\nallowHostPorts: false\n\
             readOnlyRootFilesystem: false\nvolumes: [secret, configMap]\nrunAsUser: {{type: RunAsAny}}\nseLinuxContext: {{type: RunAsAny}}\n{more}"
        )
    };
    let used = constraints("users: [\"system:serviceaccount:shop:default\"]\ngroups: []\n");
    let unused = constraints("users: []\ngroups: []\n");
    let between = |old: &str, new: &str| changes(&reviewed([target; 2], [old, new]));
    assert_eq!(between("", &used), [(PodChangeKind::Scc, Direction::Wider)]);
    assert_eq!(between(&used, ""), [(PodChangeKind::Scc, Direction::Narrower)]);
    assert_eq!(between(&used, &unused), [(PodChangeKind::Scc, Direction::Narrower)]);
    let grant = GRANT.replace("GROUP", "security.openshift.io").replace("RESOURCE", "securitycontextconstraints");
    let granted = format!("{grant}---\n{unused}");
    assert_eq!(between(&grant, &granted), [(PodChangeKind::Scc, Direction::Wider)]);
    // The order of volumes decides nothing.
    let other = used.replace("[secret, configMap]", "[configMap, secret]");
    assert_eq!(between(&used, &other), []);
}

/// The priority of constraints decides only between two constraints of one user.
#[test]
fn the_order_of_constraints_is_compared_for_their_users() {
    let target = "{name: okd, platform: openshift, version: \"4.20\", features: {podSecurityLabelSync: none}}";
    let constraints = |name: &str, more: &str| {
        format!(
            "apiVersion: security.openshift.io/v1\nkind: SecurityContextConstraints\nmetadata: {{name: {name}}}\nallowPrivilegedContainer: false\n\
             allowHostDirVolumePlugin: false\nallowHostIPC: false\nallowHostNetwork: false\nallowHostPID: false\nallowHostPorts: false\n\
             readOnlyRootFilesystem: false\nvolumes: [secret]\nseLinuxContext: {{type: MustRunAs}}\n{more}\n"
        )
    };
    let pair = |first: i32, users: [&str; 2]| {
        let [one, other] = users.map(|user| format!("users: [{user}]\ngroups: []"));
        let first = format!("priority: {first}\nrunAsUser: {{type: MustRunAs, uid: 7000}}\n{one}");
        let second = format!("priority: 30\nrunAsUser: {{type: MustRunAsRange}}\n{other}");
        format!("{}---\n{}", constraints("first", &first), constraints("second", &second))
    };
    let between = |old: i32, new: i32, users: [&str; 2]| {
        let review = reviewed([target; 2], [&pair(old, users), &pair(new, users)]);
        review.pods.iter().map(|change| (change.direction, change.certainty)).collect::<Vec<_>>()
    };
    let proven = vec![(Direction::Order, ChangeCertainty::Proven)];
    // The first constraints pass the second constraints, which the same user may use.
    assert_eq!(between(20, 40, ["ann", "ann"]), proven);
    // Administrators may use all constraints.
    assert_eq!(between(20, 40, ["ann", "bob"]), proven);
    // Nothing changes places.
    assert_eq!(between(31, 40, ["ann", "ann"]), []);
    // Constraints of the platform that come before both admit each pod of both.
    let behind = |priority: i32| pair(priority, ["ann", "bob"]).replace("priority: 30", "priority: 5");
    assert_eq!(changes(&reviewed([target; 2], [&behind(4), &behind(6)])), []);
    // One user may use both, and not the constraints of the platform.
    let behind = |priority: i32| pair(priority, ["ann", "ann"]).replace("priority: 30", "priority: 5");
    assert_eq!(changes(&reviewed([target; 2], [&behind(4), &behind(6)])), [(PodChangeKind::Scc, Direction::Order)]);
}

/// Many constraints of an attacker, with as many users, take a limited time. A search that ends early proves nothing.
#[test]
fn the_search_for_pods_of_other_constraints_ends() {
    let target = "{name: okd, platform: openshift, version: \"4.20\", features: {podSecurityLabelSync: none}}";
    let all = |factor: usize| {
        let one = |number: usize| {
            format!(
                "apiVersion: security.openshift.io/v1\nkind: SecurityContextConstraints\nmetadata: {{name: x{number}}}\nallowPrivilegedContainer: false\n\
                 allowHostDirVolumePlugin: false\nallowHostIPC: false\nallowHostNetwork: false\nallowHostPID: false\nallowHostPorts: false\n\
                 readOnlyRootFilesystem: false\nvolumes: [secret]\npriority: {}\nusers: [u{number}]\ngroups: [g{number}]\n\
                 runAsUser: {{type: MustRunAs, uid: {}}}\nseLinuxContext: {{type: MustRunAs, seLinuxOptions: {{type: t{number}}}}}\n",
                number * factor % 60,
                5_000 + number
            )
        };
        (0..60).map(one).collect::<Vec<_>>().join("---\n")
    };
    let review = reviewed([target; 2], [&all(1), &all(37)]);
    assert!(review.pods.iter().any(|change| change.certainty == ChangeCertainty::Possible), "{}", review.line);
    assert_ne!(review.verdict, Some(Verdict::NoChange), "{}", review.line);
}

const TARGET: &str = "{name: t, version: \"1.34\"}";

/// Returns a policy about pods with its binding.
fn policy(expressions: &[&str]) -> String {
    let validations: Vec<String> =
        expressions.iter().map(|expression| format!("{{expression: {}}}", json!(expression))).collect();
    format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: p}}\nspec:\n  \
         matchConstraints: {{resourceRules: [{{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  \
         validations: [{}]\n---\n\
         apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: b}}\n\
         spec: {{policyName: p, validationActions: [Deny]}}\n",
        validations.join(", ")
    )
}

/// Returns the only change between two states of the admission policies of a target.
fn only_change(old: &str, new: &str) -> PodChange {
    let review = reviewed([TARGET; 2], [old, new]);
    let [change] = review.pods.as_slice() else { panic!("{:?}", review.pods) };
    assert_ne!(review.verdict, Some(Verdict::NoChange), "{}", review.line);
    change.clone()
}

/// Returns the direction, the certainty, and the settings of the witnesses.
fn summary(change: &PodChange) -> (Direction, ChangeCertainty, Vec<String>) {
    let witnesses = change.witnesses.iter().map(|witness| {
        let sign = if witness.admitted { "+" } else { "-" };
        format!("{sign}{}", witness.settings.join(", "))
    });
    (change.direction, change.certainty, witnesses.collect())
}

const NO_HOST_NETWORK: &str = "!has(object.spec.hostNetwork) || !object.spec.hostNetwork";
const NO_HOST_PID: &str = "!has(object.spec.hostPID) || !object.spec.hostPID";

/// Admission policies are compared by the conditions that they set.
#[test]
fn the_form_of_an_admission_policy_is_no_change() {
    let no_change = |old: &str, new: &str| {
        let review = reviewed([TARGET; 2], [old, new]);
        assert_eq!((review.verdict, changes(&review)), (Some(Verdict::NoChange), vec![]), "{old}\n{new}");
    };
    let plain = policy(&[NO_HOST_NETWORK, NO_HOST_PID]);
    for (from, to) in [
        ("spec:\n  match", "spec:\n  failurePolicy: Fail\n  match"),
        ("{name: p}", "{name: p, labels: {a: b}}"),
        ("apiVersions: [v1]", "scope: \"*\", apiVersions: [v1, v1]"),
        ("{expression: ", "{message: another text, expression: "),
    ] {
        let spelled = plain.replacen(from, to, 1);
        assert_ne!(spelled, plain);
        no_change(&plain, &spelled);
    }
    for same in [
        policy(&[NO_HOST_PID, NO_HOST_NETWORK]),
        policy(&[&format!("({NO_HOST_PID}) && ({NO_HOST_NETWORK})")]),
        policy(&["!(object.spec.hostPID == true && has(object.spec.hostPID))", NO_HOST_NETWORK]),
    ] {
        no_change(&plain, &same);
    }
    // Another name of the policy.
    no_change(&plain, &plain.replace("{name: p}", "{name: q}").replace("policyName: p,", "policyName: q,"));
    // A policy without a binding decides nothing, and warnings reject nothing.
    let warns = plain.replace("[Deny]", "[Warn]");
    no_change("", plain.split_once("---").expect("a binding").0);
    no_change("", &warns);
    // An expression that never fails.
    let ignoring = policy(&["false"]).replace("spec:\n  match", "spec:\n  failurePolicy: Ignore\n  match");
    no_change(&policy(&["false"]), &ignoring);
}

/// Pods with another answer are named.
#[test]
fn a_witness_confirms_another_policy() {
    let (both, one) = (policy(&[NO_HOST_NETWORK, NO_HOST_PID]), policy(&[NO_HOST_PID]));
    let proven = |direction, witnesses: &[&str]| {
        (direction, ChangeCertainty::Proven, witnesses.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(summary(&only_change(&both, &one)), proven(Direction::Wider, &["+hostNetwork: true"]));
    assert_eq!(summary(&only_change(&one, &both)), proven(Direction::Narrower, &["-hostNetwork: true"]));
    let network = policy(&[NO_HOST_NETWORK]);
    assert_eq!(
        summary(&only_change(&one, &network)),
        proven(Direction::Both, &["+hostPID: true", "-hostNetwork: true"])
    );
    assert_eq!(summary(&only_change("", &one)), proven(Direction::Narrower, &["-hostPID: true"]));
    let warns = one.replace("[Deny]", "[Warn]");
    assert_eq!(summary(&only_change(&one, &warns)), proven(Direction::Wider, &["+hostPID: true"]));
    // A constant of the expression.
    let image = |host: &str| policy(&[&format!("object.spec.containers.all(c, c.image.startsWith('{host}/'))")]);
    let (_, _, witnesses) = summary(&only_change(&image("a.example"), &image("b.example")));
    assert_eq!(
        witnesses,
        ["+spec.containers[].image: \"b.example/other\"", "-spec.containers[].image: \"a.example/other\""]
    );
    // An exemption is wider alone, although no common pod has it.
    let exempt = policy(&[&format!("object.metadata.labels['trusted'] == 'yes' || ({NO_HOST_PID})")]);
    let change = only_change(&one, &exempt);
    assert_eq!(change.direction, Direction::Wider);
}

/// A change without a witness is possible, and no form calls it no change.
#[test]
fn a_change_without_a_witness_is_possible() {
    let by_user = |name: &str| policy(&[&format!("request.userInfo.username == '{name}' || ({NO_HOST_PID})")]);
    let change = only_change(&by_user("a"), &by_user("b"));
    assert_eq!(summary(&change), (Direction::Both, ChangeCertainty::Possible, vec![]));
    assert_eq!(change.severity, EffectSeverity::High);
    // Policies about other objects are not asked.
    let of_secrets = |expressions: &[&str]| policy(expressions).replace("[pods]", "[secrets]");
    let change = only_change(&of_secrets(&["has(object.data)"]), &of_secrets(&["true"]));
    assert_eq!(summary(&change), (Direction::Wider, ChangeCertainty::Possible, vec![]));
    // Mutating policies are compared by their texts.
    let webhook = |path: &str| {
        format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {{name: w}}\n\
             webhooks: [{{name: w.example.org, sideEffects: None, admissionReviewVersions: [v1], \
             clientConfig: {{url: \"https://w.example.org/{path}\"}}}}]\n"
        )
    };
    assert_eq!(
        summary(&only_change(&webhook("a"), &webhook("b"))),
        (Direction::Both, ChangeCertainty::Possible, vec![])
    );
}

/// A policy that rejects the same pods masks the change of another one.
#[test]
fn a_masked_change_is_possible() {
    let other = policy(&[NO_HOST_NETWORK, "!object.spec.?hostPID.orValue(false) || false"])
        .replace("name: p}", "name: q}")
        .replace("name: b}", "name: c}")
        .replace("policyName: p,", "policyName: q,");
    let [with, without] = [policy(&[NO_HOST_PID, "true"]), policy(&["true"])].map(|own| format!("{own}---\n{other}"));
    let change = only_change(&with, &without);
    assert_eq!(summary(&change), (Direction::Wider, ChangeCertainty::Possible, vec![]));
    // Equal conditions of another policy change nothing.
    let same = other.replace("!object.spec.?hostPID.orValue(false) || false", NO_HOST_PID);
    let [with, without] = [policy(&[NO_HOST_PID]), policy(&["true"])].map(|own| format!("{own}---\n{same}"));
    assert_eq!(changes(&reviewed([TARGET; 2], [&with, &without])), []);
}

/// A policy that selects no namespace of the inputs, and a change of its selector.
#[test]
fn policies_are_compared_in_the_namespaces_that_they_select() {
    let select = |team: &str| {
        policy(&[NO_HOST_PID]).replace(
            "validationActions: [Deny]",
            &format!(
                "validationActions: [Deny], matchResources: {{namespaceSelector: {{matchLabels: {{team: {team}}}}}}}"
            ),
        )
    };
    let namespaces = |objects: &str| {
        let namespace = |name: &str| {
            format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{team: {name}}}}}\n---\n")
        };
        namespace("one") + &namespace("two") + objects
    };
    // The cluster can have other namespaces.
    let review = reviewed([TARGET; 2], [&namespaces(""), &namespaces(&select("none"))]);
    let [change] = review.pods.as_slice() else { panic!("{:?}", review.pods) };
    assert_eq!((change.direction, change.certainty), (Direction::Narrower, ChangeCertainty::Possible));
    let review = reviewed([TARGET; 2], [&namespaces(&select("one")), &namespaces(&select("two"))]);
    let seen: Vec<_> = review.pods.iter().map(|change| (change.direction, change.namespaces.clone())).collect();
    assert_eq!(seen, [(Direction::Wider, vec!["one".to_owned()]), (Direction::Narrower, vec!["two".to_owned()])]);
}

/// Expressions of an attacker end, and their texts stay texts.
#[test]
fn expressions_of_an_attacker_end() {
    let range = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    let mut slow = "object.spec.hostPID".to_owned();
    for depth in 0..40 {
        slow = format!("{range}.all(x{depth}, {slow})");
    }
    let hostile = format!("object.metadata.labels['<b>`|{}x'] == 'y' || {slow}", '\u{202e}');
    let change = only_change(&policy(&["true"]), &policy(&[&hostile]));
    assert_eq!(change.direction, Direction::Narrower);
}

/// A policy with a selector of a label of namespaces.
#[test]
fn a_label_that_a_policy_selects_is_compared() {
    let target = "{name: t, version: \"1.34\"}";
    let objects = |label: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: b, labels: {{{label}}}}}\n---\n\
             apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: p}}\nspec:\n  \
             matchConstraints: {{resourceRules: [{{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  \
             validations: [{{expression: \"false\"}}]\n---\n\
             apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: b}}\n\
             spec: {{policyName: p, validationActions: [Deny], matchResources: {{namespaceSelector: {{matchLabels: {{strict: \"1\"}}}}}}}}\n"
        )
    };
    let between = |old: &str, new: &str| reviewed([target; 2], [&objects(old), &objects(new)]);
    let removed = between("strict: \"1\"", "");
    assert_eq!(changes(&removed), [(PodChangeKind::Policy, Direction::Wider)]);
    assert_eq!(removed.pods[0].namespaces, ["b"]);
    assert_eq!(changes(&between("", "strict: \"1\"")), [(PodChangeKind::Policy, Direction::Narrower)]);
    assert_eq!(changes(&between("strict: \"1\"", "strict: \"1\", other: x")), []);
}

/// A policy for namespaces that are not among the inputs. The cluster can have them.
#[test]
fn a_policy_for_other_namespaces_is_compared() {
    let target = "{name: t, version: \"1.34\"}";
    let objects = |expression: &str, team: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: b, labels: {{team: other}}}}\n---\n\
             apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: p}}\nspec:\n  \
             matchConstraints: {{resourceRules: [{{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  \
             validations: [{{expression: \"{expression}\"}}]\n---\n\
             apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: b}}\n\
             spec: {{policyName: p, validationActions: [Deny], matchResources: {{namespaceSelector: {{matchLabels: {{team: {team}}}}}}}}}\n"
        )
    };
    let strict = "!has(object.spec.hostNetwork) || !object.spec.hostNetwork";
    let between = |old: String, new: String| reviewed([target; 2], [&old, &new]);
    for review in [
        between(objects(strict, "shop"), objects("true", "shop")),
        between(objects(strict, "shop"), objects(strict, "nobody")),
    ] {
        let [change] = review.pods.as_slice() else { panic!("{:?}", review.pods) };
        assert_eq!(change.certainty, ChangeCertainty::Possible);
        assert_eq!(change.details, ["outside the namespaces of the inputs"]);
        assert_ne!(change.direction, Direction::Narrower);
        assert_eq!(review.verdict, Some(Verdict::NeedsApproval), "{}", review.line);
    }
    let same = between(objects(strict, "shop"), objects(&format!("({strict})"), "shop"));
    assert_eq!((same.verdict, same.pods.len()), (Some(Verdict::NoChange), 0), "{}", same.line);
}

/// Selectors and expressions on labels that no namespace of the inputs has.
#[test]
fn policies_are_compared_for_each_combination_of_labels() {
    let target = "{name: t, version: \"1.34\"}";
    let objects = |of_policy: &str, of_binding: &str, expression: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: b, labels: {{team: other}}}}\n---\n\
             apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: p}}\nspec:\n  \
             matchConstraints:\n    namespaceSelector: {of_policy}\n    \
             resourceRules: [{{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]\n  \
             validations: [{{expression: \"{expression}\"}}]\n---\n\
             apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: b}}\n\
             spec: {{policyName: p, validationActions: [Deny], matchResources: {{namespaceSelector: {of_binding}}}}}\n"
        )
    };
    let of_team = |team: &str| format!("{{matchLabels: {{team: {team}}}}}");
    let outside = |names: &str| {
        format!("{{matchExpressions: [{{key: kubernetes.io/metadata.name, operator: NotIn, values: [{names}]}}]}}")
    };
    let team = "namespaceObject.metadata.labels['team']";
    let (not_x, strict) = (format!("{team} != 'x'"), "!has(object.spec.hostNetwork)");
    let verdict = |old: String, new: String| {
        let review = reviewed([target; 2], [&old, &new]);
        (review.verdict, review.pods.iter().map(|change| change.direction).collect::<Vec<_>>())
    };
    let unchanged = (Some(Verdict::NoChange), Vec::new());
    // No namespace has two values of a label.
    assert_eq!(
        verdict(objects(&of_team("x"), &of_team("y"), strict), objects(&of_team("x"), &of_team("z"), "false")),
        unchanged
    );
    // The label of the selector decides about the expression.
    assert_eq!(verdict(objects("{}", &of_team("y"), &not_x), objects("{}", &of_team("y"), "true")), unchanged);
    assert_eq!(verdict(objects("{}", &of_team("x"), &not_x), objects("{}", &of_team("x"), "false")), unchanged);
    let wider = (Some(Verdict::NeedsApproval), vec![Direction::Wider]);
    assert_eq!(verdict(objects("{}", &of_team("x"), &not_x), objects("{}", &of_team("x"), strict)), wider);
    assert_eq!(verdict(objects("{}", "{}", &not_x), objects("{}", "{}", "true")), wider);
    // A second namespace is outside the policy, and it is none of the inputs.
    let (one, both) =
        (objects("{}", &outside("kube-system"), strict), objects("{}", &outside("kube-system, ops"), strict));
    assert_eq!(verdict(one.clone(), both), wider);
    // With so many labels, selectors are compared as texts.
    let many: Vec<String> = (0..12).map(|number| format!("l{number}: x")).collect();
    let many = format!("{{matchLabels: {{{}}}}}", many.join(", "));
    assert_eq!(verdict(objects("{}", &many, strict), objects(&many, "{}", strict)), unchanged);
    assert_eq!(
        verdict(objects("{}", &many, strict), objects("{}", &of_team("x"), strict)).0,
        Some(Verdict::NeedsApproval)
    );
}

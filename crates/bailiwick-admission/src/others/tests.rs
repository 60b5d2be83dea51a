//! Policies of other admission controllers.

use std::collections::BTreeMap;

use bailiwick_yaml::diag::{Files, Sink};

use super::judge::{ProtectedNamespace, RuleVerdict, judge};
use super::{Demand, OtherPolicies, OtherRule, RuleAction, RuleContent, Selected};
use crate::policy::{PolicyAnswer, ValidatingAdmissionPolicy};
use crate::psp::{PodSecurityPolicy, PspMetadata, Spec};
use crate::standards::labels::LevelVersion;
use crate::standards::violations;
use crate::variants::PodVariant;

/// Reads the rules of a text.
fn rules(text: &str) -> Vec<OtherRule> {
    let (files, mut sink) = (Files::new(), Sink::new());
    let tree = bailiwick_yaml::read(text, files.add("policies.yaml", text.to_owned()), &mut sink);
    let mut found = OtherPolicies::default();
    tree.documents().for_each(|document| assert!(found.add(document), "{text}"));
    found.finish()
}

/// Reads the only rule of a ClusterPolicy of Kyverno with this way to validate.
fn kyverno(validate: &str) -> OtherRule {
    let text = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: any}}, spec: {{rules: [{{name: r, match: \
         {{any: [{{resources: {{kinds: [Pod]}}}}]}}, validate: {{message: no, {validate}}}}}]}}}}"
    );
    rules(&text).remove(0)
}

fn demands(validate: &str) -> Option<Vec<String>> {
    match kyverno(validate).content {
        RuleContent::Stated(demands) => Some(demands.iter().map(Demand::control).collect()),
        RuleContent::NameOnly { .. } | RuleContent::NotCompared(_) => None,
    }
}

/// Returns the verdict of a rule about one namespace.
fn verdict(rule: &OtherRule, level: &str, profile: Option<&PodSecurityPolicy>) -> RuleVerdict {
    let level = LevelVersion::parse(level);
    let namespace = ProtectedNamespace { name: "shop", labels: None, level, profile };
    judge(rule, &[namespace]).remove(0).verdict
}

/// Decides whether a rule is redundant beside each of the levels `restricted`, `baseline` and `privileged`.
fn redundant(rule: &OtherRule) -> [bool; 3] {
    ["restricted:latest", "baseline:latest", "privileged:latest"]
        .map(|level| matches!(verdict(rule, level, None), RuleVerdict::Redundant { .. }))
}

#[test]
fn patterns_count_by_their_fields() {
    for (pattern, expected, is_redundant) in [
        ("{spec: {=(hostPID): 'false', =(hostIPC): false}}", "hostNamespaces", [true, true, false]),
        ("{spec: {containers: [{=(securityContext): {=(privileged): 'false'}}]}}", "privileged", [true, true, false]),
        ("{spec: {=(volumes): [{X(hostPath): 'null'}]}}", "hostPathVolumes", [true, true, false]),
        ("{spec: {=(initContainers): [{=(ports): [{=(hostPort): 0}]}]}}", "hostPorts", [true, true, false]),
        (
            "{spec: {=(securityContext): {=(sysctls): [{=(name): 'net.ipv4.tcp_syncookies'}]}}}",
            "sysctls",
            [false, false, false],
        ),
        (
            "{spec: {=(ephemeralContainers): [{securityContext: {allowPrivilegeEscalation: 'false'}}]}}",
            "allowPrivilegeEscalation",
            [true, false, false],
        ),
        (
            "{spec: {=(securityContext): {=(seccompProfile): {=(type): 'Localhost | RuntimeDefault'}}}}",
            "seccompProfile_baseline",
            [true, true, false],
        ),
        (
            "{spec: {=(securityContext): {=(seccompProfile): {=(type): RuntimeDefault}}}}",
            "seccompProfile_baseline",
            [false, false, false],
        ),
        (
            "{spec: {containers: [{securityContext: {readOnlyRootFilesystem: true}}]}}",
            "root file systems are read-only",
            [false, false, false],
        ),
    ] {
        let validate = format!("pattern: {pattern}");
        assert_eq!(demands(&validate), Some(vec![expected.to_owned()]), "{pattern}");
        assert_eq!(redundant(&kyverno(&validate)), is_redundant, "{pattern}");
    }
}

#[test]
fn patterns_with_another_meaning_are_not_compared() {
    for pattern in [
        "{}",
        "[]",
        "7",
        "{spec: {hostPID: 'false'}}",
        "{spec: {=(hostPID): 'true'}}",
        "{spec: {=(hostPID): 'false | true'}}",
        "{spec: {=(hostPID): '!true'}}",
        "{spec: {=(hostPID): '{{ x }}'}}",
        "{spec: {(hostPID): 'false'}}",
        "{spec: {X(hostPID): 'false'}}",
        "{spec: {=(hostPID): ['false']}}",
        "{spec: {=(hostPID): {=(x): 'false'}}}",
        "{metadata: {=(hostPID): 'false'}}",
        "{spec: {=(securityContext): {=(hostPID): 'false'}}}",
        "{spec: {=(securityContext.privileged): 'false'}}",
        "{spec: {containers: [{=(securityContext.privileged): 'false'}]}}",
        "{spec: {containers: [{(image): '*', =(securityContext): {=(privileged): 'false'}}]}}",
        "{spec: {containers: [{=(securityContext): {=(privileged): 'false'}}, {}]}}",
        "{spec: {containers: [{securityContext: {=(privileged): 'false'}}]}}",
        "{spec: {initContainers: [{=(securityContext): {=(privileged): 'false'}}]}}",
        "{spec: {^(containers): [{=(securityContext): {=(privileged): 'false'}}]}}",
        "{spec: {=(volumes): [{=(hostPath): 'null'}]}}",
        "{spec: {=(volumes): [{X(hostPath): 'something'}]}}",
        "{spec: {=(hostPID): 'false'}, metadata: {labels: {team: '?*'}}}",
        "{spec: {=(securityContext): {=(runAsUser): '>1000'}}}",
        "{spec: {=(securityContext): {=(sysctls): [{=(name): 'net.*'}]}}}",
    ] {
        assert_eq!(demands(&format!("pattern: {pattern}")), None, "{pattern}");
    }
    let deep = format!("{}1{}", "{a: ".repeat(60), "}".repeat(60));
    assert_eq!(demands(&format!("pattern: {deep}")), None);
    let wide: Vec<String> = (0..5_000).map(|number| format!("=(hostPID{number}): 'false'")).collect();
    assert_eq!(demands(&format!("pattern: {{spec: {{{}}}}}", wide.join(", "))), None);
}

#[test]
fn alternatives_are_the_pod_or_each_container() {
    let at_pod =
        "{spec: {securityContext: {runAsNonRoot: true}, containers: [{=(securityContext): {=(runAsNonRoot): true}}]}}";
    let at_containers = "{spec: {containers: [{securityContext: {runAsNonRoot: true}}]}}";
    let expected = Some(vec!["runAsNonRoot".to_owned()]);
    assert_eq!(demands(&format!("anyPattern: [{at_pod}, {at_containers}]")), expected);
    assert_eq!(demands(&format!("anyPattern: [{at_containers}, {at_pod}]")), expected);
    let other = at_pod.replace("true", "false");
    for alternatives in [
        format!("[{at_pod}, {at_pod}]"),
        format!("[{at_containers}, {at_containers}]"),
        format!("[{other}, {at_containers}]"),
        format!("[{at_pod}, {at_containers}, {{}}]"),
        format!("[{at_pod}, {{}}]"),
        "[]".to_owned(),
        "{a: 1}".to_owned(),
    ] {
        assert_eq!(demands(&format!("anyPattern: {alternatives}")), None, "{alternatives}");
    }
    let alone = kyverno(&format!("anyPattern: [{at_containers}]"));
    assert_eq!(redundant(&alone), [false, false, false], "the level accepts the setting at the pod, too");
}

#[test]
fn a_level_is_compared_with_its_version() {
    let of = |level: &str| redundant(&kyverno(&format!("podSecurity: {level}")));
    assert_eq!(of("{level: baseline, version: latest}"), [true, true, false]);
    assert_eq!(of("{level: restricted}"), [true, false, false]);
    assert_eq!(of("{level: privileged}"), [true, true, true]);
    assert_eq!(of("{level: baseline, version: v1.25}"), [false, false, false], "its list of sysctls is shorter");
    for level in ["{level: strict}", "{level: 7}", "[]", "{level: baseline, version: v01}"] {
        assert_eq!(demands(&format!("podSecurity: {level}")), None, "{level}");
    }
    assert_eq!(demands("podSecurity: {level: baseline, exclude: [{controlName: Sysctls}]}"), None);
}

#[test]
fn names_decide_nothing() {
    for validate in [
        "deny: {conditions: {all: [{key: x, operator: AnyNotIn, value: []}]}}",
        "deny: {}",
        "foreach: [{list: request.object.spec.containers, deny: {conditions: {all: []}}}]",
        "cel: {expressions: [{expression: 'true'}]}",
        "cel: {}",
        "manifests: {}",
        "pattern: {spec: {=(hostPID): 'false'}}, deny: {}",
    ] {
        assert_eq!(demands(validate), None, "{validate}");
    }
    let lying = rules(
        "{apiVersion: policies.kyverno.io/v1beta1, kind: ValidatingPolicy, metadata: {name: disallow-host-path}, \
         spec: {validations: [{expression: 'true'}]}}",
    );
    assert!(matches!(lying[0].content, RuleContent::NotCompared(_)), "{lying:?}");
}

#[test]
fn effects_are_read() {
    let of = |spec: &str, validate: &str| {
        let rule = format!("{{name: r, validate: {{pattern: {{}}{validate}}}}}");
        let text = format!("{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, spec: {{{spec}rules: [{rule}]}}}}");
        rules(&text).remove(0).action
    };
    assert_eq!(of("", ""), RuleAction::Reports);
    assert_eq!(of("validationFailureAction: enforce, ", ""), RuleAction::Refuses);
    assert_eq!(of("validationFailureAction: Enforce, ", ", failureAction: Audit"), RuleAction::Reports);
    assert_eq!(of("", ", failureAction: Enforce"), RuleAction::Refuses);
    assert_eq!(of("admission: false, ", ", failureAction: Enforce"), RuleAction::Reports);
    assert!(matches!(of("", ", failureAction: [Enforce]"), RuleAction::Undecided(_)));
    assert!(matches!(of("", ", failureActionOverrides: [{action: Audit}]"), RuleAction::Undecided(_)));
}

#[test]
fn namespaces_are_selected_as_far_as_the_objects_decide() {
    let labels = BTreeMap::from([("team".to_owned(), "shop".to_owned())]);
    let yes = Selected::Yes;
    let undecided = Selected::Undecided(String::new());
    for (blocks, expected) in [
        ("match: {any: [{resources: {kinds: [Pod]}}]}", &yes),
        ("match: {resources: {kinds: [v1/Pod], namespaces: ['sh*']}}", &yes),
        ("match: {any: [{resources: {kinds: [Deployment]}}]}", &Selected::No),
        ("match: {any: [{resources: {kinds: [Pod], namespaces: [other]}}]}", &Selected::No),
        ("match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {team: shop}}}}]}", &yes),
        ("match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {a: b}}}}]}", &undecided),
        ("match: {any: [{resources: {kinds: [Pod]}, subjects: [{kind: User, name: a}]}]}", &undecided),
        (
            "match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {any: [{resources: {kinds: [Pod], namespaces: [shop]}}]}",
            &Selected::No,
        ),
        (
            "match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {any: [{resources: {kinds: [Pod], names: ['a*']}}]}",
            &undecided,
        ),
        (
            "match: {any: [{resources: {kinds: [Pod]}}]}, preconditions: {all: [{key: a, operator: Equals, value: a}]}",
            &undecided,
        ),
        ("match: 7", &undecided),
    ] {
        let text = format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: a}}, spec: {{rules: [{{name: r, {blocks}}}]}}}}"
        );
        let found = rules(&text).remove(0).scope.of("shop", Some(&labels));
        let (found, expected) = match (&found, expected) {
            (Selected::Undecided(_), Selected::Undecided(_)) => continue,
            other => other,
        };
        assert_eq!(found, expected, "{blocks}");
    }
    let text = "{apiVersion: kyverno.io/v1, kind: Policy, metadata: {name: a, namespace: shop}, spec: {rules: [{match: \
                {any: [{resources: {kinds: [Pod]}}]}}]}}";
    let scope = rules(text).remove(0).scope;
    assert_eq!((scope.of("shop", None), scope.of("other", None)), (Selected::Yes, Selected::No));
}

/// Reads a constraint of Gatekeeper, with its template if it has a text.
fn gatekeeper(kind: &str, spec: &str, rego: Option<&str>) -> OtherRule {
    let constraint = format!("{{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: {kind}, spec: {{{spec}}}}}\n");
    let template = rego.map(|rego| {
        format!(
            "---\n{{apiVersion: templates.gatekeeper.sh/v1, kind: ConstraintTemplate, spec: {{crd: {{spec: {{names: \
             {{kind: {kind}}}}}}}, targets: [{{rego: '{rego}'}}]}}}}\n"
        )
    });
    let documents: String = [constraint].into_iter().chain(template).collect();
    rules(&documents).remove(0)
}

#[test]
fn constraints_without_a_known_template_have_a_name_alone() {
    let reason = |rego| match gatekeeper("K8sPSPHostNamespace", "", rego).content {
        RuleContent::NameOnly { reason, .. } => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(None), "its template is missing");
    assert_eq!(reason(Some("package a")), "its template has another text");
    let unknown = gatekeeper("K8sRequiredLabels", "", None);
    assert!(matches!(unknown.content, RuleContent::NotCompared(_)), "{unknown:?}");
}

#[test]
fn constraints_demand_by_kind_and_parameters() {
    for (kind, parameters, is_redundant) in [
        ("K8sPSPPrivilegedContainer", "{}", [true, true, false]),
        ("K8sPSPHostNetworkingPorts", "{hostNetwork: true, min: 80, max: 90}", [true, true, false]),
        ("K8sPSPHostFilesystem", "{allowedHostPaths: [{pathPrefix: /var/log}]}", [true, true, false]),
        ("K8sPSPVolumeTypes", "{volumes: [secret]}", [false, false, false]),
        ("K8sPSPFlexVolumes", "{}", [true, false, false]),
        (
            "K8sPSPCapabilities",
            "{requiredDropCapabilities: [NET_RAW], allowedCapabilities: ['*']}",
            [true, false, false],
        ),
        ("K8sPSPCapabilities", "{allowedCapabilities: [net_bind_service]}", [true, false, false]),
        (
            "K8sPSPSeccompV2",
            "{allowedProfiles: [RuntimeDefault, Localhost], allowedLocalhostFiles: ['*']}",
            [true, false, false],
        ),
        (
            "K8sPSPSeccompV2",
            "{allowedProfiles: [RuntimeDefault, Localhost, not configured], allowedLocalhostFiles: ['*']}",
            [true, true, false],
        ),
        ("K8sPSPForbiddenSysctls", "{forbiddenSysctls: ['kernel.msg*']}", [true, true, false]),
        ("K8sPSPForbiddenSysctls", "{forbiddenSysctls: ['*']}", [false, false, false]),
        ("K8sPSPAllowedUsers", "{runAsUser: {rule: MustRunAsNonRoot}}", [true, false, false]),
        ("K8sPSPAllowedUsers", "{runAsUser: {rule: MustRunAs, ranges: [{min: 1, max: 2}]}}", [false, false, false]),
        ("K8sPSPReadOnlyRootFilesystem", "{}", [false, false, false]),
    ] {
        let rule = gatekeeper(kind, &format!("parameters: {parameters}"), None);
        assert!(matches!(rule.content, RuleContent::NameOnly { .. }), "{kind} {parameters}: {rule:?}");
        assert_eq!(redundant(&rule), is_redundant, "{kind} {parameters}");
    }
    for (kind, parameters) in [
        ("K8sPSPVolumeTypes", "{volumes: ['*']}"),
        ("K8sPSPVolumeTypes", "{volumes: secret}"),
        ("K8sPSPVolumeTypes", "{volumes: [7]}"),
        ("K8sPSPCapabilities", "{allowedCapabilities: ['*']}"),
        ("K8sPSPHostNetworkingPorts", "{hostNetwork: true}"),
        ("K8sPSPHostNetworkingPorts", "{min: many}"),
        ("K8sPSPHostFilesystem", "{allowedHostPaths: []}"),
        ("K8sPSPHostFilesystem", "{allowedHostPaths: [{pathPrefix: /}]}"),
        ("K8sPSPProcMount", "{procMount: Unmasked}"),
    ] {
        let rule = gatekeeper(kind, &format!("parameters: {parameters}"), None);
        assert!(matches!(rule.content, RuleContent::NotCompared(_)), "{kind} {parameters}: {rule:?}");
    }
}

#[test]
fn constraints_select_and_exempt_namespaces() {
    let labels = BTreeMap::from([("team".to_owned(), "shop".to_owned())]);
    for (block, expected) in [
        ("{}", Selected::Yes),
        ("{kinds: [{apiGroups: [''], kinds: [Pod]}]}", Selected::Yes),
        ("{kinds: [{apiGroups: [apps], kinds: [Deployment]}]}", Selected::No),
        ("{namespaces: ['shop*']}", Selected::Yes),
        ("{excludedNamespaces: [shop]}", Selected::No),
        ("{namespaceSelector: {matchExpressions: [{key: team, operator: NotIn, values: [shop]}]}}", Selected::No),
        ("{scope: Cluster}", Selected::No),
    ] {
        let rule = gatekeeper("K8sPSPProcMount", &format!("match: {block}"), None);
        assert_eq!(rule.scope.of("shop", Some(&labels)), expected, "{block}");
    }
    let rule = rules(
        "{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: K8sPSPProcMount, spec: {enforcementAction: dryrun}}\n---\n\
         {apiVersion: config.gatekeeper.sh/v1alpha1, kind: Config, spec: {match: [{processes: ['*'], excludedNamespaces: \
         [kube-*]}]}}",
    )
    .remove(0);
    assert_eq!(rule.action, RuleAction::Reports);
    assert_eq!((rule.scope.of("kube-system", None), rule.scope.of("shop", None)), (Selected::No, Selected::Yes));
}

#[test]
fn the_limits_of_a_profile_count_where_the_level_has_no_check() {
    let rule = gatekeeper("K8sPSPPrivilegedContainer", "", None);
    let policy = |privileged| PodSecurityPolicy {
        metadata: PspMetadata::default(),
        spec: Spec { privileged, ..Spec::default() },
    };
    let verdict_beside = |rule: &OtherRule, privileged| verdict(rule, "privileged:latest", Some(&policy(privileged)));
    assert!(matches!(verdict_beside(&rule, false), RuleVerdict::Redundant { .. }));
    assert!(matches!(verdict_beside(&rule, true), RuleVerdict::Stricter(_)));
    let users = gatekeeper("K8sPSPAllowedUsers", "parameters: {runAsUser: {rule: MustRunAsNonRoot}}", None);
    assert!(matches!(verdict_beside(&users, true), RuleVerdict::Unknown(_)), "the strategies are not compared");
}

#[test]
fn pinned_versions_have_their_own_checks() {
    let rule = gatekeeper("K8sPSPHostProbesLifecycle", "", None);
    assert!(matches!(verdict(&rule, "baseline:v1.33", None), RuleVerdict::Stricter(_)));
    assert!(matches!(verdict(&rule, "baseline:v1.34", None), RuleVerdict::Redundant { .. }));
}

#[test]
fn wrong_types_are_never_a_recognised_rule() {
    let kinds = [
        ("kyverno.io/v1", "ClusterPolicy"),
        ("kyverno.io/v2beta1", "Policy"),
        ("policies.kyverno.io/v1alpha1", "ValidatingPolicy"),
        ("templates.gatekeeper.sh/v1", "ConstraintTemplate"),
        ("constraints.gatekeeper.sh/v1beta1", "K8sPSPVolumeTypes"),
        ("config.gatekeeper.sh/v1alpha1", "Config"),
    ];
    let values = ["7", "text", "[]", "[7, [], {}]", "{}", "true", "~", "{rules: {a: 1}}", "{rules: [7, [], ~, text]}"];
    let keys = ["rules", "match", "validations", "matchConstraints", "parameters", "targets", "enforcementAction"];
    for (version, kind) in kinds {
        for value in values {
            for key in keys {
                let object =
                    format!("{{apiVersion: {version}, kind: {kind}, metadata: {value}, spec: {{{key}: {value}}}}}");
                for rule in rules(&object) {
                    assert!(!matches!(rule.content, RuleContent::Stated(_)), "{object}: {rule:?}");
                }
            }
            rules(&format!("{{apiVersion: {version}, kind: {kind}, metadata: {value}, spec: {value}}}"));
        }
    }
}

/// Compares verdicts with the effect of the expressions on many pods. The texts are not in the repository: the variable names a
/// file with rendered ValidatingPolicies of Kyverno, and without it there is nothing to compare.
#[test]
#[expect(clippy::print_stderr, reason = "a skipped test and its numbers")]
fn verdicts_agree_with_the_published_expressions() {
    let Ok(path) = std::env::var("BAILIWICK_VALIDATING_POLICIES") else {
        return eprintln!("skipped: BAILIWICK_VALIDATING_POLICIES names no file");
    };
    let text = std::fs::read_to_string(&path).expect("a text");
    let (files, mut sink) = (Files::new(), Sink::new());
    let tree = bailiwick_yaml::read(&text, files.add(path, text.clone()), &mut sink);
    let pods = PodVariant::pairs([]);
    let (mut compared, mut without_witness, mut wrong) = (0, 0, Vec::new());
    for document in tree.documents() {
        let mut found = OtherPolicies::default();
        found.add(document);
        let rule = found.finish().remove(0);
        let policy = ValidatingAdmissionPolicy::read(document, 37).expect("a policy");
        let refused: Vec<&PodVariant> = pods
            .iter()
            .filter(|pod| policy.evaluate(&pod.request("shop"), None, None).answer == PolicyAnswer::Deny)
            .collect();
        for name in ["restricted:latest", "baseline:latest", "privileged:latest"] {
            let level = LevelVersion::parse(name).expect("a level");
            let is_admitted = |pod: &&&PodVariant| {
                pod.pod().is_some_and(|pod| violations(&pod, level.level, level.version).is_empty())
            };
            let beyond: Vec<String> = refused.iter().filter(is_admitted).map(|pod| pod.settings.join(", ")).collect();
            let is_right = match verdict(&rule, name, None) {
                RuleVerdict::Redundant { except } if except.is_empty() => beyond.is_empty(),
                // Windows and user namespaces.
                RuleVerdict::Redundant { .. } => {
                    beyond.iter().all(|pod| pod.contains("windows") || pod.contains("hostUsers"))
                }
                // The list of pods has no pod for some fields.
                RuleVerdict::Stricter(_) => {
                    without_witness += usize::from(beyond.is_empty());
                    true
                }
                RuleVerdict::Unknown(_) => false,
            };
            compared += 1;
            if !is_right {
                let verdict = verdict(&rule, name, None);
                wrong.push(format!(
                    "{} {name}: {verdict:?}, refused beyond: {} {:?}",
                    rule.name,
                    beyond.len(),
                    beyond.first()
                ));
            }
        }
    }
    eprintln!("{compared} verdicts on {} pods, {without_witness} without a witness", pods.len());
    assert_eq!(wrong, Vec::<String>::new());
}

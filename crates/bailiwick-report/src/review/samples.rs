//! Reviews for tests: a small one, one with hostile names, and a huge one.

use std::collections::BTreeMap;

use bailiwick_analysis::subject_classes::{Member, SubjectClass};
use bailiwick_compiler::emit::plan::Counts;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_review::*;
use bailiwick_workspace::{FindingRecord, SourceRange};

/// Returns a list of texts.
fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns a review without differences.
pub(super) fn empty() -> ChangeReview {
    let compared = ["access", "pods", "admission", "nodes", "applier", "lifetimes"].map(|section| ComparedSection {
        section: section.to_owned(),
        targets: list(&["okd", "prod"]),
        comparable: true,
        why: Vec::new(),
    });
    let base =
        ReviewedBase { name: "main".to_owned(), commit: Some("4f1c2ab90412d0b1e5a0c6f2d3b4a5968778695a".to_owned()) };
    let head =
        ReviewedHead { commit: Some("9e07d13aa84411f07c3a2b1d0e9f8a7b6c5d4e3f".to_owned()), ..ReviewedHead::default() };
    ChangeReview {
        verdict: Some(Verdict::NoChange),
        line: "no effective change (proven): 48 objects differ on 2 targets".to_owned(),
        compared: compared.to_vec(),
        ..ChangeReview::empty("fleet", base, head)
    }
}

/// Returns an error of a policy.
pub(super) fn diagnostic(message: &str) -> FindingRecord {
    FindingRecord {
        fingerprint: None,
        state: None,
        code: "unknown-permission-set".to_owned(),
        severity: "error".to_owned(),
        message: message.to_owned(),
        place: Some(SourceRange {
            path: "fleet/policies/teams/tenancy.yaml".to_owned(),
            line: 3,
            column: 1,
            end_line: 3,
            end_column: 9,
        }),
        related: Vec::new(),
        notes: Vec::new(),
        help: list(&["name a PermissionSet"]),
        repeated: 0,
        targets: Vec::new(),
        risk: None,
    }
}

/// Returns a rule for core resources.
fn rule(verbs: &[&str], group: &str, resources: &[&str]) -> PolicyRule {
    PolicyRule { api_groups: list(&[group]), resources: list(resources), verbs: list(verbs), ..PolicyRule::default() }
}

fn class(id: usize, template: &str, members: &[(&str, &[&str])]) -> SubjectClass {
    let member = |(subject, namespaces): &(&str, &[&str])| Member {
        subject: (*subject).to_owned(),
        namespaces: list(namespaces),
    };
    SubjectClass {
        id,
        template: template.to_owned(),
        count: members.len(),
        members: members.iter().map(member).collect(),
        sample: members.iter().take(3).map(|(subject, _)| (*subject).to_owned()).collect(),
    }
}

fn cause(id: usize, path: &str, line: usize, text: &str) -> Cause {
    Cause {
        id,
        kind: CauseKind::Rule,
        side: Side::Head,
        path: path.to_owned(),
        line,
        column: 7,
        end_line: line,
        end_column: 7 + text.len(),
        text: text.to_owned(),
    }
}

fn step(names: [&str; 3], namespace: Option<&str>, place: Option<&str>, new: bool) -> ReviewedStep {
    let [edge, from, to] = names.map(str::to_owned);
    ReviewedStep {
        edge,
        from,
        to,
        namespace: namespace.map(str::to_owned),
        binding: Some("RoleBinding/platform-ops/sre-ops".to_owned()),
        role: Some("Role/platform-ops/sre-ops".to_owned()),
        rule: Some("create on pods".to_owned()),
        place: place.map(str::to_owned),
        new,
        note: new.then(|| "admission rejects no probe pod".to_owned()),
    }
}

fn effect(id: usize, change: EffectChange, class: usize, rights: Vec<PolicyRule>) -> AccessChange {
    AccessChange {
        id,
        change,
        class,
        targets: list(&["okd", "prod"]),
        scope: Scope::Namespaces,
        rights,
        role: None,
        as_subject: None,
        severity: EffectSeverity::None,
        rule: None,
        opens: Vec::new(),
        indirect: false,
        causes: vec![0],
        own_names: false,
        fingerprint: format!("v1:{id:032x}"),
    }
}

/// Returns a review with something in every section.
pub(super) fn small() -> ChangeReview {
    let mut review = empty();
    review.verdict = Some(Verdict::NeedsApproval);
    review.line = "more, needs @example/security: Group/sre becomes cluster-admin".to_owned();
    review.severity = EffectSeverity::Critical;
    review.exit = 1;
    review.causes = vec![
        cause(0, "fleet/policies/platform/platform.yaml", 29, "- resources: [pods]"),
        cause(1, "fleet/policies/teams/tenancy.yaml", 22, "level: privileged"),
        Cause { side: Side::Base, ..cause(2, "fleet/policies/teams/roles.yaml", 8, "- verbs: [get, list]") },
    ];
    review.classes = vec![
        class(0, "Group/sre", &[("Group/sre", &["platform-ops", "monitoring"])]),
        class(
            1,
            "Group/{team}",
            &[
                ("Group/shop", &["shop-back", "shop-front"]),
                ("Group/blog", &["blog-back", "blog-front"]),
                ("Group/chat", &["chat-back", "chat-front"]),
            ],
        ),
        class(2, "User/anna@example.com", &[("User/anna@example.com", &[])]),
    ];
    review.effects = vec![
        AccessChange {
            severity: EffectSeverity::Critical,
            rule: Some("W001".to_owned()),
            opens: list(&["cluster-admin", "nodes"]),
            ..effect(0, EffectChange::Gained, 0, vec![rule(&["create"], "", &["pods"])])
        },
        AccessChange {
            scope: Scope::Cluster,
            severity: EffectSeverity::Low,
            causes: vec![1],
            indirect: true,
            ..effect(
                1,
                EffectChange::Gained,
                2,
                vec![rule(&["get", "watch"], "apps", &["deployments", "deployments/scale"])],
            )
        },
        AccessChange {
            role: Some("ClusterRole/view".to_owned()),
            as_subject: Some("Group/shop".to_owned()),
            causes: vec![2],
            ..effect(2, EffectChange::Lost, 1, vec![rule(&["get", "list"], "", &["pods", "services"])])
        },
    ];
    review.paths = paths();
    with_further_sections(&mut review);
    with_tests_and_findings(&mut review);
    review
}

fn paths() -> Vec<PathChange> {
    let place = Some("fleet/policies/platform/platform.yaml:29");
    let operator = "ServiceAccount/platform-ops/cluster-operator";
    vec![
        PathChange {
            id: 0,
            change: PathChangeKind::New,
            class: 0,
            targets: list(&["okd", "prod"]),
            reaches: "cluster-admin".to_owned(),
            severity: EffectSeverity::Critical,
            certainty: "proven".to_owned(),
            steps: vec![
                step(["create-pods", "Group/sre", operator], Some("platform-ops"), place, true),
                ReviewedStep {
                    binding: Some("ClusterRoleBinding/cluster-operator".to_owned()),
                    role: Some("ClusterRole/cluster-admin".to_owned()),
                    rule: None,
                    ..step(["held", operator, "cluster-admin"], None, None, false)
                },
            ],
            causes: vec![0],
            closes: Some(SmallerChange {
                words: "a grant in `monitoring` alone".to_owned(),
                diff: "-  namespaces: [monitoring, platform-ops]\n+  namespaces: [monitoring]\n".to_owned(),
                test: None,
            }),
            fingerprint: "v1:aa000000000000000000000000000001".to_owned(),
        },
        PathChange {
            id: 1,
            change: PathChangeKind::Gone,
            class: 1,
            targets: list(&["prod"]),
            reaches: "namespace-admin:shop-back".to_owned(),
            severity: EffectSeverity::None,
            certainty: "possible".to_owned(),
            steps: vec![step(["bind-role", "Group/shop", "namespace-admin:shop-back"], Some("shop-back"), None, false)],
            causes: vec![2],
            closes: None,
            fingerprint: "v1:aa000000000000000000000000000002".to_owned(),
        },
    ]
}

fn with_further_sections(review: &mut ChangeReview) {
    review.ground = vec![GroundChange {
        subjects: Vec::new(),
        target: "prod".to_owned(),
        kind: GroundKind::Version,
        from: "1.34".to_owned(),
        to: "1.36".to_owned(),
    }];
    review.accounts.added = list(&["news-back", "news-front"]);
    review.pods = vec![PodChange {
        id: 0,
        kind: PodChangeKind::Level,
        target: "prod".to_owned(),
        namespaces: list(&["shop-back", "shop-front"]),
        before: Some("baseline".to_owned()),
        after: Some("privileged".to_owned()),
        direction: Direction::Wider,
        certainty: ChangeCertainty::Proven,
        severity: EffectSeverity::High,
        details: list(&["host paths are admitted"]),
        witnesses: vec![PodWitness { admitted: true, hardened: false, settings: list(&["hostNetwork: true"]) }],
        refused: Vec::new(),
        admitted: list(&["DaemonSet/shop-back/agent"]),
        causes: vec![1],
    }];
    review.nodes = vec![NodeChange {
        target: "prod".to_owned(),
        nodes: "node-role.kubernetes.io/worker".to_owned(),
        kind: "Secret".to_owned(),
        gained: list(&["shop-back/db"]),
        lost: Vec::new(),
        severity: EffectSeverity::Medium,
    }];
    review.applier = vec![ApplierChange {
        target: "prod".to_owned(),
        is_new: true,
        message: "`ServiceAccount/argocd/argocd` may not write `Role/shop-back/deployer`".to_owned(),
    }];
    review.lifetimes = vec![LifetimeChange {
        kind: "Grant".to_owned(),
        grant: "incident".to_owned(),
        before: Some("2026-11-30".to_owned()),
        after: None,
        direction: Direction::Removed,
        severity: EffectSeverity::Medium,
        causes: vec![1],
    }];
    with_hazards_and_objects(review);
}

fn with_hazards_and_objects(review: &mut ChangeReview) {
    review.hazards = vec![Hazard {
        kind: HazardKind::NamespaceDeleted,
        severity: EffectSeverity::High,
        targets: list(&["prod"]),
        namespaces: list(&["old-back", "old-front"]),
        names: Vec::new(),
        bindings: 0,
        objects: 14,
        message: "2 namespaces are deleted, with everything in them".to_owned(),
        causes: vec![1],
    }];
    review.objects.counts =
        BTreeMap::from([("prod".to_owned(), Counts { created: 1, changed: 12, deleted: 0, unchanged: 480 })]);
    review.objects.shapes = vec![ObjectShape {
        targets: vec!["prod".to_owned()],
        count: 12,
        sample: "fleet/out/prod/namespaces/shop-back.yaml".to_owned(),
        diff: "@@ -3,3 +3,3 @@\n   labels:\n-    level: baseline\n+    level: privileged\n".to_owned(),
    }];
}

fn with_tests_and_findings(review: &mut ChangeReview) {
    review.tests = TestChanges {
        failing: vec![FailedTest {
            test: "sre-stays-below-admin".to_owned(),
            targets: list(&["okd", "prod"]),
            failures: 4,
            first: list(&["group `sre` must not become `cluster-admin`, and does in 2 steps"]),
            place: "fleet/policies/tests.yaml:7".to_owned(),
        }],
        removed: vec![RemovedExpectation {
            test: "teams".to_owned(),
            expectation: "mustNot".to_owned(),
            index: 2,
            would_fail: true,
            question: "group `shop` must not create pods in `blog-back`".to_owned(),
            place: "fleet/policies/tests.yaml:31".to_owned(),
        }],
        accepted: vec![AcceptedWarning {
            code: "create-pods".to_owned(),
            place: "fleet/policies/platform/platform.yaml:4".to_owned(),
            hides_new: true,
        }],
        questions: 40,
        failures: 4,
        suggested: Some("kind: AccessTest\nmetadata: {name: sre}\n".to_owned()),
        ..TestChanges::default()
    };
    let finding = |message: &str, line: usize, number: usize| ReviewedFinding {
        also: Vec::new(),
        rule: "E020".to_owned(),
        code: "read-secrets".to_owned(),
        severity: EffectSeverity::High,
        who: Some("Group/sre".to_owned()),
        namespaces: list(&["monitoring"]),
        count: 1,
        targets: list(&["prod"]),
        message: message.to_owned(),
        path: Some("fleet/policies/platform/platform.yaml".to_owned()),
        line: Some(line),
        fingerprint: format!("v1:bb{number:030x}"),
    };
    review.findings = FindingChanges {
        new: vec![finding("group `sre` can read Secrets in `monitoring`", 31, 1)],
        fixed: vec![finding("group `ops` can read Secrets in `monitoring`", 12, 2)],
        known: 3,
        accepted: 1,
    };
    review.approvals = ApprovalState {
        needed: vec![NeededApproval {
            approvers: list(&["@example/security"]),
            count: 2,
            rule: Some("fleet/policies/approvals.yaml:6".to_owned()),
            why: "`Group/sre` becomes `cluster-admin`".to_owned(),
        }],
        given: list(&["@example/anna"]),
        missing: list(&["@example/security"]),
    };
}

/// Returns the small review with a text in the place of every name and sentence.
pub(super) fn with_names(name: &str) -> ChangeReview {
    let text = || name.to_owned();
    let mut review = small();
    let hostile = list(&[name, name]);
    review.workspace = text();
    review.base.name = text();
    review.line = format!("more, needs {name}: {name} becomes {name}");
    review.causes.iter_mut().for_each(|cause| (cause.path, cause.text) = (text(), text()));
    for class in &mut review.classes {
        (class.template, class.sample) = (text(), hostile.clone());
        let member = || Member { subject: text(), namespaces: hostile.clone() };
        class.members = class.members.iter().map(|_| member()).collect();
    }
    for effect in &mut review.effects {
        (effect.targets, effect.opens) = (hostile.clone(), hostile.clone());
        (effect.role, effect.as_subject) = (effect.role.as_ref().map(|_| text()), Some(text()));
        for rule in &mut effect.rights {
            (rule.verbs, rule.resources, rule.resource_names) = (hostile.clone(), hostile.clone(), hostile.clone());
        }
    }
    for path in &mut review.paths {
        (path.targets, path.reaches, path.certainty) = (hostile.clone(), text(), text());
        for step in &mut path.steps {
            (step.edge, step.from, step.to) = (text(), text(), format!("{name}2"));
            for part in [&mut step.namespace, &mut step.binding, &mut step.role, &mut step.rule, &mut step.note] {
                *part = Some(text());
            }
            step.place = Some(format!("{name}:3"));
        }
        path.closes = Some(SmallerChange { words: text(), diff: format!("+{name}\n{name}\n"), test: Some(text()) });
    }
    with_names_in_sections(&mut review, name, &hostile);
    review
}

fn with_names_in_sections(review: &mut ChangeReview, name: &str, hostile: &[String]) {
    let (text, names) = (|| name.to_owned(), || hostile.to_vec());
    review.compared.iter_mut().for_each(|compared| {
        (compared.section, compared.targets, compared.why, compared.comparable) = (text(), names(), names(), false);
    });
    review.ground.iter_mut().for_each(|ground| (ground.target, ground.from, ground.to) = (text(), text(), text()));
    (review.accounts.added, review.accounts.removed) = (names(), names());
    for pod in &mut review.pods {
        (pod.target, pod.namespaces, pod.before, pod.after) = (text(), names(), Some(text()), Some(text()));
        (pod.details, pod.refused, pod.admitted) = (names(), names(), names());
        pod.witnesses.iter_mut().for_each(|witness| witness.settings = names());
    }
    for node in &mut review.nodes {
        (node.target, node.nodes, node.kind, node.gained, node.lost) = (text(), text(), text(), names(), names());
    }
    review.applier.iter_mut().for_each(|applier| (applier.target, applier.message) = (text(), text()));
    for lifetime in &mut review.lifetimes {
        (lifetime.kind, lifetime.grant, lifetime.before) = (text(), text(), Some(text()));
    }
    for hazard in &mut review.hazards {
        (hazard.targets, hazard.namespaces, hazard.names, hazard.message) = (names(), names(), names(), text());
    }
    review.objects.counts = BTreeMap::from([(text(), Counts { changed: 1, ..Counts::default() })]);
    for shape in &mut review.objects.shapes {
        (shape.sample, shape.diff) = (text(), format!("-{name}\n {name}\n{name}"));
    }
    for test in review.tests.failing.iter_mut().chain(&mut review.tests.base_failing) {
        (test.test, test.targets, test.first, test.place) = (text(), names(), names(), format!("{name}:1"));
    }
    for removed in &mut review.tests.removed {
        (removed.test, removed.expectation, removed.question, removed.place) = (text(), text(), text(), text());
    }
    review.tests.accepted.iter_mut().for_each(|accepted| (accepted.code, accepted.place) = (text(), text()));
    review.tests.suggested = Some(format!("{name}\n{name}"));
    for finding in review.findings.new.iter_mut().chain(&mut review.findings.fixed) {
        (finding.rule, finding.code, finding.message, finding.path) = (text(), text(), text(), Some(text()));
        finding.targets = names();
    }
    for needed in &mut review.approvals.needed {
        (needed.approvers, needed.rule, needed.why) = (names(), Some(format!("{name}:9")), text());
    }
    (review.approvals.given, review.approvals.missing) = (names(), names());
}

/// Returns a review with many effects of long names, many changed objects and many findings.
pub(super) fn huge() -> ChangeReview {
    let mut review = small();
    let long = |index: usize| format!("{index:06}-{}", "n".repeat(246));
    review.classes = (0..1_000).map(|id| class(id, &format!("Group/{}", long(id)), &[("Group/x", &[])])).collect();
    for (id, class) in review.classes.iter_mut().enumerate() {
        let members = class
            .members
            .iter()
            .map(|member| Member { subject: member.subject.to_owned(), namespaces: vec![long(id), long(id + 1)] });
        class.members = members.collect();
    }
    review.effects = (0..1_000)
        .map(|id| AccessChange {
            severity: EffectSeverity::High,
            opens: vec![format!("secrets:{}", long(id))],
            ..effect(id, EffectChange::Gained, id, vec![rule(&["get"], "", &["secrets"])])
        })
        .collect();
    let path = paths().remove(0);
    review.paths = (0..50)
        .map(|id| PathChange { id, class: id, fingerprint: format!("v1:cc{id:030x}"), ..path.clone() })
        .collect();
    review.hazards = (0..100).map(|_| review.hazards.first().cloned().expect("a hazard")).collect();
    review.objects.shapes = (0..3_000)
        .map(|index| ObjectShape {
            targets: vec!["prod".to_owned()],
            count: 1 + index % 7,
            sample: format!("fleet/out/prod/namespaces/{}.yaml", long(index)),
            diff: format!("@@ -1,1 +1,1 @@\n-{}\n+{}\n", long(index), long(index + 1)),
        })
        .collect();
    let finding = review.findings.new.first().cloned().expect("a finding");
    review.findings.new = (0..2_000).map(|line| ReviewedFinding { line: Some(line + 1), ..finding.clone() }).collect();
    review
}

/// Returns a review with one class of many tenants.
pub(super) fn with_tenants(count: usize) -> ChangeReview {
    let mut review = small();
    if let Some(tenants) = review.classes.get_mut(1) {
        tenants.count = count;
        tenants.members = (0..count)
            .map(|index| Member {
                subject: format!("Group/team-{index:06}"),
                namespaces: vec![format!("team-{index:06}-dev"), format!("team-{index:06}-stage")],
            })
            .collect();
    }
    review
}

//! Tests of the forms with hostile names.

use std::collections::BTreeMap;

use bailiwick_analysis::access_map::{
    API_VERSION, AccessCell, AccessMap, AccessQuestion, GrantedAccess, NamespaceGroup, ReportedFindings, ReportedPath,
    ReportedPolicies, ReportedPower, SubjectAccess, TargetAccess,
};
use bailiwick_analysis::subject_classes::{Member, SubjectClass};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_review::{EffectSeverity, ReviewedStep};

use super::AccessMapForm;
use crate::html_page::SearchedNames;

const HOSTILE: [&str; 7] = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><b style=x>",
    "\u{202e}\n::error::x\u{200b}",
    "{{ title }}",
    "`</title>`",
    "&lt;b&gt;'",
];

/// Returns a question of the matrix.
fn question() -> AccessQuestion {
    AccessQuestion {
        rule: "W001".to_owned(),
        code: "create-pods".to_owned(),
        verb: "create".to_owned(),
        group: String::new(),
        resource: "pods".to_owned(),
        cluster_only: false,
    }
}

/// Returns a step in which every text of an author is this name.
fn step(name: &str) -> ReviewedStep {
    let text = || name.to_owned();
    ReviewedStep {
        edge: "create-pods".to_owned(),
        from: format!("User/{name}"),
        to: text(),
        namespace: Some(text()),
        binding: Some(text()),
        role: Some(text()),
        rule: Some(text()),
        place: Some(format!("{name}:3")),
        new: false,
        note: Some(format!("`{name}` admits a pod")),
    }
}

/// Returns a class with this name and a user of this name in a namespace of this name.
fn class_of(name: &str) -> SubjectClass {
    let text = || name.to_owned();
    let member = Member { subject: format!("User/{name}"), namespaces: vec![text()] };
    SubjectClass { id: 0, template: text(), count: 1, members: [member].into_iter().collect(), sample: vec![text()] }
}

/// Returns a map in which every text of an author is this name.
fn with_names(name: &str) -> AccessMap {
    let text = || name.to_owned();
    let rule = PolicyRule {
        verbs: vec![text()],
        api_groups: vec![text()],
        resources: vec![text()],
        resource_names: vec![text()],
        ..PolicyRule::default()
    };
    let severity = EffectSeverity::Critical;
    let grant = GrantedAccess { namespaces: Some(1), roles: vec![text()], rules: vec![rule], own_names: true };
    let power = ReportedPower { severity, power: "nodes".to_owned(), certainty: "possible".to_owned() };
    let subject = SubjectAccess {
        class: 0,
        grants: vec![grant],
        powers: vec![power],
        cells: vec![AccessCell::Namespaces { count: 1 }],
    };
    let path = ReportedPath {
        id: 0,
        class: 0,
        reaches: text(),
        severity,
        certainty: "possible".to_owned(),
        steps: vec![step(name)],
    };
    let group = NamespaceGroup {
        id: 0,
        names: vec![text().into()],
        policy: Some(text()),
        level: Some(text()),
        profiles: vec![text()],
        count: 2,
        sample: vec![text()],
    };
    let target = TargetAccess {
        target: Some(text()),
        version: "1.36".to_owned(),
        namespace_count: 2,
        pod_security_policies: Some(ReportedPolicies { evaluated: 0, ignored: 3 }),
        subjects: vec![subject],
        default_subjects: 3,
        paths: vec![path],
        namespaces: vec![group],
        unknown: vec![format!("`{name}` binds `{name}`")],
    };
    AccessMap {
        api_version: API_VERSION,
        questions: vec![question()],
        targets: vec![target],
        classes: vec![class_of(name)],
        findings: ReportedFindings { counts: BTreeMap::from([("high".to_owned(), 1)]), worst: Vec::new() },
        unanswered: bailiwick_analysis::Unanswered(BTreeMap::from([(text(), text())])),
    }
}

/// Returns the tags of a page. A backtick of a name can begin or end an element `code` in a sentence.
fn tags(page: &str) -> Vec<String> {
    let parts = page.split('<').skip(1).filter_map(|part| part.split_once('>'));
    let all = parts.map(|(tag, _)| tag.to_owned()).filter(|tag| !tag.starts_with("wbr") && !tag.ends_with("code"));
    all.map(|tag| tag.split(" d=").next().expect("a tag").to_owned()).collect()
}

#[test]
fn no_name_becomes_markup_in_a_page() {
    let body = |page: &str| page.split_once("</style>").expect("a style").1.to_owned();
    let body = |page: &str| body(page).split_once("<script>").expect("a script").0.to_owned();
    let plain = tags(&body(&AccessMapForm::Html.write(&with_names("name"), None)));
    for name in HOSTILE {
        let page = AccessMapForm::Html.write(&with_names(name), None);
        assert_eq!(tags(&body(&page)), plain, "{name}");
        assert!(!page.contains(" style=") || name.contains("style="), "{name}");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{200b}'), "{name}");
    }
}

#[test]
fn the_search_has_namespaces_without_subjects() {
    let mut map = with_names("name");
    map.targets[0].namespaces[0].names = vec!["alone".into(), "name".into()];
    let lists = super::html::searched(&map);
    let names = lists.iter().map(|list| match &list.names {
        SearchedNames::Members(members) => (list.id, members.iter().map(|member| member.subject).collect()),
        SearchedNames::Alone(names) => (list.id, names.clone()),
    });
    assert_eq!(names.collect::<Vec<_>>(), [(0, vec!["User/name"]), (1, vec!["alone"])]);
    let page = AccessMapForm::Html.write(&map, None);
    assert!(page.contains("<tr id=\"class-1\"><th scope=\"row\"><code>name</code>"), "{page}");
}

#[test]
fn each_form_has_the_policies_that_decide_nothing() {
    let map = with_names("name");
    let sentence = "3 PodSecurityPolicies ignored, since Kubernetes 1.36 has none";
    assert!(AccessMapForm::Text.write(&map, None).contains(sentence));
    let page = AccessMapForm::Html.write(&map, None);
    assert!(page.contains(sentence) && page.contains("There is no plan"), "{page}");
    assert!(AccessMapForm::Json.write(&map, None).contains("\"ignored\": 3"));
}

#[test]
fn no_name_becomes_a_line_or_breaks_json() {
    for name in HOSTILE {
        let text = AccessMapForm::Text.write(&with_names(name), None);
        assert!(text.lines().all(|line| !line.starts_with("::")), "{text}");
        assert!(!text.contains('\u{202e}'), "{text}");
        assert_eq!(
            text.lines().count(),
            AccessMapForm::Text.write(&with_names("name"), None).lines().count(),
            "{text}"
        );
        let json = AccessMapForm::Json.write(&with_names(name), None);
        let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let shown = value.pointer("/targets/0/target").and_then(serde_json::Value::as_str);
        assert_eq!(shown, Some(name));
    }
}

#[test]
fn the_page_has_the_budget_of_its_script() {
    assert!(crate::html_page::SCRIPT.len() <= 12 << 10);
    let page = AccessMapForm::Html.write(&with_names("name"), None);
    assert_eq!(page.matches("<style>").count(), 1);
    assert_eq!(page.matches("<script>").count(), 1);
    assert!(page.len() < 60 << 10, "{}", page.len());
}

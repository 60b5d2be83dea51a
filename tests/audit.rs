//! Audit logs: the requests of events, the forms of a log, unused rights and the least rights.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use bailiwick::app::{AuditOptions, LeastGrants, LeastOptions, UnusedRights, least_grants};
use bailiwick::audit::{AuditLog, LogError, LogReader};
use bailiwick::k8s::rbac::PolicyRule;
use bailiwick::{LintOptions, Options, Selection, WorldOptions, lint_manifests};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::oracle::{
    Actor, Dice, GROUPS, NAMESPACES, Request, USERS, atoms, decide, implicit_groups, random_world, rule_allows,
    rules_for, settle, uncovered,
};
use crate::support::rounds;

/// Returns an event of the user `ann` with these fields in place of its own.
fn event(fields: Value) -> Value {
    let mut event = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "stage": "ResponseComplete",
        "requestURI": "/api/v1/namespaces/a/pods", "verb": "list",
        "user": {"username": "ann", "groups": ["system:authenticated"]},
        "objectRef": {"resource": "pods", "namespace": "a", "apiVersion": "v1"},
        "responseStatus": {"metadata": {}, "code": 200},
        "requestReceivedTimestamp": "2026-11-04T10:00:00.000001Z", "stageTimestamp": "2026-11-04T10:00:00.000002Z",
        "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""},
    });
    for (key, value) in fields.as_object().expect("a map") {
        event[key] = value.clone();
    }
    event
}

fn lines(events: &[Value]) -> Vec<u8> {
    events.iter().map(|event| format!("{event}\n")).collect::<String>().into_bytes()
}

fn read(bytes: &[u8], jobs: usize) -> Result<AuditLog, LogError> {
    let mut log = AuditLog::default();
    LogReader::default().read(bytes, jobs, &mut log, &mut || {}).map(|()| log)
}

/// Returns the distinct requests of a log: the user, the decision and the request, with the number of requests.
fn requests(log: &AuditLog) -> Vec<String> {
    let text = |observation: bailiwick::audit::Observation<'_>| {
        let implied = if observation.is_implied { " (implied)" } else { "" };
        let count = observation.observed.requests;
        let decision = format!("{:?}", observation.decision).to_lowercase();
        format!("{count} {} {decision} {}{implied}", observation.identity.user, observation.request)
    };
    log.observations().map(text).collect()
}

/// An event with its requests.
type KnownEvent = (Value, &'static [&'static str]);

/// Returns an event with a verb, a path and a reference.
fn of(verb: &str, uri: &str, reference: Value) -> Value {
    event(json!({"verb": verb, "requestURI": uri, "objectRef": reference}))
}

fn with(mut event: Value, fields: Value) -> Value {
    fields.as_object().expect("a map").iter().for_each(|(key, value)| event[key] = value.clone());
    event
}

fn configmap(name: &str) -> Value {
    json!({"resource": "configmaps", "namespace": "a", "name": name, "apiVersion": "v1"})
}

fn forbidden(message: &str) -> Value {
    json!({"code": 403, "message": message})
}

/// Returns events with the requests that the authorizer saw. The events have the form of events of kube-apiserver 1.37.2.
fn known_events() -> Vec<KnownEvent> {
    let all = [stages(), decisions(), attributes(), places(), creations(), impersonations(), refused_impersonations()];
    all.into_iter().flatten().collect()
}

/// Returns events of each stage.
fn stages() -> Vec<KnownEvent> {
    vec![
        (event(json!({"stage": "RequestReceived", "annotations": null})), &[]),
        (event(json!({"stage": "ResponseStarted"})), &["1 ann allowed list pods in namespace `a`"]),
        (event(json!({"stage": "Panic"})), &["1 ann allowed list pods in namespace `a`"]),
    ]
}

/// Returns events with decisions, and of answers before a decision.
fn decisions() -> Vec<KnownEvent> {
    let guessed = json!({});
    vec![
        (event(json!({"annotations": guessed})), &["1 ann allowed list pods in namespace `a`"]),
        (
            event(json!({"annotations": guessed, "responseStatus": {"code": 403}})),
            &["1 ann denied list pods in namespace `a`"],
        ),
        (
            event(json!({"annotations": guessed, "responseStatus": {"code": 401}})),
            &["1 ann denied list pods in namespace `a`"],
        ),
        (
            event(json!({"annotations": guessed, "responseStatus": {"code": 500}})),
            &["1 ann allowed list pods in namespace `a`"],
        ),
        (event(json!({"annotations": null, "responseStatus": {"code": 429}})), &[]),
        (
            event(
                json!({"annotations": {"authorization.k8s.io/reason": "internal error"}, "responseStatus": {"code": 500}}),
            ),
            &[],
        ),
        (
            event(json!({"annotations": {"authorization.k8s.io/decision": "forbid"}, "responseStatus": {"code": 403}})),
            &["1 ann denied list pods in namespace `a`"],
        ),
        (event(json!({"responseStatus": {"code": 403}})), &["1 ann allowed list pods in namespace `a`"]),
        (event(json!({"user": {}, "stage": "ResponseStarted", "responseStatus": {"code": 401}})), &[]),
    ]
}

/// Returns events whose names are in the path, and not in the object of the request.
fn attributes() -> Vec<KnownEvent> {
    vec![
        (
            of("create", "/api/v1/namespaces/a/configmaps", configmap("x")),
            &["1 ann allowed create configmaps in namespace `a`"],
        ),
        (
            of(
                "create",
                "/api/v1/namespaces/a/pods/web/exec?command=sh",
                json!({"resource": "pods", "subresource": "exec", "namespace": "a", "name": "web"}),
            ),
            &["1 ann allowed create pods/exec `web` in namespace `a`"],
        ),
        (
            of("get", "/api/v1/namespaces/a/configmaps/x", configmap("x")),
            &["1 ann allowed get configmaps `x` in namespace `a`"],
        ),
        (
            of("list", "/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dx&limit=500", configmap("x")),
            &["1 ann allowed list configmaps `x` in namespace `a`"],
        ),
        (
            of(
                "watch",
                "/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dx\u{26}watch=true",
                configmap("x"),
            ),
            &["1 ann allowed watch configmaps `x` in namespace `a`"],
        ),
        (
            of("list", "/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%21%3Dx", configmap("")),
            &["1 ann allowed list configmaps in namespace `a`"],
        ),
    ]
}

/// Returns events with namespaces, groups, subresources and URLs.
fn places() -> Vec<KnownEvent> {
    vec![
        (
            of("deletecollection", "/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dx", configmap("")),
            &["1 ann allowed deletecollection configmaps in namespace `a`"],
        ),
        (
            of("get", "/api/v1/namespaces/a", json!({"resource": "namespaces", "namespace": "a", "name": "a"})),
            &["1 ann allowed get namespaces `a` in namespace `a`"],
        ),
        (
            of(
                "get",
                "/apis/apps/v1/namespaces/a/deployments/web/scale",
                json!({"resource": "deployments", "apiGroup": "apps", "subresource": "scale", "namespace": "a", "name": "web"}),
            ),
            &["1 ann allowed get deployments/scale.apps `web` in namespace `a`"],
        ),
        (
            of("list", "/apis/apps/v1/deployments", json!({"resource": "deployments", "apiGroup": "apps"})),
            &["1 ann allowed list deployments.apps"],
        ),
        (of("get", "/metrics?x=1", Value::Null), &["1 ann allowed get /metrics"]),
        (of("post", "/healthz", Value::Null), &["1 ann allowed post /healthz"]),
    ]
}

/// Returns events of an apply with a creation, and with a denied one.
fn creations() -> Vec<KnownEvent> {
    vec![
        (
            with(
                of("patch", "/api/v1/namespaces/a/configmaps/x?fieldManager=k", configmap("x")),
                json!({"responseStatus": {"code": 201}}),
            ),
            &[
                "1 ann allowed patch configmaps `x` in namespace `a`",
                "1 ann allowed create configmaps `x` in namespace `a` (implied)",
            ],
        ),
        (
            with(
                of("patch", "/api/v1/namespaces/a/configmaps/x", configmap("x")),
                json!({"responseStatus": forbidden("configmaps \"x\" is forbidden: User \"ann\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"a\"")}),
            ),
            &[
                "1 ann allowed patch configmaps `x` in namespace `a`",
                "1 ann denied create configmaps `x` in namespace `a` (implied)",
            ],
        ),
    ]
}

/// Returns events of impersonated users.
fn impersonations() -> Vec<KnownEvent> {
    vec![
        (
            event(
                json!({"impersonatedUser": {"username": "ben", "groups": ["dev", "system:authenticated"], "uid": "7", "extra": {"scopes": ["s"]}}}),
            ),
            &[
                "1 ben allowed list pods in namespace `a`",
                "1 ann allowed impersonate users `ben` (implied)",
                "1 ann allowed impersonate groups `dev` (implied)",
                "1 ann allowed impersonate userextras/scopes.authentication.k8s.io `s` (implied)",
                "1 ann allowed impersonate uids.authentication.k8s.io `7` (implied)",
            ],
        ),
        (
            event(json!({"impersonatedUser": {
                "username": "system:serviceaccount:a:ci",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"],
            }})),
            &[
                "1 system:serviceaccount:a:ci allowed list pods in namespace `a`",
                "1 ann allowed impersonate serviceaccounts `ci` in namespace `a` (implied)",
            ],
        ),
        (
            event(json!({
                "impersonatedUser": {"username": "ben", "groups": ["system:authenticated"]},
                "authenticationMetadata": {"impersonationConstraint": "impersonate:user-info"},
            })),
            &[
                "1 ben allowed list pods in namespace `a`",
                "1 ann allowed impersonate:user-info users.authentication.k8s.io `ben` (implied)",
                "1 ann allowed impersonate-on:user-info:list pods in namespace `a` (implied)",
            ],
        ),
    ]
}

/// Returns events of refused impersonations.
fn refused_impersonations() -> Vec<KnownEvent> {
    vec![
        (
            event(
                json!({"annotations": null, "responseStatus": forbidden("users \"carol\" is forbidden: User \"ann\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope")}),
            ),
            &["1 ann denied impersonate users `carol`"],
        ),
        (
            event(
                json!({"annotations": null, "responseStatus": forbidden("pods is forbidden: User \"ann\" cannot impersonate-on:user-info:list resource \"pods\" in API group \"\" in the namespace \"a\"")}),
            ),
            &["1 ann denied impersonate-on:user-info:list pods in namespace `a`"],
        ),
        (
            event(
                json!({"annotations": null, "responseStatus": forbidden("forbidden: User \"ann\" cannot impersonate-on:user-info:get path \"/version\"")}),
            ),
            &["1 ann denied impersonate-on:user-info:get /version"],
        ),
        (
            event(
                json!({"annotations": null, "responseStatus": {"code": 400, "message": "requested [{Group  dev  v1  }] without impersonating a user"}}),
            ),
            &[],
        ),
    ]
}

#[test]
fn each_event_has_the_requests_that_the_authorizer_saw() {
    for (event, expected) in known_events() {
        let log = read(&lines(std::slice::from_ref(&event)), 1).unwrap_or_else(|error| panic!("{error:?}: {event}"));
        assert_eq!(requests(&log), expected, "{event}");
    }
}

#[test]
fn a_request_counts_once() {
    let stage = |id: &str, stage: &str| event(json!({"auditID": id, "stage": stage}));
    let events = [
        stage("1", "RequestReceived"),
        stage("1", "ResponseStarted"),
        stage("1", "ResponseComplete"),
        stage("2", "ResponseComplete"),
        stage("2", "ResponseComplete"),
        stage("", "ResponseComplete"),
    ];
    let log = read(&lines(&events), 1).expect("a log");
    assert_eq!(requests(&log), ["3 ann allowed list pods in namespace `a`"]);
    assert_eq!((log.counts.events, log.counts.undecided), (3, 1));
    let unset = event(json!({"requestReceivedTimestamp": null, "stageTimestamp": "2026-11-05T00:00:00Z"}));
    let log = read(&lines(&[event(json!({})), unset]), 1).expect("a log");
    assert_eq!((log.days(), log.days_with_events()), (1, 2));
}

#[test]
fn every_form_of_a_log_has_the_same_requests() {
    let events: Vec<Value> = known_events().into_iter().map(|(event, _)| event).collect();
    let plain = lines(&events);
    let expected = requests(&read(&plain, 1).expect("a log"));
    let list = json!({"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": {}, "items": events});
    let bare: Vec<Value> = events
        .iter()
        .cloned()
        .map(|mut event| {
            event.as_object_mut().expect("a map").retain(|key, _| key != "kind" && key != "apiVersion");
            event
        })
        .collect();
    let bare = json!({"items": bare, "kind": "EventList", "apiVersion": "audit.k8s.io/v1"});
    let pretty = |value: &Value| serde_json::to_vec_pretty(value).expect("JSON");
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).expect("bytes");
        encoder.finish().expect("bytes")
    };
    let text = String::from_utf8(plain.clone()).expect("text");
    let (first, second) = text.split_at(text.find('\n').expect("a line") + 1);
    let forms: Vec<(&str, Vec<u8>)> = vec![
        ("without the last end of line", text.trim_end().as_bytes().to_vec()),
        ("Windows", format!("\u{feff}{}", text.replace('\n', "\r\n\r\n")).into_bytes()),
        ("of oc", text.lines().map(|line| format!("node-1.example.com {line}\n")).collect::<String>().into_bytes()),
        ("list on a line", format!("{list}\n").into_bytes()),
        ("bare list on a line", format!("{bare}\n").into_bytes()),
        ("list over lines", pretty(&list)),
        ("bare list over lines", pretty(&bare)),
        ("events over lines", events.iter().flat_map(|event| [pretty(event), b"\n".to_vec()].concat()).collect()),
        ("gzip", gzip(&plain)),
        ("two members of gzip", [gzip(first.as_bytes()), gzip(second.as_bytes())].concat()),
        ("list of gzip", gzip(&pretty(&list))),
    ];
    for (form, bytes) in forms {
        for jobs in [1, 2, 8] {
            let log = read(&bytes, jobs).unwrap_or_else(|error| panic!("{form}: {error:?}"));
            assert_eq!(requests(&log), expected, "{form}");
        }
    }
}

#[test]
fn many_threads_read_what_one_reads() {
    let names = (0..40_000).map(|number| {
        let name = format!("x{}", number % 1_000);
        event(json!({
            "auditID": format!("{}", number / 2), "verb": "get", "requestURI": format!("/api/v1/namespaces/a/pods/{name}"),
            "objectRef": {"resource": "pods", "namespace": "a", "name": name},
        }))
    });
    let bytes = lines(&names.collect::<Vec<_>>());
    assert!(bytes.len() > 10 << 20, "more than ten pieces");
    let one = read(&bytes, 1).expect("a log");
    assert_eq!((one.counts.events, one.observations().count()), (20_000, 1_000));
    for jobs in [2, 8] {
        assert_eq!(requests(&read(&bytes, jobs).expect("a log")), requests(&one));
    }
}

/// A reader forgets its requests from 65,536 on, and a log can have a new path in each line.
#[test]
fn forgotten_requests_are_read_again() {
    let names = (0..150_000).map(|number| {
        let name = format!("x{number}");
        let uri = format!("/api/v1/namespaces/a/pods/{name}");
        let reference = json!({"resource": "pods", "namespace": "a", "name": name});
        event(json!({"verb": "get", "requestURI": uri, "objectRef": reference}))
    });
    let bytes = lines(&names.collect::<Vec<_>>());
    let log = read(&bytes, 1).expect("a log");
    let is_own =
        |(number, text): (usize, String)| text == format!("1 ann allowed get pods `x{number}` in namespace `a`");
    assert!(requests(&log).into_iter().enumerate().all(is_own));
    assert_eq!(requests(&read(&bytes, 3).expect("a log")), requests(&log));
}

#[test]
fn a_hostile_log_is_refused_or_read() {
    let good = event(json!({"auditID": "1"})).to_string();
    let many = format!("{good}\n").repeat(2_000);
    let deep = format!("{{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"x\":{}", "[".repeat(100_000));
    let long = format!("{{\"kind\":\"Event\",\"x\":\"{}", "x".repeat(65 << 20));
    let bomb = {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![b'x'; 80 << 20]).expect("bytes");
        encoder.finish().expect("bytes")
    };
    let cut = {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(many.as_bytes()).expect("bytes");
        let bytes = encoder.finish().expect("bytes");
        bytes[..bytes.len() / 2].to_vec()
    };
    let refused: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("blank lines", b"\n \n\n".to_vec()),
        ("many blank lines", b"\n".repeat(4 << 20)),
        ("text", b"kind: Event\n".to_vec()),
        ("bytes", vec![0xff, 0x00, 0x80, b'\n']),
        ("depth", deep.clone().into_bytes()),
        ("depth behind an event", format!("{good}\n{deep}\n").into_bytes()),
        ("a long line", long.clone().into_bytes()),
        ("a long line behind an event", format!("{good}\n{long}").into_bytes()),
        ("gzip of a long line", bomb),
        ("half of a file of gzip", cut),
        ("another kind", b"{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}\n".to_vec()),
        ("another version", good.replace("audit.k8s.io/v1", "audit.k8s.io/v1alpha1").into_bytes()),
        ("another stage", good.replace("ResponseComplete", "Done").into_bytes()),
        ("one bad line of a hundred", format!("{}x\n", many.split_at(many.len() / 20).0).into_bytes()),
        ("a list of pods", b"{\n\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[{\"kind\":\"Pod\"}]}".to_vec()),
        ("a cut list", b"{\"kind\":\"EventList\",\"apiVersion\":\"audit.k8s.io/v1\",\n\"items\":[{\"a\":1},".to_vec()),
        ("types", good.replace("\"list\"", "[]").into_bytes()),
    ];
    for (name, bytes) in refused {
        assert!(read(&bytes, 2).is_err(), "{name}");
    }
    let log = read(format!("{many}{long}\n").as_bytes(), 2).expect("one bad line in two thousand");
    assert_eq!((log.counts.events, log.counts.unreadable), (1, 1));
    let older = good.replace("audit.k8s.io/v1", "audit.k8s.io/v1beta1");
    let behind_blank_lines = read(format!("\n \n{good}\n\n{older}\n").as_bytes(), 2);
    assert!(matches!(behind_blank_lines, Err(LogError::Version { line: 5, .. })), "{behind_blank_lines:?}");
}

/// Returns the options of a run about a cluster and a log in a folder.
fn least_options(folder: &Path) -> LeastOptions {
    LeastOptions {
        audit: AuditOptions { logs: vec![folder.join("audit.log")], policy: None },
        world: WorldOptions {
            from: vec![folder.join("cluster.yaml")],
            kubernetes_version: Some("1.36".to_owned()),
            // The oracle does not know the default policy.
            baseline: Some("none".to_owned()),
            ..WorldOptions::default()
        },
        ..LeastOptions::default()
    }
}

/// A right to all verbs has a part that no log shows, and its binding is not called unused as a whole.
#[test]
fn the_hidden_part_of_a_wildcard_is_not_called_unused() {
    let scratch = tempfile::tempdir().expect("a folder");
    let group = "rbac.authorization.k8s.io";
    let objects = [
        json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": {"name": "wide"}, "rules": [
            {"apiGroups": [group], "resources": ["clusterroles"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["nodes/metrics", "pods"], "verbs": ["*"]},
        ]}),
        json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "ben"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "wide"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "ben"}]}),
    ];
    let text: String = objects.iter().map(|object| format!("{object}\n---\n")).collect();
    fs::write(scratch.path().join("cluster.yaml"), text).expect("a file");
    fs::write(scratch.path().join("audit.log"), lines(&[event(json!({}))])).expect("a file");
    let LeastOptions { world, audit, .. } = least_options(scratch.path());
    let selection =
        Selection::new(&["unused-grant".to_owned(), "unused-binding".to_owned()], &[], None).expect("codes");
    let options = LintOptions { world, audit, selection, ..LintOptions::default() };
    let report = lint_manifests(&Options::default(), &options).expect("findings");
    let codes: Vec<&str> = report.findings.list.iter().map(|finding| finding.code.id()).collect();
    assert_eq!(codes, ["unused-grant"]);
    let audit = report.audit.expect("a log");
    let words = |rules: &[PolicyRule]| -> Vec<String> {
        rules.iter().map(|rule| format!("{} {}", rule.verbs.join(","), rule.resources.join(","))).collect()
    };
    assert_eq!(words(&audit.unused[0].rules), ["* pods", "* clusterroles"]);
    assert_eq!(words(&audit.not_observable[0].rules), ["* nodes/metrics", "bind,escalate clusterroles"]);
}

/// A client chooses the words of its path, and some users choose their names: no word widens a right or breaks a policy.
#[test]
fn hostile_words_are_left_out_or_quoted() {
    let of = |user: &str, uri: &str, reference: Value| {
        let user = json!({"username": user, "groups": ["system:authenticated"]});
        event(json!({"user": user, "verb": "get", "requestURI": uri, "objectRef": reference}))
    };
    let reference = |resource: &str, namespace: &str, name: &str| json!({"resource": resource, "namespace": namespace, "name": name});
    let mut events = vec![
        of("star", "/api/v1/namespaces/a/*/x", reference("*", "a", "x")),
        of("url", "/metrics/*", Value::Null),
        of("place", "/api/v1/namespaces/{namespace.name}/pods/x", reference("pods", "{namespace.name}", "x")),
        of("brace", "/api/v1/namespaces/a/pods/%7Bname%7D", reference("pods", "a", "{name}")),
    ];
    let users = [
        "{account}",
        "{{x}}",
        "a\nb: [c",
        "\u{202e}evil",
        "- *",
        "é",
        "system:serviceaccount:A B:b",
        "*",
        "null",
        "1.5",
    ];
    events.extend(users.map(|user| of(user, "/api/v1/namespaces/a/pods/x", reference("pods", "a", "x"))));
    let scratch = tempfile::tempdir().expect("a folder");
    fs::write(scratch.path().join("audit.log"), lines(&events)).expect("a file");
    let audit = AuditOptions { logs: vec![scratch.path().join("audit.log")], policy: None };
    let into = Some(scratch.path().join("into"));
    let found = least_grants(&Options::default(), &LeastOptions { audit, into, ..LeastOptions::default() })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(found.proof.denied.is_empty(), "{:?}", found.proof);
    let left_out: Vec<&str> = found.left_out.iter().map(|left| left.user.as_str()).collect();
    assert_eq!(left_out, ["place", "star", "url"]);
    let rules: Vec<&PolicyRule> = found.sets.iter().flat_map(|set| &set.rules).collect();
    let words = rules.iter().flat_map(|rule| [&rule.verbs, &rule.resources, &rule.non_resource_urls]);
    assert!(words.flatten().all(|word| !word.contains('*')), "{rules:?}");
    let granted: BTreeSet<&str> = found.grants.iter().map(|grant| grant.user.as_str()).collect();
    assert_eq!(granted, users.into_iter().chain(["brace"]).collect::<BTreeSet<&str>>());
    let policies = fs::read_to_string(scratch.path().join("into/policies/least.yaml")).expect("policies");
    assert_eq!(policies, found.policies);
}

/// Returns the path of a request.
fn path_of(request: &Request) -> String {
    if let Some(path) = &request.path {
        return path.clone();
    }
    let mut path = if request.group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{}/v1", request.group) };
    let is_namespace = request.resource == "namespaces" && !request.namespace.is_empty();
    if !request.namespace.is_empty() && !is_namespace {
        path += &format!("/namespaces/{}", request.namespace);
    }
    path += &format!("/{}", request.resource);
    for part in [&request.name, &request.subresource] {
        if !part.is_empty() {
            path += &format!("/{part}");
        }
    }
    path
}

/// Returns the event of a request, with the decision of the naive evaluation.
fn event_of(actor: &Actor, request: &Request, is_allowed: bool) -> Value {
    let mut groups = actor.groups.clone();
    groups.extend(implicit_groups(&actor.user));
    let reference = match &request.path {
        Some(_) => Value::Null,
        None => json!({
            "apiGroup": request.group, "resource": request.resource, "subresource": request.subresource,
            "namespace": request.namespace, "name": request.name,
        }),
    };
    let decision = if is_allowed { "allow" } else { "forbid" };
    event(json!({
        "verb": request.verb, "requestURI": path_of(request), "objectRef": reference,
        "user": {"username": actor.user, "groups": groups},
        "responseStatus": {"code": if is_allowed { 200 } else { 403 }},
        "annotations": {"authorization.k8s.io/decision": decision},
    }))
}

/// Returns a random request of a real client.
fn random_request(dice: &mut Dice) -> Request {
    if dice.chance(15) {
        let path = dice.pick(&["/m", "/m/x", "/metrics", "/mx"]).to_owned();
        return Request { verb: dice.pick(&["get", "post"]).to_owned(), path: Some(path), ..Request::default() };
    }
    let (group, resource, subresource) = *dice
        .one_of(&[
            ("", "pods", ""),
            ("", "pods", "log"),
            ("", "pods", "exec"),
            ("", "secrets", ""),
            ("", "nodes", ""),
            ("apps", "deployments", ""),
            ("apps", "deployments", "scale"),
            ("rbac.authorization.k8s.io", "roles", ""),
        ])
        .expect("a resource");
    let verbs: &[&str] = match subresource {
        "log" => &["get"],
        "exec" => &["create"],
        "scale" => &["get", "update", "patch"],
        _ => &["get", "list", "create", "update", "patch", "delete", "deletecollection"],
    };
    let verb = dice.pick(verbs);
    let is_named = !subresource.is_empty() || matches!(verb, "get" | "update" | "patch" | "delete");
    Request {
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: if resource == "nodes" { String::new() } else { dice.pick(NAMESPACES).to_owned() },
        name: if is_named { dice.pick(&["x", "y", "z"]).to_owned() } else { String::new() },
        ..Request::default()
    }
}

/// Writes a random cluster with a random log into a folder. Returns the objects and the allowed requests.
fn random_log(seed: u64, folder: &Path) -> (Vec<Value>, Vec<(Actor, Request)>) {
    let mut dice = Dice::new(seed);
    let mut objects = random_world(&mut dice);
    for object in &mut objects {
        object["apiVersion"] = "rbac.authorization.k8s.io/v1".into();
        for rule in object["rules"].as_array_mut().into_iter().flatten() {
            // The empty name allows a `create` without a name, and no right to a name is as narrow.
            rule["resourceNames"].as_array_mut().into_iter().for_each(|names| names.retain(|name| name != ""));
        }
    }
    let text: String = objects.iter().map(|object| format!("{object}\n---\n")).collect();
    fs::write(folder.join("cluster.yaml"), text).expect("a file");
    settle(&mut objects);
    let mut events = Vec::new();
    let mut allowed = Vec::new();
    for _ in 0..400 {
        let user = dice.pick(USERS).to_owned();
        let mut groups = implicit_groups(&user);
        if dice.chance(50) {
            groups.push(dice.pick(GROUPS).to_owned());
        }
        let actor = Actor { user, groups };
        let request = random_request(&mut dice);
        let is_allowed = decide(&objects, &actor, &request).allowed;
        events.push(event_of(&actor, &request, is_allowed));
        if is_allowed {
            allowed.push((actor, request));
        }
    }
    fs::write(folder.join("audit.log"), lines(&events)).expect("a file");
    (objects, allowed)
}

/// Returns the roles and bindings of least rights.
fn objects_of(found: &LeastGrants) -> Vec<Value> {
    let mut objects = Vec::new();
    for set in &found.sets {
        objects.push(json!({"kind": "ClusterRole", "metadata": {"name": set.name}, "rules": set.rules}));
    }
    for (number, grant) in found.grants.iter().enumerate() {
        let reference = json!({"kind": "ClusterRole", "name": grant.permission_set});
        let subjects = json!([{"kind": "User", "name": grant.user}]);
        if grant.namespaces.is_empty() {
            let metadata = json!({"name": format!("g{number}")});
            objects.push(
                json!({"kind": "ClusterRoleBinding", "metadata": metadata, "roleRef": reference, "subjects": subjects}),
            );
        }
        for namespace in &grant.namespaces {
            let metadata = json!({"name": format!("g{number}"), "namespace": namespace});
            objects
                .push(json!({"kind": "RoleBinding", "metadata": metadata, "roleRef": reference, "subjects": subjects}));
        }
    }
    objects
}

/// The least rights of random logs allow every allowed request by the rules of the oracle, and nothing that the cluster does not grant.
#[test]
fn the_least_rights_are_enough_and_no_more() {
    let mut grants = 0;
    for seed in 0..rounds(20, 200) {
        let scratch = tempfile::tempdir().expect("a folder");
        let (objects, allowed) = random_log(seed, scratch.path());
        let found = least_grants(&Options::default(), &least_options(scratch.path()))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(found.proof.denied.is_empty() && found.proof.wider.is_empty(), "seed {seed}: {:?}", found.proof);
        let least = objects_of(&found);
        for (actor, request) in &allowed {
            assert!(decide(&least, actor, request).allowed, "seed {seed}: {actor:?} {request:?}\n{}", found.policies);
        }
        for grant in &found.grants {
            let set = found.sets.iter().find(|set| set.name == grant.permission_set).expect("a set");
            let rules: Vec<Value> = set.rules.iter().map(|rule| json!(rule)).collect();
            let groups = allowed.iter().filter(|(actor, _)| actor.user == grant.user);
            let groups = groups.flat_map(|(actor, _)| actor.groups.clone()).collect();
            let actor = Actor { user: grant.user.clone(), groups };
            let scopes = if grant.namespaces.is_empty() { vec![String::new()] } else { grant.namespaces.clone() };
            for scope in scopes {
                let (held, _) = rules_for(&objects, &actor, &scope);
                assert_eq!(uncovered(&held, &rules), Vec::<Value>::new(), "seed {seed}: {grant:?}");
            }
            grants += 1;
        }
    }
    assert!(grants > 50, "{grants} grants");
}

/// The unused rights of random logs are the atoms that no allowed request needs, by the rules of the oracle.
#[test]
fn unused_rights_are_the_atoms_without_a_request() {
    let mut unused = 0;
    for seed in 0..rounds(20, 200) {
        let scratch = tempfile::tempdir().expect("a folder");
        let (objects, allowed) = random_log(seed, scratch.path());
        let options = least_options(scratch.path());
        let selection =
            Selection::new(&["unused-grant".to_owned(), "audit-disagrees".to_owned()], &[], None).expect("codes");
        let report = lint_manifests(
            &Options::default(),
            &LintOptions { world: options.world, audit: options.audit, selection, ..LintOptions::default() },
        )
        .expect("findings");
        let audit = report.audit.expect("a log");
        let disagreements = report.findings.list.iter().filter(|finding| finding.code.id() == "audit-disagrees");
        let disagreements: Vec<_> = disagreements.map(|finding| (&finding.message, &finding.notes)).collect();
        assert_eq!(disagreements, [], "seed {seed}");
        for UnusedRights { binding, subject, rules, .. } in &audit.unused {
            let parts: Vec<&str> = binding.split('/').collect();
            let place = if parts.len() == 3 { Some(parts[1]) } else { None };
            let (kind, name) = subject.split_once('/').expect("a subject");
            let is_subject = |actor: &Actor| match kind {
                "Group" => actor.is_in(name),
                "ServiceAccount" => actor.user == format!("system:serviceaccount:{}", name.replacen('/', ":", 1)),
                _ => actor.user == name,
            };
            let in_scope = |request: &Request| place.is_none_or(|place| request.namespace == place);
            for atom in rules.iter().flat_map(|rule| atoms(&json!(rule))) {
                let user = allowed
                    .iter()
                    .find(|(actor, request)| is_subject(actor) && in_scope(request) && rule_allows(&atom, request));
                assert_eq!(user, None, "seed {seed}: {binding} {subject} {atom}");
                unused += 1;
            }
        }
        assert_complete(seed, &objects, &allowed, &audit);
    }
    assert!(unused > 100, "{unused} unused rights");
}

/// Checks each right of a subject: it is used, called unused, or a right that no log shows.
fn assert_complete(seed: u64, objects: &[Value], allowed: &[(Actor, Request)], audit: &bailiwick::app::AuditSummary) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for binding in objects.iter().filter(|object| text(&object["kind"]).ends_with("Binding")) {
        let place = text(&binding["metadata"]["namespace"]);
        let name = [text(&binding["kind"]), place.clone(), text(&binding["metadata"]["name"])];
        let name = name.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("/");
        let role = objects.iter().find(|object| {
            object["kind"] == binding["roleRef"]["kind"]
                && object["metadata"]["name"] == binding["roleRef"]["name"]
                && (binding["roleRef"]["kind"] == "ClusterRole" || text(&object["metadata"]["namespace"]) == place)
        });
        let Some(role) = role else { continue };
        for subject in binding["subjects"].as_array().into_iter().flatten().filter(|subject| subject["kind"] == "User")
        {
            let user = text(&subject["name"]);
            let key = format!("User/{user}");
            // The user of a service account is the account: a binding of both names one of them.
            let account = user.strip_prefix("system:serviceaccount:").map(|account| account.replacen(':', "/", 1));
            let account = format!("ServiceAccount/{}", account.unwrap_or_default());
            let stated = |rules: &[PolicyRule]| -> BTreeSet<String> {
                rules.iter().flat_map(|rule| atoms(&json!(rule))).map(|atom| atom.to_string()).collect()
            };
            let is_this = |binding: &str, subject: &str| binding == name && (subject == key || subject == account);
            let unused = audit.unused.iter().filter(|found| is_this(&found.binding, &found.subject));
            let hidden = audit.not_observable.iter().filter(|found| is_this(&found.binding, &found.subject));
            let listed: BTreeSet<String> = unused
                .flat_map(|found| stated(&found.rules))
                .chain(hidden.flat_map(|found| stated(&found.rules)))
                .collect();
            let all: Vec<Value> = role["rules"].as_array().into_iter().flatten().flat_map(atoms).collect();
            for atom in &all {
                let is_used = allowed.iter().any(|(actor, request)| {
                    actor.user == user && (place.is_empty() || request.namespace == place) && rule_allows(atom, request)
                });
                let others: Vec<Value> = all.iter().filter(|other| *other != atom).cloned().collect();
                let is_covered = uncovered(&others, std::slice::from_ref(atom)).is_empty();
                let is_listed = listed.contains(&atom.to_string());
                assert!(is_used || is_covered || is_listed, "seed {seed}: {name} {key} {atom}\n{listed:?}");
            }
        }
    }
}

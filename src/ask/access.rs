//! The questions about RBAC. Each is about the world of the connection, which the question `world` replaces.

use serde_json::{Map, Value, json};

use super::AskError;
use super::Connection;
use super::keys::{Keys, RULE, check_keys};
use crate::access::aggregate::Stated;
use crate::access::compare::{ImpliedGroups, compare};
use crate::access::cover;
use crate::access::impersonate::{self, ImpersonationTarget};
use crate::access::possible::PossibleGrant;
use crate::access::reconcile::reconcile;
use crate::access::request::{Identity, Request, ResourceRequest, UrlRequest};
use crate::access::who_can::Where;
use crate::access::world::{Added, Builder, ObjectSource};
use crate::access::write::{Escalation, Write, WriteVerb};
use crate::access::{decide::MissingRole, http};
use crate::admission::scc::bootstrap;
use crate::admission::scc::release::Release;
use crate::diag::{FileId, Origin, Span};
use crate::k8s::catalogue::{FIRST_MINOR, LAST_MINOR};
use crate::k8s::default_policy;
use crate::k8s::rbac::{self, PolicyRule};
use crate::yaml::{self, NodeRef, Tree};

/// The extra field with the node that a token is bound to.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// The keys of an identity.
const IDENTITY: &[&str] = &["user", "groups"];

/// The keys of a request.
const REQUEST: &[&str] = &["verb", "group", "resource", "subresource", "namespace", "name", "path", "http"];

/// The keys of each kind of question.
const KEYS: &[Keys] = &[
    ("world", &[&["objects", "baseline", "minor", "release", "statedRulesStay"]]),
    ("can-i", &[IDENTITY, REQUEST]),
    ("rules", &[IDENTITY, &["namespace"]]),
    ("covers", &[&["owner", "wanted"]]),
    ("covers/owner/*", &[RULE]),
    ("covers/wanted/*", &[RULE]),
    ("who-can", &[REQUEST]),
    ("aggregate", &[]),
    ("write", &[IDENTITY, &["object", "old", "verb"]]),
    ("escalation", &[IDENTITY]),
    ("impersonate", &[IDENTITY, REQUEST, &["asUser", "asGroups", "asExtra", "asUid", "extra", "minor"]]),
    ("compare", &[&["old", "new", "baseline"]]),
    ("reconcile", &[&["expected", "existing", "removeExtra"]]),
    ("default-policy", &[]),
];

impl Connection {
    /// Answers a question about the world of the connection.
    ///
    /// # Errors
    /// The reason why it is no question.
    pub(super) fn ask(&self, kind: &str, body: &Value) -> Result<Value, AskError> {
        check_keys(KEYS, kind, body)?;
        let answer = match kind {
            "can-i" => self.can_i(body),
            "rules" => self.rules(body),
            "covers" => covers(body),
            "who-can" => self.who_can(body),
            "aggregate" => Ok(json!({ "roles": self.world.aggregated() })),
            "write" => self.write(body),
            "escalation" => self.escalation(body),
            "impersonate" => self.impersonate(body),
            "compare" => comparison(body),
            "reconcile" => reconciliation(body),
            "default-policy" => default_objects(body),
            other => Err(AskError::UnknownQuestion(other.to_owned())),
        };
        answer.map(|answer| if self.is_about_newer(body) { judged_as_newest(answer) } else { answer })
    }

    /// Whether a question is about a version that is newer than every known one: the version of the world, or one that
    /// the question names.
    fn is_about_newer(&self, body: &Value) -> bool {
        let named = [body, &body["minor"], &body["baseline"]].into_iter().filter_map(|value| known_minor(value).ok());
        self.world.api().is_newer_than_known() || named.into_iter().any(|minor| minor > LAST_MINOR)
    }

    /// Replaces the world of the connection.
    ///
    /// # Errors
    /// The reason why it is no world.
    pub(super) fn set_world(&mut self, body: &Value) -> Result<Value, AskError> {
        check_keys(KEYS, "world", body)?;
        let minor = match body.get("minor") {
            None | Some(Value::Null) => LAST_MINOR,
            Some(number) => known_minor(number)?,
        };
        let keeps = body.get("statedRulesStay").and_then(Value::as_bool).unwrap_or_default();
        let mut builder = Builder::new(minor).with_stated_rules(if keeps { Stated::Kept } else { Stated::Overwritten });
        if let Some(baseline) = body.get("baseline").filter(|baseline| !baseline.is_null()) {
            builder = builder.with_default_policy(known_minor(baseline)?);
        }
        if let Some(release) = body.get("release").filter(|release| !release.is_null()) {
            bootstrap::add_to(&mut builder, known_release(release)?);
        }
        let objects = body.get("objects").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let taken = objects.iter().map(|object| add(&mut builder, object)).sum::<usize>();
        self.world = builder.build();
        let answer = json!({ "objects": taken });
        Ok(if self.is_about_newer(body) { judged_as_newest(answer) } else { answer })
    }

    fn can_i(&self, body: &Value) -> Result<Value, AskError> {
        let who = identity(body)?;
        let request = request(body)?;
        let mut decision = self.world.decide(&who, &request);
        let mut answer = Map::new();
        // The answer is about the request alone. Further requests that the server checks are a field of their own.
        let also = decision.also_needed.take();
        answer.insert("answer".to_owned(), json!(decision.answer(self.is_complete)));
        if let Some(also) = also {
            answer.insert("alsoNeeded".to_owned(), json!(also));
        }
        answer.insert("allowed".to_owned(), decision.allowed.into());
        answer.insert("by".to_owned(), self.world.bindings_by_name(&decision).into());
        answer.insert("missing".to_owned(), names(&decision.missing));
        insert_possible(&mut answer, &decision.possible);
        answer.insert("because".to_owned(), self.world.proofs_by_name(&decision).into());
        if body.get("http").is_some() {
            answer.insert("attributes".to_owned(), json!(request));
        }
        Ok(answer.into())
    }

    fn rules(&self, body: &Value) -> Result<Value, AskError> {
        let resolved = self.world.rules_for(&identity(body)?, text(body, "namespace")?);
        Ok(json!({ "rules": resolved.rules, "missing": names(&resolved.missing) }))
    }

    fn who_can(&self, body: &Value) -> Result<Value, AskError> {
        let found = self.world.who_can(&request(body)?, Where::AsRequested);
        let mut answer = Map::new();
        answer.insert("subjects".to_owned(), found.subjects(&self.world).into());
        answer.insert("missing".to_owned(), names(&found.missing));
        insert_possible(&mut answer, &found.possible);
        Ok(answer.into())
    }

    fn escalation(&self, body: &Value) -> Result<Value, AskError> {
        let paths = self.world.escalation_paths(&identity(body)?).into_iter();
        let paths = paths.map(|path| json!({ "via": path.via, "to": path.to }));
        Ok(json!({ "paths": paths.collect::<Vec<_>>() }))
    }

    fn write(&self, body: &Value) -> Result<Value, AskError> {
        let object = body.get("object").map(tree_of).ok_or(AskError::Missing("object"))?;
        let old = body.get("old").filter(|old| !old.is_null()).map(tree_of);
        let root = object.document(0).ok_or(AskError::Missing("object"))?;
        let old = old.as_ref().and_then(|tree| tree.document(0));
        let verb = match (text(body, "verb")?, old) {
            ("create", _) | ("", None) => WriteVerb::Create,
            ("update", _) | ("", Some(_)) => WriteVerb::Update,
            ("patch", _) => WriteVerb::Patch,
            (other, _) => return Err(AskError::Value(format!("nothing is written by `{other}`"))),
        };
        let resource =
            self.world.resource_of(root).ok_or_else(|| AskError::value("the kind of `object` is not known"))?;
        let decision = self.world.may_write(&identity(body)?, Write { object: root, old, verb, resource });
        let (word, missing) = match &decision.escalation {
            Escalation::Fine => ("ok", Vec::new()),
            Escalation::Forbidden(missing) => ("forbidden", missing.clone()),
            Escalation::NotFound(_) => ("not-found", Vec::new()),
            Escalation::Invalid(_) => ("invalid", Vec::new()),
        };
        Ok(json!({
            "verbAllowed": decision.verb_allowed,
            "escalation": word,
            "allowed": decision.allowed(),
            "uncovered": missing,
        }))
    }

    fn impersonate(&self, body: &Value) -> Result<Value, AskError> {
        let mut extra = Vec::new();
        for (key, values) in body.get("asExtra").and_then(Value::as_object).into_iter().flatten() {
            // A header without a value has no effect.
            let values = string_list(values);
            if !values.is_empty() {
                extra.push((key.to_lowercase(), values));
            }
        }
        extra.sort();
        let target = ImpersonationTarget {
            user: text(body, "asUser")?.to_owned(),
            groups: body.get("asGroups").map(string_list).unwrap_or_default(),
            extra,
            uid: text(body, "asUid")?.to_owned(),
        };
        let node = body.get("extra").and_then(|extra| extra.get(NODE_NAME)).map(string_list);
        let node = node.as_deref().and_then(|names| match names {
            [only] => Some(only.as_str()),
            _ => None,
        });
        let asked = ["verb", "http"].iter().any(|key| body.get(key).is_some());
        let request = asked.then(|| request(body)).transpose()?;
        let minor = body.get("minor").map_or(Ok(self.world.minor()), known_minor)?;
        let constrained = request.filter(|_| minor >= impersonate::CONSTRAINED_SINCE);
        let found = self.world.may_impersonate(&identity(body)?, node, &target, constrained.as_ref());
        let checks = found.checks.iter().map(|(request, allowed)| {
            let mut check = json!(request);
            if let Some(map) = check.as_object_mut() {
                map.insert("allowed".to_owned(), (*allowed).into());
            }
            check
        });
        Ok(json!({
            "allowed": found.mode.is_some(),
            "mode": found.mode,
            "checks": checks.collect::<Vec<_>>(),
            "groups": found.groups,
        }))
    }
}

fn covers(body: &Value) -> Result<Value, AskError> {
    let missing = cover::uncovered(&policy_rules(body, "owner")?, &policy_rules(body, "wanted")?);
    Ok(json!({ "covers": missing.is_empty(), "uncovered": missing }))
}

fn reconciliation(body: &Value) -> Result<Value, AskError> {
    let expected = document(body, "expected")?;
    let existing = body.get("existing").filter(|existing| !existing.is_null()).map(yaml::from_json);
    let root = expected.document(0).ok_or(AskError::Missing("expected"))?;
    let remove_extra = body.get("removeExtra").and_then(Value::as_bool).unwrap_or_default();
    let done = reconcile(root, existing.as_ref().and_then(|tree| tree.document(0)), remove_extra);
    Ok(json!({
        "operation": done.operation.as_str(),
        "protected": done.protected,
        "missing": done.missing,
        "extra": done.extra,
        "result": done.result,
    }))
}

/// Adds the bindings that the cluster may have, if there are any.
fn insert_possible(answer: &mut Map<String, Value>, possible: &[PossibleGrant]) {
    if !possible.is_empty() {
        answer.insert("possible".to_owned(), possible.iter().map(ToString::to_string).collect());
    }
}

/// Answers `compare`. Both sides have the same default policy, if the question names one.
fn comparison(body: &Value) -> Result<Value, AskError> {
    let baseline = body.get("baseline").filter(|baseline| !baseline.is_null()).map(known_minor).transpose()?;
    let world = |key: &str| {
        let mut builder = Builder::new(baseline.unwrap_or(LAST_MINOR));
        if let Some(minor) = baseline {
            builder = builder.with_default_policy(minor);
        }
        for object in body.get(key).and_then(Value::as_array).into_iter().flatten() {
            add(&mut builder, object);
        }
        builder.build()
    };
    let mut changes = Vec::new();
    for change in compare(&world("old"), &world("new"), ImpliedGroups::Ignored) {
        changes.extend(change.subjects.iter().map(|affected| (affected.clone(), change.clone())));
    }
    changes.sort_by(|left, right| left.0.cmp(&right.0));
    let changes: Vec<Value> = changes
        .into_iter()
        .map(|(affected, change)| {
            json!({
                "subject": affected.subject, "namespace": affected.scope.namespace(), "gained": change.gained, "lost": change.lost,
            })
        })
        .collect();
    Ok(json!({ "none": changes.is_empty(), "changes": changes }))
}

fn default_objects(body: &Value) -> Result<Value, AskError> {
    let objects = default_policy::objects(known_minor(body)?).map(|object| {
        let mut json = yaml::schema::to_json(object);
        if let Some(map) = json.as_object_mut() {
            map.shift_remove("minors");
        }
        json
    });
    Ok(json!({ "objects": objects.collect::<Vec<_>>() }))
}

/// Returns an answer with the version that was judged in place of a newer one.
pub(super) fn judged_as_newest(mut answer: Value) -> Value {
    if let Some(map) = answer.as_object_mut() {
        map.insert("judgedAs".to_owned(), format!("1.{LAST_MINOR}").into());
    }
    answer
}

/// Returns a minor as a number or as `1.36`, not older than the known ones. A newer one is judged as the newest known.
fn known_minor(value: &Value) -> Result<u32, AskError> {
    let number = match value {
        Value::String(text) => text.strip_prefix("1.").and_then(|minor| minor.parse().ok()),
        other => other.as_u64().and_then(|minor| u32::try_from(minor).ok()),
    };
    number
        .filter(|minor| *minor >= FIRST_MINOR)
        .ok_or_else(|| AskError::Value(format!("`{value}` is not a Kubernetes version since 1.{FIRST_MINOR}")))
}

/// Returns a release of OpenShift such as `4.14`, not older than the known ones.
fn known_release(value: &Value) -> Result<Release, AskError> {
    let release = value.as_str().and_then(Release::parse_any).filter(|release| *release >= bootstrap::FIRST);
    release
        .ok_or_else(|| AskError::Value(format!("`{value}` is not a release of OpenShift since {}", bootstrap::FIRST)))
}

fn identity(body: &Value) -> Result<Identity, AskError> {
    let user = text(body, "user")?;
    Ok(match body.get("groups").filter(|groups| !groups.is_null()) {
        Some(groups) if groups.is_array() => Identity { user: user.to_owned(), groups: string_list(groups) },
        Some(_) => return Err(AskError::NotAList("groups")),
        None => Identity::from_user(user),
    })
}

fn request(body: &Value) -> Result<Request, AskError> {
    let own = |key| text(body, key).map(str::to_owned);
    if body.get("http").is_some() {
        return http::attributes(text(body, "http")?).map_err(|problem| AskError::refused(problem.0));
    }
    if body.get("path").is_some() {
        return Ok(Request::Url(UrlRequest { verb: own("verb")?, path: own("path")? }));
    }
    Ok(Request::Resource(ResourceRequest {
        verb: own("verb")?,
        group: own("group")?,
        version: String::new(),
        resource: own("resource")?,
        subresource: own("subresource")?,
        namespace: own("namespace")?,
        name: own("name")?,
    }))
}

fn text<'v>(body: &'v Value, key: &'static str) -> Result<&'v str, AskError> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(AskError::NotAString(key)),
    }
}

fn string_list(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn policy_rules(body: &Value, key: &'static str) -> Result<Vec<PolicyRule>, AskError> {
    let list = body
        .get(key)
        .filter(|list| list.is_array())
        .ok_or_else(|| AskError::Value(format!("`{key}` is not a list of rules")))?;
    let tree = yaml::from_json(list);
    Ok(tree.document(0).into_iter().flat_map(NodeRef::items).map(PolicyRule::from_node).collect())
}

fn document(body: &Value, key: &'static str) -> Result<Tree, AskError> {
    body.get(key).map(yaml::from_json).ok_or(AskError::Missing(key))
}

fn names(missing: &[MissingRole]) -> Value {
    missing.iter().map(ToString::to_string).collect::<Vec<_>>().into()
}

/// Adds an object of a question, or each object of a list; how many were taken.
fn add(builder: &mut Builder, object: &Value) -> usize {
    let tree = tree_of(object);
    let Some(root) = tree.document(0) else { return 0 };
    let place = ObjectSource::Input(Origin { file: FileId::default(), span: Span::default() });
    let is_list = root.get("kind").and_then(NodeRef::as_str).is_some_and(|kind| kind.ends_with("List"));
    if !is_list {
        return usize::from(matches!(builder.add(root, place), Added::Taken | Added::Replaced(_)));
    }
    let mut taken = 0;
    builder.add_document(root, |_, added| taken += usize::from(matches!(added, Added::Taken | Added::Replaced(_))));
    taken
}

/// Returns an object of a question; one of the RBAC kinds may leave out its API version.
fn tree_of(object: &Value) -> Tree {
    const KINDS: [&str; 4] = ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    match object.as_object().filter(|map| !map.contains_key("apiVersion") && KINDS.contains(&kind)) {
        Some(map) => {
            let mut map = map.clone();
            map.insert("apiVersion".to_owned(), format!("{}/v1", rbac::GROUP).into());
            yaml::from_json(&Value::Object(map))
        }
        None => yaml::from_json(object),
    }
}

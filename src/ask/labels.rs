//! Questions about the labels of namespaces, as JSON.

use serde_json::{Map, Value, json};

use super::AskError;
use super::scc::{is_stored, release, text, version};
use crate::admission::labels::Settings;
use crate::admission::labels::chain::{GrantedBy, Lift, SccGrant};
use crate::admission::labels::namespace::{LabelSet, Source};
use crate::admission::labels::neighbours::{opts_in_operators, run_level_zero};
use crate::admission::labels::world::{SyncBuilder, SyncOutcome, SyncWorld};
use crate::admission::level::Level;
use crate::admission::scc::release::SyncMode;
use crate::yaml;

/// Answers `{"namespace-labels": {"release": "4.18", "mode": "enforcing", "objects": [], "namespace": "x"}}`: what becomes
/// of a namespace, or of every one of the objects where none is named. `declared` reads namespaces as a repository
/// declares them, `defaults` lays what the cluster starts with underneath, `stored` takes objects word by word, and
/// `version` selects the checks of the guaranteed level.
///
/// # Errors
/// Why it is no question.
pub(super) fn namespace_labels(body: &Value) -> Result<Value, AskError> {
    let world = world(body)?;
    let is_declared = flag(body, "declared");
    let answer = |name: &str| answer(&world, name, is_declared);
    match text(body, "namespace")? {
        Some(name) => answer(name).ok_or_else(|| AskError::UnknownNamespace(name.to_owned())),
        None => {
            let answers = world.namespaces().filter_map(|name| Some((name.to_owned(), answer(name)?)));
            Ok(json!({ "conversions": world.conversions(), "namespaces": answers.collect::<Map<_, _>>() }))
        }
    }
}

/// Answers `{"namespace-neighbours": {"release": "4.18", "objects": [], "namespace": "x"}}`: what the controllers beside
/// the syncer write to a namespace.
///
/// # Errors
/// Why it is no question.
pub(super) fn namespace_neighbours(body: &Value) -> Result<Value, AskError> {
    let world = world(body)?;
    let name = text(body, "namespace")?.ok_or(AskError::Missing("namespace"))?;
    let facts = world.declared_facts(name).ok_or_else(|| AskError::UnknownNamespace(name.to_owned()))?;
    let release = world.settings().release;
    let (action, applied) = run_level_zero(name, facts, release);
    let opted_in = opts_in_operators(name, facts, world.has_operator(name), release);
    let sync = if opted_in { Some("true") } else { facts.sync.as_deref() };
    Ok(json!({
        "runLevelZero": { "action": action.word(), "labels": labels(&applied), "force": !applied.is_empty() },
        "operators": { "optedIn": opted_in, "sync": sync },
    }))
}

fn world(body: &Value) -> Result<SyncWorld, AskError> {
    let release = release(body)?;
    let mode = match text(body, "mode")? {
        None => release.default_mode(),
        Some(text) => {
            SyncMode::parse(text).ok_or_else(|| AskError::Value(format!("`{text}` is no mode of the label syncer")))?
        }
    };
    let mut builder = SyncBuilder::new(Settings { release, mode, checks: version(body)? });
    if flag(body, "defaults") {
        builder = builder.with_defaults(flag(body, "upgraded"));
    }
    if is_stored(body) {
        builder = builder.with_stored_objects();
    }
    let source = if flag(body, "declared") { Source::Declared } else { Source::Live };
    let objects = body.get("objects").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for object in objects {
        let tree = yaml::from_json(object);
        for root in tree.documents() {
            builder.add(root, source).map_err(AskError::refused)?;
        }
    }
    Ok(builder.build())
}

fn answer(world: &SyncWorld, name: &str, is_declared: bool) -> Option<Value> {
    let outcome = world.outcome(name)?;
    let mut answer = outcome_as_json(&outcome);
    let usable = |list: fn(&SyncWorld, &str, &str) -> Vec<String>| -> Map<String, Value> {
        world.accounts(name).map(|account| (account.to_owned(), list(world, name, account).into())).collect()
    };
    let fields = answer.as_object_mut()?;
    let synced = usable(|world, name, account| strings(world.usable(name, account)));
    fields.insert("sccs".to_owned(), synced.into());
    let authorized = usable(|world, name, account| strings(world.authorized(name, account)));
    fields.insert("authorized".to_owned(), authorized.into());
    let lifts = world.lifts(name).unwrap_or_default();
    fields.insert("lifts".to_owned(), lifts.iter().map(lift).collect::<Vec<_>>().into());
    if is_declared {
        let settled = world.settled(name)?;
        let fights = settled.fights.iter().map(|label| label.short()).collect::<Vec<_>>();
        let lints = settled.lints.iter().map(|lint| lint.code()).collect::<Vec<_>>();
        fields.insert("final".to_owned(), labels(&settled.labels));
        fields.insert("fight".to_owned(), fights.into());
        fields.insert("lints".to_owned(), lints.into());
        fields.insert("effectiveEnforce".to_owned(), settled.enforced.name().into());
    }
    Some(answer)
}

fn outcome_as_json(outcome: &SyncOutcome) -> Value {
    let control = outcome.control;
    let reason = outcome.action.reason().unwrap_or_else(|| control.reason.code());
    json!({
        "controlled": control.controlled,
        "control": control.reason.code(),
        "action": outcome.action.word(),
        "reason": reason,
        "level": outcome.levels.sync.map(Level::name),
        "levels": {
            "sync": outcome.levels.sync.map(Level::name),
            "rbac": outcome.levels.rbac.map(Level::name),
            "semantic": outcome.levels.semantic.map(Level::name),
        },
        "writes": labels(&outcome.applied),
        "force": outcome.forced,
        "labels": labels(&outcome.labels),
        "annotation": outcome.annotation.map(Level::name),
        "dependsOnOrder": outcome.depends_on_order,
    })
}

fn lift(lift: &Lift) -> Value {
    let findings = lift.findings.iter().map(|finding| json!({ "rule": finding.rule.name(), "field": finding.field }));
    json!({
        "scc": lift.scc,
        "level": lift.level.name(),
        "because": findings.collect::<Vec<_>>(),
        "grants": lift.grants.iter().map(grant).collect::<Vec<_>>(),
        "without": lift.without.map(Level::name),
    })
}

fn grant(grant: &SccGrant) -> Value {
    match &grant.by {
        GrantedBy::Users => json!({ "account": grant.account, "users": true }),
        GrantedBy::Groups(group) => json!({ "account": grant.account, "group": group }),
        GrantedBy::Binding { binding, role, rules, .. } => {
            json!({ "account": grant.account, "binding": binding, "role": role, "rules": rules })
        }
    }
}

/// Labels by their short names.
fn labels(set: &LabelSet) -> Value {
    set.iter().map(|(label, value)| (label.short().to_owned(), value.into())).collect::<Map<_, _>>().into()
}

fn strings(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

fn flag(body: &Value, key: &str) -> bool {
    body.get(key).and_then(Value::as_bool).unwrap_or_default()
}

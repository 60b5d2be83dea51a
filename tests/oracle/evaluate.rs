//! The naive evaluator: a list of objects, and a loop over it for every question of the ask protocol.

use serde_json::{Map, Value, json};

use super::decide::{Actor, MASTERS, Request, decide, rule_allows, rules_for, who_can};
use super::read::{defaulted, items, label, name, text, tidy_rules};
use super::{aggregate, compare, cover, crossplane, http, impersonate, reconcile, write};
use crate::access::{Evaluator, recorded_policy};

/// Decides by reading every object anew; right before fast.
#[derive(Debug, Default)]
pub(crate) struct Naive {
    objects: Vec<Value>,
}

impl Evaluator for Naive {
    fn world(&mut self, objects: &[Value], baseline: Option<&str>) {
        let mut all: Vec<Value> = Vec::new();
        for own in baseline.and_then(recorded_policy).unwrap_or_default() {
            if !objects.iter().any(|object| label(object) == label(&own)) {
                all.push(own);
            }
        }
        all.extend_from_slice(objects);
        self.objects = all.iter().map(defaulted).collect();
        aggregate::settle(&mut self.objects);
    }

    fn ask(&self, question: &Value) -> Value {
        let mut members = question.as_object().into_iter().flatten();
        let (Some((kind, content)), None) = (members.next(), members.next()) else {
            return json!({"error": "a question has one key"});
        };
        self.answer(kind, content).unwrap_or_else(|error| json!({"error": error}))
    }
}

/// The rules of an actor in a namespace, for many questions.
#[derive(Debug, PartialEq)]
pub(crate) struct HeldRules {
    is_master: bool,
    rules: Vec<Value>,
}

impl HeldRules {
    /// Whether the actor may do what a question names. The actor and the namespace of the question are not compared.
    pub(crate) fn allow(&self, question: &Value) -> bool {
        let request = Request::from_question(question);
        self.is_master || self.rules.iter().any(|rule| rule_allows(rule, &request))
    }
}

impl Naive {
    /// Returns the rules of the actor of a question in its namespace.
    pub(crate) fn held(&self, question: &Value) -> HeldRules {
        let actor = Actor::from_question(question);
        let (rules, _) = rules_for(&self.objects, &actor, text(question, "namespace"));
        HeldRules { is_master: actor.is_in(MASTERS), rules }
    }

    fn answer(&self, kind: &str, question: &Value) -> Result<Value, String> {
        let objects = &self.objects;
        Ok(match kind {
            "can-i" => return self.can_i(question),
            "rules" => {
                let (rules, missing) = rules_for(objects, &Actor::from_question(question), text(question, "namespace"));
                json!({"rules": rules, "missing": missing})
            }
            "covers" => {
                let uncovered = cover::uncovered(items(question, "owner"), items(question, "wanted"));
                json!({"covers": uncovered.is_empty(), "uncovered": uncovered})
            }
            "who-can" => {
                let (subjects, missing) = who_can(objects, &Request::from_question(question));
                json!({"subjects": subjects, "missing": missing})
            }
            "aggregate" => {
                let mut roles = Map::new();
                for role in objects.iter().filter(|object| aggregate::is_aggregated(object)) {
                    roles.insert(name(role).to_owned(), Value::Array(tidy_rules(items(role, "rules"))));
                }
                json!({"roles": roles})
            }
            "write" => return write::write(objects, &Actor::from_question(question), question),
            "reconcile" => reconcile::reconcile(question),
            "default-policy" => {
                let version = question.as_str().unwrap_or_default();
                json!({"objects": recorded_policy(version).ok_or(format!("no default policy of {version}"))?})
            }
            "impersonate" => impersonate::impersonate(objects, question),
            "compare" => compare::compare(question),
            "gate" => crossplane::gate(question),
            "permission-request" => crossplane::permission_request(question),
            _ => return Err(format!("unknown question `{kind}`")),
        })
    }

    fn can_i(&self, question: &Value) -> Result<Value, String> {
        let http = question.get("http").and_then(Value::as_str);
        let request = match http {
            Some(http) => http::request(http)?,
            None => Request::from_question(question),
        };
        let decision = decide(&self.objects, &Actor::from_question(question), &request);
        let by: Vec<&String> = decision.because.iter().map(|(binding, ..)| binding).collect();
        let because: Vec<Value> = decision
            .because
            .iter()
            .map(|(binding, role, rules)| json!({"binding": binding, "role": role, "rules": rules}))
            .collect();
        let mut answer = json!({
            "allowed": decision.allowed, "by": by, "because": because, "missing": decision.missing,
        });
        if http.is_some() {
            answer["attributes"] = request.attributes();
        }
        Ok(answer)
    }
}

//! Failures of an AccessTest as the results of a KRM function.

use bailiwick_analysis::{FailedQuestion, ReachedByTest, TestEvent};
use bailiwick_paths::PathStep;
use bailiwick_yaml::diag::foreign;
use serde_json::{Map, Value, json};

use super::tests::expected_and_found;

/// The results of a function, in the form of the field `results` of a ResourceList.
#[derive(Debug, Default)]
pub struct FunctionResults {
    list: Vec<Value>,
}

impl FunctionResults {
    /// Adds a step of the run.
    pub fn add(&mut self, event: &TestEvent<'_>) {
        match event {
            TestEvent::Failure(failure) => self.add_failure(failure),
            TestEvent::Reached(reached) => self.add_reached(reached),
            TestEvent::MoreFailures(count) => {
                self.push(&format!("{} of the same expectation", super::human::number(*count, "more failure")), None);
            }
            TestEvent::Asked { .. } | TestEvent::PathsAsked { .. } => {}
        }
    }

    /// Returns the results.
    pub fn into_list(self) -> Vec<Value> {
        self.list
    }

    fn add_failure(&mut self, failure: &FailedQuestion<'_>) {
        let FailedQuestion { loaded, check, tested, who, request, decision, answer } = *failure;
        let (expected, found) = expected_and_found(check.expectation, answer);
        let chains = loaded.world.chains(who, decision);
        let bound_by = chains.first().map(|chain| chain.binding.name.as_str());
        let bound_by = bound_by.or_else(|| decision.missing.first().map(|missing| missing.bound_by.as_str()));
        self.push(&format!("{}: {tested} {expected} {request}, {found}", check.meta.name), bound_by);
    }

    fn add_reached(&mut self, reached: &ReachedByTest<'_>) {
        let ReachedByTest { check, tested, path, .. } = *reached;
        let steps: Vec<String> = path.steps.iter().map(PathStep::label).collect();
        let bound_by = path.steps.iter().flat_map(|step| &step.chains).next();
        let message = format!("{}: {tested} must not become `{}`: {}", check.meta.name, check.power, steps.join(", "));
        self.push(&message, bound_by.map(|chain| chain.binding.name.as_str()));
    }

    /// Adds a result about an object, which is written as `Kind/namespace/name` or `Kind/name`.
    fn push(&mut self, message: &str, object: Option<&str>) {
        let mut result = Map::new();
        result.insert("message".to_owned(), json!(foreign::line(message)));
        result.insert("severity".to_owned(), json!("error"));
        if let Some((kind, rest)) = object.and_then(|object| object.split_once('/')) {
            let api_version = "rbac.authorization.k8s.io/v1";
            let reference = match rest.split_once('/') {
                Some((namespace, name)) => {
                    json!({"apiVersion": api_version, "kind": kind, "namespace": namespace, "name": name})
                }
                None => json!({"apiVersion": api_version, "kind": kind, "name": rest}),
            };
            result.insert("resourceRef".to_owned(), reference);
        }
        self.list.push(Value::Object(result));
    }
}

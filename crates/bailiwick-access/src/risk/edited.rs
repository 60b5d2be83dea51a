//! D015: given objects of the default policy with missing parts. The API server adds the parts again at every start
//! (`pkg/registry/rbac/rest/storage_rbac.go` of Kubernetes 1.36.3), unless the object excludes itself.

use super::judge::{Findings, Judge, Likeness};
use super::objects::few;
use super::table::When;
use super::{Finding, RiskRule};
use crate::compare::Affected;
use crate::cover;
use crate::proof::place;
use crate::symbols::Symbol;
use crate::world::{Binding, Role, World};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::diag::Origin;
use bailiwick_yaml::digest::digest_of_run;
use bailiwick_yaml::internal;

/// An object to be changed by the server.
#[derive(Debug)]
pub(super) struct Edited {
    name: String,
    namespace: Option<Symbol>,
    what: String,
    place: Option<Origin>,
}

impl Edited {
    /// Returns a given role without all of the server's own rules.
    pub(super) fn role(world: &World, role: &Role, expected: &World, known: &Role) -> Option<Self> {
        let texts = |world: &World, role: &Role| -> Vec<PolicyRule> {
            world.rules_of(role).iter().map(|rule| rule.to_policy_rule(&world.symbols)).collect()
        };
        let what = match (known.aggregation.is_some(), role.aggregation.is_some()) {
            (true, false) => "its `aggregationRule`".to_owned(),
            // The aggregation controller fills in the rules of an aggregated role.
            (_, true) => return None,
            (false, false) => {
                let missing = cover::uncovered(&texts(world, role), &texts(expected, known));
                few(&missing.iter().map(part_text).collect::<Vec<_>>())
            }
        };
        let is_edited = !role.is_kept && !what.is_empty();
        is_edited.then(|| Self {
            name: world.role_link(role).name,
            namespace: role.namespace,
            what: format!("lacks {what}, which the API server adds again when it starts"),
            place: place(role.layer),
        })
    }

    /// Returns a given binding without all of the server's own subjects, or with another role.
    pub(super) fn binding(world: &World, binding: &Binding, expected: &World, known: &Binding) -> Option<Self> {
        let role_name = expected.symbols.text(known.role_name);
        let is_same_role = binding.role_kind == known.role_kind && world.symbols.text(binding.role_name) == role_name;
        let own: Vec<String> = names(world, binding);
        let missing: Vec<String> = names(expected, known)
            .into_iter()
            .filter(|name| !own.contains(name))
            .map(|name| format!("`{name}`"))
            .collect();
        let what = match (is_same_role, missing.is_empty()) {
            (false, _) => format!("binds another role than `{role_name}`: the API server replaces it when it starts"),
            (true, false) => format!("lacks {}, which the API server adds again when it starts", few(&missing)),
            (true, true) => return None,
        };
        (!binding.is_kept).then(|| Self {
            name: world.binding_name(binding),
            namespace: binding.namespace,
            what,
            place: place(binding.layer),
        })
    }
}

fn names(world: &World, binding: &Binding) -> Vec<String> {
    let subjects = world.subjects(binding).iter();
    subjects.filter_map(|subject| world.subject_name(*subject, binding.namespace)).collect()
}

/// Writes a smallest part of a rule.
fn part_text(part: &PolicyRule) -> String {
    let targets = part.non_resource_urls.first().or_else(|| part.resources.first());
    let parts = part.verbs.first().zip(targets);
    internal::value(parts.map(|(verb, target)| format!("`{verb}` on `{target}`")), "a rule has no parts")
}

impl Judge<'_> {
    /// Reports the edited objects.
    pub(super) fn edited(&self, findings: &mut Findings) {
        let rules = self.options.rules.iter().filter(|rule| matches!(rule.when, When::Default));
        for rule in rules {
            let rule: &'static RiskRule = rule;
            // The server looks after its Roles as well.
            let Some(severity) = rule.cluster else { continue };
            for edited in &self.edited {
                let likeness = Likeness {
                    rule: rule.id,
                    severity,
                    in_namespace: edited.namespace.is_some(),
                    shapes: vec![digest_of_run(&edited.what)],
                    place: self.apart(edited.place),
                    reached: None,
                };
                let affected = Affected { subject: edited.name.clone(), scope: self.scope(edited.namespace) };
                findings.add(
                    likeness,
                    || affected,
                    || Finding { what: edited.what.clone(), ..Finding::new(rule, severity, edited.place) },
                );
            }
        }
    }
}

//! Two checks of Crossplane's own on the permissions requested by packages. They differ from Kubernetes' escalation
//! check (`cluster/stacks` of v0.9, `internal/controller/rbac` of v1).

use super::dependency::is_custom_group;
use super::package::CORE_RESOURCES;
use bailiwick_kubernetes::rbac::PolicyRule;

/// Whether a Stack Manager of v0.9 with `--restrict-core-apigroups` accepts a rule: the exact rule of the core kinds,
/// or a rule of custom resources alone.
pub fn stack_manager_allows(rule: &PolicyRule) -> bool {
    let is_core_rule = rule.api_groups == [""]
        && rule.resources == CORE_RESOURCES
        && rule.verbs == ["*"]
        && rule.resource_names.is_empty()
        && rule.non_resource_urls.is_empty();
    let are_custom = !rule.api_groups.is_empty() && rule.api_groups.iter().all(|group| is_custom_group(group));
    is_core_rule || (are_custom && rule.non_resource_urls.is_empty())
}

/// Returns the single permissions of a package's requests outside of `allowed`, by the validator of v1: each part is
/// equal or `*`, and no other text is a pattern. One such permission is enough for no role at all.
pub fn rejected(allowed: &[PolicyRule], requested: &[PolicyRule]) -> Vec<PolicyRule> {
    let held: Vec<PolicyRule> = allowed.iter().flat_map(PolicyRule::atoms).collect();
    let wanted = requested.iter().flat_map(PolicyRule::atoms);
    wanted.filter(|wanted| !held.iter().any(|own| is_within(own, wanted))).collect()
}

fn is_within(own: &PolicyRule, wanted: &PolicyRule) -> bool {
    let part = |own: &[String], wanted: &[String]| own == wanted || own == ["*"];
    // An absent name stands for every name, allowed by every name alone.
    let names = own.resource_names.is_empty() || part(&own.resource_names, &wanted.resource_names);
    let same_sort = own.non_resource_urls.is_empty() == wanted.non_resource_urls.is_empty();
    same_sort
        && names
        && part(&own.verbs, &wanted.verbs)
        && part(&own.api_groups, &wanted.api_groups)
        && part(&own.resources, &wanted.resources)
        && part(&own.non_resource_urls, &wanted.non_resource_urls)
}

//! A rule as written becomes rules in Kubernetes' own form, for one target.

use bailiwick_codes as codes;
use bailiwick_kubernetes::catalogue::{Api, Lookup, Served};
use bailiwick_kubernetes::dead::{self, Dead, DeadPart, RuleResource};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin};

use super::expand::Expansion;
use super::paths::{self, ApiPath, ResourcePath};
use super::{AccessLevel, PermissionRule};
use crate::model::{Pattern, Target};

/// The consumer of diagnostics.
pub(super) type Report<'r> = &'r mut dyn FnMut(Diagnostic);

/// A target, its API, and the resources served there for rules with `expand`.
pub(super) struct TargetApi<'t> {
    pub(super) target: &'t Target,
    pub(super) api: &'t Api,
    pub(super) expansion: Option<Expansion<'t>>,
}

/// Returns the rules on a target; their texts are patterns with the values of the target filled in.
pub(super) fn rule(rule: &PermissionRule, on: &TargetApi<'_>, report: Report<'_>) -> Vec<PolicyRule> {
    let TargetApi { target, api, expansion } = on;
    let at_target = |texts: &[Spanned<String>]| -> Vec<Spanned<String>> {
        texts.iter().map(|text| Spanned::new(Pattern::at_target(text, target), text.origin)).collect()
    };
    let verbs = at_target(&rule.verbs);
    let mut resolved = Resolved { api, verbs: &verbs, access: rule.access, wanted: Vec::new(), rules: Vec::new() };
    let names: Vec<String> = rule.resource_names.iter().map(|name| Pattern::at_target(name, target)).collect();
    let resources = at_target(&rule.resources);
    if rule.api_groups.is_empty() {
        let earlier = rule.earlier_groups.is_some_and(|earlier| earlier.value);
        resources.iter().for_each(|resource| resolved.look_up(resource, earlier, &names, report));
    } else {
        let groups = plain(&at_target(&rule.api_groups));
        for resource in &resources {
            resolved.want(groups.clone(), resource, &names);
        }
    }
    let mut urls = at_target(&rule.non_resource_urls);
    for path in &at_target(&rule.paths) {
        resolved.path(path, &mut urls, report);
    }
    if let (Some(expand), Some(expansion)) = (rule.expand.filter(|expand| expand.value), expansion) {
        resolved.expand(expansion, expand.origin, report);
    }
    resolved.judge(&names, report);
    resolved.grant(report);
    resolved.grant_urls(&urls, !rule.paths.is_empty(), report);
    resolved.rules
}

fn plain(texts: &[Spanned<String>]) -> Vec<String> {
    texts.iter().map(|text| text.value.clone()).collect()
}

/// A resource of a rule, in each of some groups.
struct Wanted {
    cell: RuleResource,
    names: Vec<String>,
    origin: Origin,
    /// The verbs of an expanded resource; none for the verbs of the rule.
    verbs: Option<Vec<String>>,
}

/// A rule on its way.
struct Resolved<'r> {
    api: &'r Api,
    verbs: &'r [Spanned<String>],
    access: Option<Spanned<AccessLevel>>,
    wanted: Vec<Wanted>,
    rules: Vec<PolicyRule>,
}

impl Resolved<'_> {
    fn want(&mut self, groups: Vec<String>, resource: &Spanned<String>, names: &[String]) {
        let cell = RuleResource { groups, resource: resource.value.clone() };
        self.wanted.push(Wanted { cell, names: names.to_vec(), origin: resource.origin, verbs: None });
    }

    /// Replaces wildcards by the names that the target serves.
    fn expand(&mut self, expansion: &Expansion<'_>, asked: Origin, report: Report<'_>) {
        let is_wild = |cell: &RuleResource| cell.resource.contains('*') || cell.groups.iter().any(|group| group == "*");
        let all_verbs = self.verbs.iter().any(|verb| verb.value == "*");
        if !all_verbs && !self.wanted.is_empty() && !self.wanted.iter().any(|wanted| is_wild(&wanted.cell)) {
            return report(
                Diagnostic::error(codes::INVALID_VALUE, "`expand` has no effect: this rule has no `*`")
                    .at(asked)
                    .help("remove `expand`, or write `*` in `apiGroups`, `resources` or `verbs`"),
            );
        }
        if let Some(verb) = self.verbs.iter().find(|verb| verb.value.contains(['{', '}'])) {
            let message = format!("`{}` depends on an account and cannot be in an expanded rule", verb.value);
            let error = Diagnostic::error(codes::INVALID_VALUE, message).at(verb.origin);
            return report(error.help("write a separate rule without `expand`"));
        }
        let verbs = match self.access {
            Some(access) => access.value.verbs().iter().map(|verb| (*verb).to_owned()).collect(),
            None => plain(self.verbs),
        };
        let (wild, plain): (Vec<Wanted>, Vec<Wanted>) =
            std::mem::take(&mut self.wanted).into_iter().partition(|wanted| all_verbs || is_wild(&wanted.cell));
        self.wanted = plain;
        for Wanted { cell, names, origin, .. } in wild {
            for group in &cell.groups {
                let found = expansion.resources(group, &cell.resource, &verbs);
                if found.is_empty() {
                    let message = format!("{} has no resource for `{}` with these verbs", named(group), cell.resource);
                    let error = Diagnostic::error(codes::UNKNOWN_RESOURCE, message).at(origin);
                    report(error.help(expansion.nearest_group(group).map_or_else(
                        || "correct the rule, or add the CustomResourceDefinition with a Manifests policy".to_owned(),
                        |near| format!("did you mean `{near}`?"),
                    )));
                }
                self.wanted.extend(found.into_iter().map(|(cell, verbs)| Wanted {
                    cell,
                    names: names.clone(),
                    origin,
                    verbs: Some(verbs),
                }));
            }
        }
    }

    /// Looks up a resource without a group.
    fn look_up(&mut self, resource: &Spanned<String>, earlier: bool, names: &[String], report: Report<'_>) {
        let error =
            |code, message: String, help: String| Diagnostic::error(code, message).at(resource.origin).help(help);
        let name = resource.as_str();
        if name.contains('*') {
            return report(error(
                codes::UNKNOWN_RESOURCE,
                format!("no group serves `{name}`, which is a wildcard"),
                "add `apiGroups`: `[\"*\"]` for all groups, `[\"\"]` for the core group".to_owned(),
            ));
        }
        if name.contains(['{', '}']) {
            return report(error(
                codes::UNKNOWN_RESOURCE,
                format!("`{name}` has a variable and cannot be looked up"),
                "add `apiGroups`".to_owned(),
            ));
        }
        let (code, message, help) = match self.api.look_up(name, &plain(self.verbs)) {
            Lookup::Found(groups) => {
                let groups = groups.into_iter().map(str::to_owned).collect();
                let groups = if earlier { self.with_earlier_groups(groups, name) } else { groups };
                return self.want(groups, resource, names);
            }
            Lookup::Several(groups) => {
                let list: Vec<String> = groups.iter().map(|group| named(group)).collect();
                let last = groups.last().map_or("\"\"", |group| if group.is_empty() { "\"\"" } else { group });
                (
                    codes::AMBIGUOUS_RESOURCE,
                    format!("`{name}` is a different resource in each of {}", list.join(", ")),
                    format!("add `apiGroups`, such as `apiGroups: [{last}]`"),
                )
            }
            Lookup::Off(group) => (
                codes::UNKNOWN_RESOURCE,
                format!("`{name}` is served only if it is enabled"),
                format!("if it is enabled, add `apiGroups: [{group}]`"),
            ),
            Lookup::Unknown => {
                (codes::UNKNOWN_RESOURCE, format!("no group serves `{name}`"), self.help_for_unknown(name))
            }
        };
        report(error(code, message, help));
    }

    /// Returns the help for a resource that no group serves.
    fn help_for_unknown(&self, name: &str) -> String {
        let object = name.split('/').next().unwrap_or_default();
        match self.api.nearest_resource(name) {
            _ if self.api.is_newer_than_known() => {
                "add `apiGroups`: no rule can be written for an unknown resource without them".to_owned()
            }
            Some(near) => format!("did you mean `{near}`?"),
            None if name.contains('/') && !self.api.look_up(object, &[]).is_unknown() => {
                format!("`{object}` has no subresource of this name")
            }
            None if self.api.catalogue().has_ever_served(name) => {
                "exclude the target with `targets`, or add `apiGroups`: other versions of Kubernetes serve it"
                    .to_owned()
            }
            None => "add `apiGroups`, or bring its CustomResourceDefinition in with a Manifests policy \
                     (`emit: false` if another tool installs it)"
                .to_owned(),
        }
    }

    /// Adds the groups that served a resource in earlier versions.
    fn with_earlier_groups(&self, mut groups: Vec<String>, name: &str) -> Vec<String> {
        for group in self.api.earlier_groups(name) {
            if !groups.iter().any(|known| known == group) {
                groups.push(group.to_owned());
            }
        }
        groups
    }

    fn path(&mut self, path: &Spanned<String>, urls: &mut Vec<Spanned<String>>, report: Report<'_>) {
        let found = match paths::read(path, self.api) {
            Ok(ApiPath::Url(url)) => return urls.push(Spanned::new(url, path.origin)),
            Ok(ApiPath::Resource(found)) => found,
            Err(error) => {
                return report(Diagnostic::error(codes::INVALID_PATH, error.message).at(path.origin).help(error.help));
            }
        };
        if let Some(doubt) = &found.doubt {
            let warning = Diagnostic::warning(codes::INVALID_PATH, doubt.message.clone());
            report(warning.at(path.origin).help(doubt.help.clone()));
        }
        self.warn_of_scope(&found, path.origin, report);
        let resource = Spanned::new(found.resource, path.origin);
        self.want(vec![found.group], &resource, found.name.as_slice());
    }

    /// Warns of a cluster-scoped resource after a namespace: no request has such a path, but the intention is clear.
    fn warn_of_scope(&self, found: &ResourcePath, origin: Origin, report: Report<'_>) {
        let entry = self.api.find(&found.group, &found.resource);
        if found.in_namespace && entry.is_some_and(|entry| !entry.namespaced) {
            let prefix = if found.group.is_empty() {
                format!("/api/{}", found.version)
            } else {
                format!("/apis/{}/{}", found.group, found.version)
            };
            report(
                Diagnostic::warning(codes::CLUSTER_SCOPED_PATH, format!("`{}` are cluster-scoped", found.resource))
                    .at(origin)
                    .help(format!("write `{prefix}/{}`; the program uses this path", found.resource))
                    .note("a binding in a namespace grants nothing on them, except the namespace itself by its name"),
            );
        }
    }

    /// Reports the ineffective parts of the rule on the target.
    fn judge(&self, names: &[String], report: Report<'_>) {
        let cells: Vec<RuleResource> = self.wanted.iter().map(|wanted| wanted.cell.clone()).collect();
        // A text with account variables is unknown here.
        let is_open = |text: &String| text.contains(['{', '}']);
        let open = |cell: &RuleResource| is_open(&cell.resource) || cell.groups.iter().any(is_open);
        if cells.iter().any(open) || self.verbs.iter().any(|verb| is_open(&verb.value)) {
            return;
        }
        for dead in dead::of_resources(self.api, &cells, names, &plain(self.verbs)) {
            let origin = match dead.part {
                DeadPart::Resource(index) | DeadPart::Url(index) => self.wanted.get(index).map(|wanted| wanted.origin),
                DeadPart::Verb(index) => self.verbs.get(index).map(|verb| verb.origin),
            };
            report(warning(dead, origin));
        }
    }

    fn grant(&mut self, report: Report<'_>) {
        for wanted in &self.wanted {
            let mut given = false;
            for group in &wanted.cell.groups {
                let verbs = match (&wanted.verbs, self.access) {
                    (Some(verbs), _) => verbs.clone(),
                    (None, None) => plain(self.verbs),
                    (None, Some(access)) => self.verbs_of(access.value, group, wanted),
                };
                given |= !verbs.is_empty();
                if !verbs.is_empty() {
                    self.rules.push(PolicyRule {
                        api_groups: vec![group.clone()],
                        resources: vec![wanted.cell.resource.clone()],
                        resource_names: wanted.names.clone(),
                        verbs,
                        ..PolicyRule::default()
                    });
                }
            }
            if let (Some(access), false) = (self.access, given) {
                let resource = &wanted.cell.resource;
                let (what, word) = match access.value {
                    AccessLevel::Read => ("read", "read"),
                    AccessLevel::Write => ("read or written", "write"),
                };
                let verbs = wanted.cell.groups.iter().flat_map(|group| self.api.presence(group, resource).verbs);
                let verbs: Vec<&str> = verbs.collect();
                report(
                    Diagnostic::error(codes::INVALID_VALUE, format!("`{resource}` cannot be {what}"))
                        .at(wanted.origin)
                        .and(access.origin, format!("`{word}` supports none of the verbs"))
                        .help(format!("write a separate rule with `verbs: [{}]`", verbs.join(", "))),
                );
            }
        }
    }

    /// Returns the verbs of an access level that a resource supports; all verbs for an unknown resource.
    fn verbs_of(&self, access: AccessLevel, group: &str, wanted: &Wanted) -> Vec<String> {
        let resource = &wanted.cell.resource;
        let served = |group: &str| self.api.availability(group, resource) == Served::Yes;
        // A former group has the same objects as the present one.
        let group = if served(group) {
            group
        } else {
            wanted
                .cell
                .groups
                .iter()
                .find(|other| served(other) && self.share(group, other, resource))
                .map_or(group, |other| other)
        };
        let known = self.api.knows(group, resource) && !resource.contains('*');
        let takes = |verb: &&&str| !known || self.api.takes(group, resource, verb);
        access.verbs().iter().filter(takes).map(|verb| (*verb).to_owned()).collect()
    }

    fn share(&self, group: &str, other: &str, resource: &str) -> bool {
        let name = resource.split('/').next().unwrap_or_default();
        self.api
            .catalogue()
            .equivalents(name)
            .is_some_and(|same| [group, other].iter().all(|wanted| same.groups.iter().any(|known| known == wanted)))
    }

    /// Adds the rule for URLs, from `nonResourceURLs` and from paths.
    fn grant_urls(&mut self, urls: &[Spanned<String>], from_paths: bool, report: Report<'_>) {
        if urls.is_empty() {
            return;
        }
        let mut verbs: Vec<String> = match self.access.map(|access| access.value) {
            None => plain(self.verbs),
            Some(AccessLevel::Read) => vec!["get".to_owned()],
            Some(AccessLevel::Write) => ["get", "post", "put", "patch", "delete"].map(str::to_owned).to_vec(),
        };
        // In a rule with resources their verbs are valid; verbs other than HTTP methods have no effect on the URLs.
        if !self.wanted.is_empty() {
            verbs.retain(|verb| verb == "*" || dead::METHODS.contains(&verb.as_str()));
        }
        if let (true, Some(url)) = (verbs.is_empty(), urls.first()) {
            report(
                Diagnostic::error(
                    codes::INVALID_PATH,
                    format!("no verb of this rule applies to the URL `{}`", url.value),
                )
                .at(url.origin)
                .help("write a separate rule for URLs, with HTTP methods in lower case as verbs, such as `get`"),
            );
            return;
        }
        for dead in dead::of_urls(&plain(urls), &verbs) {
            let origin = match dead.part {
                DeadPart::Url(index) | DeadPart::Resource(index) => urls.get(index).map(|url| url.origin),
                DeadPart::Verb(index) => self.verbs.get(index).map(|verb| verb.origin),
            };
            if from_paths && matches!(dead.part, DeadPart::Verb(_)) {
                report(Diagnostic::error(codes::INVALID_PATH, dead.message).at_maybe(origin).help(dead.help));
            } else {
                report(warning(dead, origin));
            }
        }
        self.rules.push(PolicyRule { non_resource_urls: plain(urls), verbs, ..PolicyRule::default() });
    }
}

fn named(group: &str) -> String {
    if group.is_empty() { "the core group".to_owned() } else { format!("`{group}`") }
}

fn warning(dead: Dead, origin: Option<Origin>) -> Diagnostic {
    let code = match dead.part {
        DeadPart::Resource(_) => codes::UNSERVED_RESOURCE,
        DeadPart::Verb(_) => codes::DEAD_VERB,
        DeadPart::Url(_) => codes::DEAD_URL,
    };
    let warning = Diagnostic::warning(code, dead.message).at_maybe(origin).help(dead.help);
    if dead.reason.fails_check() { warning.failing_check() } else { warning }
}

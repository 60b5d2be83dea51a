//! Checks of single objects: roles with their bindings, and bindings with their subjects.
//!
//! A rule is reported only if its parts are wrong in every group of the rule: `groups: ["", apps]` with a list of
//! resources is a common form, and its useless half is harmless.

use std::collections::HashSet;

use super::RiskSeverity;
use super::condition::Condition;
use super::holders::is_wide;
use super::judge::Judge;
use super::matching::EffectiveRules;
use super::table::{self, NEARLY_FULL};
use crate::cover;
use crate::request::split_at_first;
use crate::request::{ACCOUNTS, ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED};
use crate::rules::InternedRule;
use crate::scope::is_checked_in_namespaces;
use crate::symbols::Symbol;
use crate::world::{Binding, Role, RoleKind, Subject, SubjectKind, World};
use bailiwick_kubernetes::dead::{self, NamedCreate};
use bailiwick_kubernetes::rbac::{GROUP, PolicyRule};

/// A check of a role.
pub(super) type OfRole = fn(&Applied<'_>) -> Vec<RoleHit>;
/// A check of a binding: the problem of each wrong subject.
pub(super) type OfBinding = fn(&Bound<'_>) -> Vec<String>;
/// A check of the number of roles of a subject.
pub(super) type OfSubject = fn(usize) -> Option<String>;

/// A role as it is applied.
pub(super) struct Applied<'j> {
    pub(super) judge: &'j Judge<'j>,
    pub(super) role: &'j Role,
    /// True when nothing binds it cluster-wide.
    pub(super) in_namespaces_only: bool,
    /// True when some binding names it.
    pub(super) is_bound: bool,
}

/// A problem of a rule.
pub(super) struct RoleHit {
    /// The position of the rule.
    pub(super) rule: usize,
    pub(super) what: String,
    /// A severity in the place of the rule's.
    pub(super) severity: Option<RiskSeverity>,
    /// The remedy, in place of the rule's help.
    pub(super) help: Option<String>,
}

/// The position of a hit for a role as a whole.
pub(super) const WHOLE_ROLE: usize = usize::MAX;

/// A binding.
pub(super) struct Bound<'j> {
    pub(super) judge: &'j Judge<'j>,
    pub(super) id: u32,
    pub(super) binding: &'j Binding,
}

/// How many things of one kind are named.
const MAXIMUM_NAMED: usize = 3;

/// ClusterRoles intended for all users.
const PUBLIC: [&str; 3] = ["system:basic-user", "system:discovery", "system:public-info-viewer"];

impl Applied<'_> {
    fn world(&self) -> &World {
        self.judge.world
    }

    fn rules(&self) -> &[InternedRule] {
        self.world().rules_of(self.role)
    }

    fn text(&self, symbol: Symbol) -> &str {
        self.world().symbols.text(symbol)
    }

    fn texts(&self, list: &[Symbol]) -> Vec<&str> {
        list.iter().map(|&symbol| self.text(symbol)).collect()
    }

    /// Returns one hit for each rule with a problem.
    fn each_rule(&self, wrong: impl Fn(&InternedRule) -> Vec<String>) -> Vec<RoleHit> {
        let hits = self.rules().iter().enumerate().map(|(rule, own)| (rule, wrong(own)));
        hits.filter(|(_, words)| !words.is_empty())
            .map(|(rule, words)| RoleHit { rule, what: few(&words), severity: None, help: None })
            .collect()
    }
}

/// Returns the first of some words.
pub(super) fn few(words: &[String]) -> String {
    let shown = words.iter().take(MAXIMUM_NAMED).cloned().collect::<Vec<_>>().join(", ");
    match words.len().saturating_sub(MAXIMUM_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn quoted<'t>(words: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    words.into_iter().map(|word| format!("`{word}`")).collect()
}

/// Returns the hits of D001, stars behind slashes.
pub(super) fn slash_star(applied: &Applied<'_>) -> Vec<RoleHit> {
    applied.each_rule(|rule| {
        quoted(applied.texts(rule.resources()).into_iter().filter(|resource| resource.ends_with("/*")))
    })
}

/// The first minor that checks `get` on the resource of a `paramKind` with the name `*` for authors of policies
/// (`pkg/registry/admissionregistration/validatingadmissionpolicy/authz.go` of Kubernetes 1.36.3).
const PARAM_KIND_SINCE: u32 = 26;

/// Returns the hits of D002. Some components check names with a star: signers as `DOMAIN/*`, impersonation, tiers of
/// policies.
pub(super) fn glob_in_names(applied: &Applied<'_>) -> Vec<RoleHit> {
    let api = applied.world().api();
    applied.each_rule(|rule| {
        let (groups, verbs) = (applied.texts(rule.groups()), applied.texts(rule.verbs()));
        let is_literal = |group: &str, resource: &str| {
            api.catalogue().virtual_entries(api.minor(), group, resource).any(|entry| entry.star_in_names)
        };
        let resources = applied.texts(rule.resources());
        let means_it = groups.contains(&"authentication.k8s.io")
            || resources.iter().any(|resource| groups.iter().any(|group| is_literal(group, resource)));
        let is_for_parameters = api.minor() >= PARAM_KIND_SINCE
            && applied.texts(rule.names()) == ["*"]
            && verbs.iter().all(|verb| matches!(*verb, "get" | "list"));
        let globs = applied.texts(rule.names()).into_iter().filter(|name| name.contains('*'));
        quoted(globs.filter(|_| !means_it && !is_for_parameters))
    })
}

/// Returns the hits of D003, `create` with names.
pub(super) fn named_create(applied: &Applied<'_>) -> Vec<RoleHit> {
    let mut hits = applied.each_rule(|rule| named_creates(applied, rule, NamedCreate::Never));
    let deletes = applied.each_rule(|rule| {
        let is_there = is_named(rule) && applied.texts(rule.verbs()).contains(&"deletecollection");
        let resources = applied.texts(rule.resources()).into_iter();
        let whole = resources.filter(|resource| is_there && !resource.contains('/'));
        whole.map(|resource| format!("`deletecollection` on `{resource}`")).collect()
    });
    let help = "grant `deletecollection` in a rule without `resourceNames`";
    hits.extend(deletes.into_iter().map(|hit| RoleHit { help: Some(help.to_owned()), ..hit }));
    hits
}

/// Returns the hits of D018, `create` with names by apply.
pub(super) fn named_create_by_apply(applied: &Applied<'_>) -> Vec<RoleHit> {
    applied.each_rule(|rule| named_creates(applied, rule, NamedCreate::ByApply))
}

/// Whether a rule matches no request without a name.
fn is_named(rule: &InternedRule) -> bool {
    !rule.names().is_empty() && !rule.names().contains(&Symbol::EMPTY)
}

/// Returns the resources of a rule with names for which `create` has this effect, and in no group a greater one.
fn named_creates(applied: &Applied<'_>, rule: &InternedRule, wanted: NamedCreate) -> Vec<String> {
    if !is_named(rule) || !applied.texts(rule.verbs()).contains(&"create") {
        return Vec::new();
    }
    let outcome = |resource: &str| {
        let (may_patch, may_update) =
            (may_also(applied, rule, resource, "patch"), may_also(applied, rule, resource, "update"));
        let of = |group: &str| dead::named_create(applied.world().api(), group, resource, may_patch, may_update);
        let outcomes: Vec<NamedCreate> = applied.texts(rule.groups()).into_iter().map(of).collect();
        match outcomes {
            outcomes if outcomes.contains(&NamedCreate::Works) => NamedCreate::Works,
            outcomes if outcomes.contains(&NamedCreate::ByApply) => NamedCreate::ByApply,
            _ => NamedCreate::Never,
        }
    };
    let resources = applied.texts(rule.resources()).into_iter();
    resources
        .filter(|resource| outcome(resource) == wanted)
        .map(|resource| format!("`create` on `{resource}`"))
        .collect()
}

/// Whether some rule of the role permits a verb on the same objects.
fn may_also(applied: &Applied<'_>, named: &InternedRule, resource: &str, wanted: &str) -> bool {
    let shares = |left: &[Symbol], right: &[Symbol]| {
        left.iter().any(|entry| *entry == Symbol::STAR || right.contains(entry) || right.contains(&Symbol::STAR))
    };
    applied.rules().iter().any(|rule| {
        applied.texts(rule.verbs()).iter().any(|verb| *verb == wanted || *verb == "*")
            && shares(rule.groups(), named.groups())
            && applied.texts(rule.resources()).iter().any(|own| *own == resource || *own == "*")
            && (rule.names().is_empty() || rule.names().iter().any(|name| named.names().contains(name)))
    })
}

/// Returns the hits of D006, cluster-scoped resources in a namespace.
pub(super) fn cluster_scoped_in_namespace(applied: &Applied<'_>) -> Vec<RoleHit> {
    if !applied.in_namespaces_only {
        return Vec::new();
    }
    let world = applied.world();
    let is_wrong = |rule: &InternedRule, resource: &str| {
        let (name, subresource) = split_at_first(resource, '/');
        let groups = applied.texts(rule.groups());
        let works = |group: &str| {
            let verbs = applied.texts(rule.verbs());
            verbs.iter().any(|verb| is_checked_in_namespaces(group, name, subresource, verb))
        };
        let known_namespaced = |group: &str| world.api().find(group, name).is_some_and(|entry| entry.namespaced);
        !resource.contains('*')
            && !groups.contains(&"*")
            && groups.iter().any(|group| world.is_cluster_scoped(group, name))
            && !groups.iter().any(|group| known_namespaced(group) || works(group))
    };
    applied.each_rule(|rule| {
        quoted(applied.texts(rule.resources()).into_iter().filter(|resource| is_wrong(rule, resource)))
    })
}

/// Returns the hits of D007, URLs in a namespace.
pub(super) fn url_in_namespace(applied: &Applied<'_>) -> Vec<RoleHit> {
    applied.each_rule(|rule| quoted(applied.texts(rule.urls()).into_iter().filter(|_| applied.in_namespaces_only)))
}

/// Returns the hits of D008, `bind` on bindings.
pub(super) fn bind_on_bindings(applied: &Applied<'_>) -> Vec<RoleHit> {
    applied.each_rule(|rule| {
        let resources = applied.texts(rule.resources());
        let groups = applied.texts(rule.groups());
        let is_meant = resources.iter().any(|resource| matches!(*resource, "roles" | "clusterroles" | "*"));
        let in_group = groups.iter().any(|group| matches!(*group, GROUP | "*"));
        let binding =
            resources.into_iter().find(|resource| matches!(*resource, "rolebindings" | "clusterrolebindings"));
        let Some(binding) = binding.filter(|_| in_group && !is_meant) else { return Vec::new() };
        let verbs = applied.texts(rule.verbs()).into_iter().filter(|verb| matches!(*verb, "bind" | "escalate"));
        verbs.map(|verb| format!("`{verb}` on `{binding}`")).collect()
    })
}

/// Returns the hits of D009, `impersonate` in a wrong group.
pub(super) fn impersonate_in_wrong_group(applied: &Applied<'_>) -> Vec<RoleHit> {
    applied.each_rule(|rule| {
        let groups = applied.texts(rule.groups());
        if !applied.texts(rule.verbs()).contains(&"impersonate") || groups.contains(&"*") {
            return Vec::new();
        }
        let wanted = |resource: &str| match resource.split('/').next() {
            Some("users" | "groups" | "serviceaccounts") => Some(""),
            Some("userextras" | "uids") => Some("authentication.k8s.io"),
            _ => None,
        };
        let shown = groups
            .first()
            .filter(|group| !group.is_empty())
            .map_or("the core group".to_owned(), |group| format!("`{group}`"));
        applied
            .texts(rule.resources())
            .into_iter()
            .filter(|resource| wanted(resource).is_some_and(|group| !groups.contains(&group)))
            .map(|resource| format!("`{resource}` in {shown}"))
            .collect()
    })
}

/// Returns the hits of D010, `list` with names.
pub(super) fn named_list(applied: &Applied<'_>) -> Vec<RoleHit> {
    applied.each_rule(|rule| {
        if rule.names().is_empty() || rule.names().contains(&Symbol::EMPTY) {
            return Vec::new();
        }
        quoted(applied.texts(rule.verbs()).into_iter().filter(|verb| matches!(*verb, "list" | "watch")))
    })
}

/// Returns the hits of D011, empty names.
pub(super) fn empty_name(applied: &Applied<'_>) -> Vec<RoleHit> {
    const NAMELESS: [&str; 4] = ["create", "deletecollection", "list", "watch"];
    applied.each_rule(|rule| {
        let verbs = applied.texts(rule.verbs());
        let is_there = rule.names().contains(&Symbol::EMPTY);
        quoted(NAMELESS.into_iter().filter(|verb| is_there && (verbs.contains(verb) || verbs.contains(&"*"))))
    })
}

/// Returns the hits of D016. A role with the read resource in its name, such as `secret-reader`, is not reported.
pub(super) fn read_only_in_name(applied: &Applied<'_>) -> Vec<RoleHit> {
    let name = applied.text(applied.role.name).to_lowercase();
    let says_so = name.split(|letter: char| !letter.is_alphanumeric()).any(|word| {
        matches!(word, "view" | "viewer" | "viewers" | "read" | "reader" | "readers" | "readonly" | "readonlyuser")
    });
    let is_for_viewers =
        applied.world().label(applied.role, "rbac.authorization.k8s.io/aggregate-to-view") == Some("true");
    if !(says_so || is_for_viewers) {
        return Vec::new();
    }
    let held = EffectiveRules::only(applied.role.rules, applied.in_namespaces_only);
    let mut hits = Vec::new();
    for (words, condition) in [
        ("`get` on `nodes/proxy`, which runs commands in pods", "get nodes/proxy"),
        ("`get` on `pods/exec`, which runs commands in pods", "get pods/exec before 1.35"),
        ("`get` on `pods/attach`, which attaches to pods", "get pods/attach before 1.35"),
        ("`get` on `pods/portforward`, which reaches every port", "get pods/portforward before 1.35"),
        ("`list` or `watch` on `secrets`, which returns the data", "list,watch secrets"),
    ] {
        let is_named = condition.ends_with("secrets") && name.contains("secret");
        let condition = Condition::parse(condition, applied.world()).filter(|_| !is_named);
        let met = condition.and_then(|condition| applied.world().meets(&condition, &held));
        let step = met.and_then(|met| met.steps.first().copied());
        hits.extend(step.map(|step| RoleHit { rule: step.rule, what: words.to_owned(), severity: None, help: None }));
    }
    hits.truncate(1);
    hits
}

/// Returns the hit of B018: the first rule with a star; full authority is E001, and E024 or S007 reports a subject
/// with a rule for every resource.
pub(super) fn wildcard(applied: &Applied<'_>) -> Vec<RoleHit> {
    let says_so = |id| table::of_id(id).is_some_and(|rule| applied.judge.is_selected(rule));
    let is_said = applied.is_bound && NEARLY_FULL.into_iter().all(says_so);
    let mut hits = applied.each_rule(|rule| {
        let lists =
            [("the verbs", rule.verbs()), ("the API groups", rule.groups()), ("the resources", rule.resources())];
        let with: Vec<String> = lists
            .into_iter()
            .filter(|(_, list)| list.contains(&Symbol::STAR))
            .map(|(name, _)| name.to_owned())
            .collect();
        if with.len() == lists.len() || (is_said && is_wide(rule)) { Vec::new() } else { with }
    });
    hits.truncate(1);
    hits
}

/// Returns the hits of E016: additions of a given role to roles of the server's own, beyond their rules.
pub(super) fn adds_to_default_roles(applied: &Applied<'_>) -> Vec<RoleHit> {
    let world = applied.world();
    if applied.role.namespace.is_some() {
        return Vec::new();
    }
    let (mut names, mut hit) = (Vec::new(), None);
    let own: HashSet<&InternedRule> = applied.rules().iter().collect();
    for target in applied.judge.default_aggregated().filter(|target| target.name != applied.role.name) {
        let is_gathered = target.selectors().any(|selector| selector.matches(|key| world.label(applied.role, key)));
        if !is_gathered {
            continue;
        }
        let others: Vec<PolicyRule> = world
            .rules_of(target)
            .iter()
            .filter(|rule| !own.contains(rule))
            .map(|rule| rule.to_policy_rule(&world.symbols))
            .collect();
        let is_more =
            |rule: &InternedRule| !cover::uncovered(&others, &[rule.to_policy_rule(&world.symbols)]).is_empty();
        let Some(rule) = applied.rules().iter().position(is_more) else { continue };
        let severity = applied.judge.worst_of(applied.role.rules, true, &is_more);
        names.push(applied.text(target.name).to_owned());
        let worst = hit.map_or((severity, rule), |known: (RiskSeverity, usize)| known.max((severity, rule)));
        hit = Some(worst);
    }
    let what = few(&quoted(names.iter().map(String::as_str)));
    hit.into_iter()
        .map(|(severity, rule)| RoleHit { rule, what: what.clone(), severity: Some(severity), help: None })
        .collect()
}

impl Bound<'_> {
    fn world(&self) -> &World {
        self.judge.world
    }

    fn role_is(&self, kind: RoleKind, names: &[&str]) -> bool {
        self.binding.role_kind == kind && names.contains(&self.world().symbols.text(self.binding.role_name))
    }

    /// Compares the role as [`Bound::role_is`] does, for roles that are harmless unless widened.
    fn harmless_role_is(&self, kind: RoleKind, names: &[&str]) -> bool {
        let is_widened = || self.world().role_of(self.binding).is_some_and(|role| self.judge.is_widened(role));
        self.role_is(kind, names) && !is_widened()
    }

    /// Returns the fitting subjects, by kind and name.
    pub(super) fn subjects(&self, wanted: impl Fn(&Subject, &str) -> bool) -> Vec<String> {
        let world = self.world();
        let subjects = world.subjects(self.binding).iter();
        subjects
            .filter(|subject| wanted(subject, world.symbols.text(subject.name)))
            .filter_map(|subject| world.subject_name(*subject, self.binding.namespace))
            .map(|name| format!("`{name}`"))
            .collect()
    }
}

fn is_group(subject: &Subject) -> bool {
    subject.kind == SubjectKind::Group
}

/// Returns the hits of B001. kubeadm publishes the cluster's address in this way, and every server its health.
pub(super) fn anonymous(bound: &Bound<'_>) -> Vec<String> {
    if bound.harmless_role_is(RoleKind::ClusterRole, &["system:public-info-viewer"])
        || bound.role_is(RoleKind::Role, &["kubeadm:bootstrap-signer-clusterinfo"])
    {
        return Vec::new();
    }
    bound.subjects(|subject, name| {
        (is_group(subject) && name == UNAUTHENTICATED) || (subject.kind == SubjectKind::User && name == ANONYMOUS)
    })
}

/// Returns the hits of B002, bindings for all users.
pub(super) fn everybody(bound: &Bound<'_>) -> Vec<String> {
    if bound.harmless_role_is(RoleKind::ClusterRole, &PUBLIC) {
        return Vec::new();
    }
    bound.subjects(|subject, name| is_group(subject) && name == AUTHENTICATED)
}

/// Returns the hits of B003. The accounts of a namespace share the permissions in it on purpose.
pub(super) fn all_accounts(bound: &Bound<'_>) -> Vec<String> {
    let own = bound.binding.namespace.map(|namespace| bound.world().symbols.text(namespace));
    bound.subjects(|subject, name| {
        is_group(subject)
            && name.strip_prefix(ACCOUNTS).is_some_and(|rest| match rest.strip_prefix(':') {
                Some(namespace) => own != Some(namespace),
                None => rest.is_empty(),
            })
    })
}

/// Returns the hits of B004, `system:masters` as a subject.
pub(super) fn masters(bound: &Bound<'_>) -> Vec<String> {
    bound.subjects(|subject, name| is_group(subject) && name == MASTERS)
}

/// Returns the hits of B005, bindings to `cluster-admin`.
pub(super) fn cluster_admin(bound: &Bound<'_>) -> Vec<String> {
    if !bound.role_is(RoleKind::ClusterRole, &["cluster-admin"]) {
        return Vec::new();
    }
    let found = bound.subjects(|subject, name| !(is_group(subject) && name == MASTERS));
    if found.is_empty() { found } else { vec![few(&found)] }
}

/// Returns the hits of B006, default accounts.
pub(super) fn default_account(bound: &Bound<'_>) -> Vec<String> {
    bound.subjects(|subject, name| subject.kind == SubjectKind::ServiceAccount && name == "default")
}

/// Returns the hits of B007, needlessly cluster-wide grants.
pub(super) fn needlessly_cluster_wide(bound: &Bound<'_>) -> Vec<String> {
    let world = bound.world();
    let subjects = world.subjects(bound.binding);
    let are_accounts =
        !subjects.is_empty() && subjects.iter().all(|subject| subject.kind == SubjectKind::ServiceAccount);
    let Some(role) = world.role_of(bound.binding).filter(|_| bound.binding.namespace.is_none() && are_accounts) else {
        return Vec::new();
    };
    let lives_in_namespaces = |rule: &InternedRule| {
        let texts = |list: &[Symbol]| list.iter().map(|&symbol| world.symbols.text(symbol)).collect::<Vec<_>>();
        let (groups, resources) = (texts(rule.groups()), texts(rule.resources()));
        rule.urls().is_empty()
            && !groups.contains(&"*")
            && resources.iter().all(|resource| {
                let (name, _) = split_at_first(resource, '/');
                name != "*"
                    && groups.iter().all(|group| !world.is_cluster_scoped(group, name))
                    && groups.iter().any(|group| world.api().find(group, name).is_some())
            })
    };
    let rules = world.rules_of(role);
    if rules.is_empty() || !rules.iter().all(lives_in_namespaces) {
        return Vec::new();
    }
    vec![few(&bound.subjects(|_, _| true))]
}

/// Returns the hits of B008, missing roles.
pub(super) fn dangling(bound: &Bound<'_>) -> Vec<String> {
    if bound.binding.role.is_some() || bound.world().is_declared(bound.binding) {
        return Vec::new();
    }
    vec![format!("`{}`", bound.world().missing_role(bound.binding))]
}

/// Returns the hits of B011, bindings without subjects.
pub(super) fn without_subjects(bound: &Bound<'_>) -> Vec<String> {
    if bound.world().subjects(bound.binding).is_empty() { vec![String::new()] } else { Vec::new() }
}

/// Returns the hits of B015, accounts of other namespaces.
pub(super) fn foreign_account(bound: &Bound<'_>) -> Vec<String> {
    let Some(own) = bound.binding.namespace else { return Vec::new() };
    bound.subjects(|subject, _| {
        subject.kind == SubjectKind::ServiceAccount && subject.namespace != Symbol::EMPTY && subject.namespace != own
    })
}

/// Returns the hits of D014, groups with a namespace.
pub(super) fn namespace_on_group(bound: &Bound<'_>) -> Vec<String> {
    let world = bound.world();
    let subjects = world.subjects(bound.binding).iter().filter(|subject| {
        matches!(subject.kind, SubjectKind::Group | SubjectKind::User) && subject.namespace != Symbol::EMPTY
    });
    subjects
        .filter_map(|subject| {
            let name = world.subject_name(*subject, bound.binding.namespace)?;
            Some(format!("`{name}` of namespace `{}`", world.symbols.text(subject.namespace)))
        })
        .collect()
}

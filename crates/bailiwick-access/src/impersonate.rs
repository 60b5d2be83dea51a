//! The decision about impersonation (`staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation`).
//!
//! Since 1.36 the constrained modes are tried first, each with a permission on the target and one on the action; the
//! last is the old verb, with all permissions at once.

use super::request::{
    ANONYMOUS, AUTHENTICATED, Identity, MASTERS, Request, ResourceRequest, UNAUTHENTICATED, service_account,
};
use super::world::World;
use bailiwick_kubernetes::names;

/// The impersonated identity of the impersonation headers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImpersonationTarget {
    /// The user name.
    pub user: String,
    /// The groups in `Impersonate-Group`.
    pub groups: Vec<String>,
    /// Extra fields by their key, sorted.
    pub extra: Vec<(String, Vec<String>)>,
    /// The uid; empty for none.
    pub uid: String,
}

/// A kind of impersonation with permissions of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImpersonationMode {
    /// An account as the node of its token.
    AssociatedNode,
    /// As any node.
    ArbitraryNode,
    /// As a service account.
    #[serde(rename = "serviceaccount")]
    ServiceAccount,
    /// As any other user, with groups, uid and extra fields.
    UserInfo,
    /// Any identity, by the verb `impersonate`.
    Legacy,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Impersonation {
    /// The allowing mode, if there is one.
    pub mode: Option<ImpersonationMode>,
    /// The requests to the authorizer, in the allowing mode or else in the old one.
    pub checks: Vec<(Request, bool)>,
    /// The groups of the impersonated user.
    pub groups: Vec<String>,
}

/// The first minor with constrained impersonation switched on.
pub const CONSTRAINED_SINCE: u32 = 36;
/// The API group of constrained impersonation, and of uids and extra fields in every mode.
const AUTHENTICATION: &str = "authentication.k8s.io";
/// The prefix of the user name of a node.
const NODE_PREFIX: &str = "system:node:";
/// From how many groups, or extra values, on a constrained mode first asks for all of them at once.
const MANY: usize = 4;

impl ImpersonationMode {
    const CONSTRAINED: [ImpersonationMode; 4] = [
        ImpersonationMode::AssociatedNode,
        ImpersonationMode::ArbitraryNode,
        ImpersonationMode::ServiceAccount,
        ImpersonationMode::UserInfo,
    ];

    /// Returns the verb on the target.
    fn verb(self) -> String {
        match self {
            ImpersonationMode::Legacy => "impersonate".to_owned(),
            constrained => format!("impersonate:{}", constrained.name()),
        }
    }

    /// Returns the mode of a verb on the target, such as `impersonate:user-info`; none for another verb.
    pub fn of_verb(verb: &str) -> Option<Self> {
        let mut modes = Self::CONSTRAINED.into_iter().chain([Self::Legacy]);
        modes.find(|mode| mode.verb() == verb)
    }

    /// Returns the requests that have to be allowed for an impersonation in this mode: on each part of the target, and in a
    /// constrained mode on the action itself.
    pub fn requests(self, target: &ImpersonationTarget, action: &Request) -> Vec<Request> {
        let user = std::iter::once(self.on_user(target));
        let others = self.on_groups(target).chain(self.on_extra(target)).chain(self.on_uid(target));
        let action = (self != Self::Legacy).then(|| acted_on(self, action));
        user.chain(others).chain(action).collect()
    }

    /// Returns the API group of the users and groups.
    fn group(self) -> &'static str {
        if self == Self::Legacy { "" } else { AUTHENTICATION }
    }

    fn on_user(self, target: &ImpersonationTarget) -> Request {
        match (service_account(&target.user), node_name(&target.user)) {
            (Some((namespace, name)), _) => {
                let mut request = self.on(self.group(), "serviceaccounts", "", name);
                if let Request::Resource(request) = &mut request {
                    namespace.clone_into(&mut request.namespace);
                }
                request
            }
            // One cache serves every node there, so the permission has to cover all of them.
            (None, Some(_)) if self == Self::AssociatedNode => self.on(self.group(), "nodes", "", "*"),
            (None, Some(node)) if self != Self::Legacy => self.on(self.group(), "nodes", "", node),
            _ => self.on(self.group(), "users", "", &target.user),
        }
    }

    fn on_groups(self, target: &ImpersonationTarget) -> impl Iterator<Item = Request> {
        target.groups.iter().map(move |name| self.on(self.group(), "groups", "", name))
    }

    fn on_extra(self, target: &ImpersonationTarget) -> impl Iterator<Item = Request> {
        let values = target.extra.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
        values.map(move |(key, value)| self.on(AUTHENTICATION, "userextras", key, value))
    }

    fn on_uid(self, target: &ImpersonationTarget) -> impl Iterator<Item = Request> {
        let uid = Some(&target.uid).filter(|uid| !uid.is_empty());
        uid.into_iter().map(move |uid| self.on(AUTHENTICATION, "uids", "", uid))
    }

    fn on(self, group: &str, resource: &str, subresource: &str, name: &str) -> Request {
        Request::Resource(ResourceRequest {
            verb: self.verb(),
            group: group.to_owned(),
            version: String::new(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: String::new(),
            name: name.to_owned(),
        })
    }

    fn name(self) -> &'static str {
        match self {
            ImpersonationMode::AssociatedNode => "associated-node",
            ImpersonationMode::ArbitraryNode => "arbitrary-node",
            ImpersonationMode::ServiceAccount => "serviceaccount",
            ImpersonationMode::UserInfo => "user-info",
            ImpersonationMode::Legacy => "legacy",
        }
    }

    /// Whether the mode applies to this target. `node` is the node of the asking account's token.
    fn is_for(self, who: &Identity, node: Option<&str>, target: &ImpersonationTarget) -> bool {
        let has_name_alone = target.groups.is_empty() && target.extra.is_empty() && target.uid.is_empty();
        let wanted = node_name(&target.user);
        match self {
            ImpersonationMode::AssociatedNode => {
                has_name_alone && wanted.is_some() && wanted == node && service_account(&who.user).is_some()
            }
            ImpersonationMode::ArbitraryNode => has_name_alone && wanted.is_some(),
            ImpersonationMode::ServiceAccount => has_name_alone && service_account(&target.user).is_some(),
            ImpersonationMode::UserInfo => wanted.is_none() && service_account(&target.user).is_none(),
            ImpersonationMode::Legacy => true,
        }
    }
}

/// Returns the node of a user name.
fn node_name(user: &str) -> Option<&str> {
    user.strip_prefix(NODE_PREFIX).filter(|name| names::dns_subdomain(name).is_ok())
}

impl World {
    /// Decides whether an identity may act as `target`; `node` is the node of its token. The constrained modes are
    /// tried for a given later request; before [`CONSTRAINED_SINCE`] there are none.
    pub fn may_impersonate(
        &self,
        who: &Identity,
        node: Option<&str>,
        target: &ImpersonationTarget,
        constrained: Option<&Request>,
    ) -> Impersonation {
        if target.user.is_empty() {
            // Groups, extra fields and a uid need a user.
            return Impersonation { mode: None, checks: Vec::new(), groups: Vec::new() };
        }
        if let Some(request) = constrained {
            for mode in ImpersonationMode::CONSTRAINED.into_iter().filter(|mode| mode.is_for(who, node, target)) {
                let mut attempt = Attempt { world: self, who, mode, checks: Vec::new() };
                if attempt.is_acceptable(target) && attempt.may_be(target) && attempt.check(acted_on(mode, request)) {
                    return Impersonation { mode: Some(mode), checks: attempt.checks, groups: groups(mode, target) };
                }
            }
        }
        let mut attempt = Attempt { world: self, who, mode: ImpersonationMode::Legacy, checks: Vec::new() };
        let allowed = attempt.may_be(target);
        Impersonation {
            mode: allowed.then_some(ImpersonationMode::Legacy),
            checks: attempt.checks,
            groups: if allowed { groups(ImpersonationMode::Legacy, target) } else { Vec::new() },
        }
    }
}

/// One mode being tried.
struct Attempt<'w> {
    world: &'w World,
    who: &'w Identity,
    mode: ImpersonationMode,
    checks: Vec<(Request, bool)>,
}

impl Attempt<'_> {
    /// Whether a constrained mode accepts the target at all.
    fn is_acceptable(&self, target: &ImpersonationTarget) -> bool {
        let groups_fit = target.groups.iter().all(|group| !group.is_empty() && group != MASTERS);
        groups_fit
            && target.extra.iter().all(|(key, values)| {
                is_domain_prefixed(key)
                    && *key == key.to_lowercase()
                    && !values.is_empty()
                    && values.iter().all(|value| !value.is_empty())
            })
    }

    /// Whether the identity has the permissions on the target: its name, its groups, its extra fields, its uid. All
    /// are checked, so that a refusal lists everything missing.
    fn may_be(&mut self, target: &ImpersonationTarget) -> bool {
        let mode = self.mode;
        let is_constrained = mode != ImpersonationMode::Legacy;
        let user = self.check(mode.on_user(target));
        let mut groups = true;
        let asks_all_groups = is_constrained && target.groups.len() >= MANY;
        if !(asks_all_groups && self.asks(mode.on(mode.group(), "groups", "", "*"))) {
            for request in mode.on_groups(target) {
                groups &= self.check(request);
            }
        }
        let mut extra = true;
        let asks_all_extra = is_constrained && mode.on_extra(target).count() >= MANY;
        if !(asks_all_extra && self.asks(mode.on(AUTHENTICATION, "userextras", "*", "*"))) {
            for request in mode.on_extra(target) {
                extra &= self.check(request);
            }
        }
        let mut uid = true;
        for request in mode.on_uid(target) {
            uid &= self.check(request);
        }
        user && groups && extra && uid
    }

    /// Checks a request, and keeps it only for a yes: single checks follow a failing short cut.
    fn asks(&mut self, request: Request) -> bool {
        let allowed = self.check(request);
        if !allowed {
            self.checks.pop();
        }
        allowed
    }

    fn check(&mut self, request: Request) -> bool {
        let allowed = self.world.allows(self.who, &request);
        self.checks.push((request, allowed));
        allowed
    }
}

/// Returns the request of a constrained mode beside the permission on the target: the action itself.
fn acted_on(mode: ImpersonationMode, request: &Request) -> Request {
    let mut acted = request.clone();
    let verb = format!("impersonate-on:{}:{}", mode.name(), request.verb());
    match &mut acted {
        Request::Resource(request) => request.verb = verb,
        Request::Url(request) => request.verb = verb,
    }
    acted
}

/// Returns the groups of the impersonated user: the given ones, or the groups of its kind of user.
fn groups(mode: ImpersonationMode, target: &ImpersonationTarget) -> Vec<String> {
    let mut groups = match (mode, service_account(&target.user)) {
        (ImpersonationMode::AssociatedNode | ImpersonationMode::ArbitraryNode, _) => vec!["system:nodes".to_owned()],
        (_, Some(_)) if target.groups.is_empty() => {
            let mut implicit = Identity::from_user(&target.user).groups;
            implicit.retain(|group| group != AUTHENTICATED);
            implicit
        }
        _ => target.groups.clone(),
    };
    let mut ensure = |group: &str| {
        if !groups.iter().any(|known| known == group) {
            groups.push(group.to_owned());
        }
    };
    if target.user == ANONYMOUS {
        ensure(UNAUTHENTICATED);
    } else if !target.groups.iter().any(|group| group == UNAUTHENTICATED) {
        ensure(AUTHENTICATED);
    }
    groups
}

/// Whether a key is of the form `example.com/scopes` (`IsDomainPrefixedPath`).
fn is_domain_prefixed(key: &str) -> bool {
    let is_path = |letter: char| letter.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(letter);
    key.split_once('/').is_some_and(|(domain, path)| {
        names::dns_subdomain(domain).is_ok() && !path.is_empty() && path.chars().all(is_path)
    })
}

//! May this identity act as somebody else? Since 1.36 the constrained modes are tried first, each with a right on the
//! target and one for the action; what is left is the old verb, which gives everything at once
//! (`staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation`).

use super::request::{Identity, MASTERS, Request, ResourceRequest, service_account};
use super::world::World;

/// Who an identity wants to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// The user name.
    pub user: String,
    /// Groups.
    pub groups: Vec<String>,
    /// Extra fields, by their lower-case key.
    pub extra: Vec<(String, Vec<String>)>,
    /// The uid; empty for none.
    pub uid: String,
}

/// By which way it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A node may act as the node it runs on.
    AssociatedNode,
    /// Any node.
    ArbitraryNode,
    /// Service accounts.
    ServiceAccount,
    /// Users, groups, uids, extra fields.
    UserInfo,
    /// The verb `impersonate`.
    Legacy,
}

/// The first minor with constrained impersonation switched on.
const CONSTRAINED_SINCE: u32 = 36;
/// The group of what constrained impersonation checks.
const AUTHENTICATION: &str = "authentication.k8s.io";
/// What the user name of a node begins with.
const NODE_PREFIX: &str = "system:node:";

impl World {
    /// The way in which an identity may act as `target` for a request; none when it may not.
    pub fn may_impersonate(&self, who: &Identity, target: &Target, request: &Request) -> Option<Mode> {
        if target.user.is_empty() {
            // Groups, extra fields and a uid cannot be had without a user.
            return None;
        }
        let constrained = [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo];
        let tried = if self.minor() >= CONSTRAINED_SINCE { constrained.as_slice() } else { &[] };
        let found = tried.iter().copied().find(|mode| self.is_constrained_allowed(*mode, who, target, request));
        found.or_else(|| self.is_legacy_allowed(who, target).then_some(Mode::Legacy))
    }

    fn is_legacy_allowed(&self, who: &Identity, target: &Target) -> bool {
        let check = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| {
            self.allows(who, &resource_request("impersonate", group, resource, subresource, namespace, name))
        };
        let user = match service_account(&target.user) {
            Some((namespace, name)) => check("", "serviceaccounts", "", namespace, name),
            None => check("", "users", "", "", &target.user),
        };
        user && target.groups.iter().all(|group| check("", "groups", "", "", group))
            && target
                .extra
                .iter()
                .all(|(key, values)| values.iter().all(|value| check(AUTHENTICATION, "userextras", key, "", value)))
            && (target.uid.is_empty() || check(AUTHENTICATION, "uids", "", "", &target.uid))
    }

    fn is_constrained_allowed(&self, mode: Mode, who: &Identity, target: &Target, request: &Request) -> bool {
        let account = service_account(&target.user);
        let node = target.user.strip_prefix(NODE_PREFIX);
        let has_details = !target.groups.is_empty() || !target.extra.is_empty() || !target.uid.is_empty();
        let name = match mode {
            Mode::AssociatedNode => "associated-node",
            Mode::ArbitraryNode => "arbitrary-node",
            Mode::ServiceAccount => "serviceaccount",
            Mode::UserInfo => "user-info",
            Mode::Legacy => return false,
        };
        let verb = format!("impersonate:{name}");
        let check = |resource: &str, subresource: &str, namespace: &str, name: &str| {
            self.allows(who, &resource_request(&verb, AUTHENTICATION, resource, subresource, namespace, name))
        };
        let may_be_target = match mode {
            // Which node the caller runs on is in its token, which nobody here has; it is never this way then.
            Mode::AssociatedNode => false,
            Mode::ArbitraryNode => !has_details && node.is_some_and(|node| check("nodes", "", "", node)),
            Mode::ServiceAccount => {
                !has_details && account.is_some_and(|(namespace, name)| check("serviceaccounts", "", namespace, name))
            }
            Mode::UserInfo => {
                account.is_none()
                    && node.is_none()
                    && !target.groups.iter().any(|group| group == MASTERS)
                    && check("users", "", "", &target.user)
                    && target.groups.iter().all(|group| check("groups", "", "", group))
                    && target
                        .extra
                        .iter()
                        .all(|(key, values)| values.iter().all(|value| check("userextras", key, "", value)))
                    && (target.uid.is_empty() || check("uids", "", "", &target.uid))
            }
            Mode::Legacy => false,
        };
        may_be_target && self.allows(who, &acted_on(name, request))
    }
}

/// The right that a constrained mode asks for beside the one on the target: the action itself.
fn acted_on(mode: &str, request: &Request) -> Request {
    let mut acted = request.clone();
    match &mut acted {
        Request::Resource(request) => request.verb = format!("impersonate-on:{mode}:{}", request.verb),
        Request::Url(request) => request.verb = format!("impersonate-on:{mode}:{}", request.verb),
    }
    acted
}

fn resource_request(
    verb: &str,
    group: &str,
    resource: &str,
    subresource: &str,
    namespace: &str,
    name: &str,
) -> Request {
    Request::Resource(ResourceRequest {
        verb: verb.to_owned(),
        group: group.to_owned(),
        version: String::new(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}

//! The options of a question, in the words of `kubectl auth can-i`.

use clap::Args;

use crate::access::Identity;
use crate::app::{LoadedWorld, RequestOptions};
use crate::diag::foreign;
use crate::report::worlds;

/// The request of a question.
#[derive(Debug, Clone, Args)]
pub(super) struct RequestArguments {
    /// Verb: `get`, `list`, `create`, `use`, or `*`.
    pub(super) verb: Option<String>,
    /// Resource, such as `pods`, `po`, `deployments.apps`, `pods/SUBRESOURCE` or `pods/NAME`; or a URL path that begins
    /// with `/`.
    pub(super) resource: Option<String>,
    /// Name of the object.
    pub(super) name: Option<String>,
    /// Namespace. Default: `default` for a namespaced resource.
    #[arg(short, long)]
    pub(super) namespace: Option<String>,
    /// Ask about a request across all namespaces.
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub(super) all_namespaces: bool,
    /// Subresource, such as `log` or `exec`.
    #[arg(long)]
    pub(super) subresource: Option<String>,
    /// URL path instead of a resource.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["resource", "name", "namespace", "all_namespaces", "subresource"])]
    pub(super) path: Option<String>,
    /// HTTP request instead of a verb and a resource, such as `GET /api/v1/namespaces/a/pods?watch=1`.
    #[arg(long, value_name = "REQUEST", conflicts_with_all = ["verb", "resource", "name", "path", "namespace", "all_namespaces", "subresource"])]
    pub(super) http: Option<String>,
    /// Accept a resource that no known API serves.
    #[arg(long)]
    pub(super) any_resource: bool,
}

/// The subject of a question.
#[derive(Debug, Clone, Args)]
pub(super) struct IdentityArguments {
    /// User; for a service account `system:serviceaccount:<namespace>:<name>`.
    #[arg(long = "as", value_name = "USER")]
    pub(super) user: Option<String>,
    /// Group of the user; may be repeated. Without a user, any member of the group.
    #[arg(long = "as-group", value_name = "GROUP")]
    pub(super) groups: Vec<String>,
}

impl IdentityArguments {
    /// Returns the identity, as impersonation would present it; none if the options name no subject.
    pub(super) fn identity(&self) -> Option<Identity> {
        match (&self.user, self.groups.as_slice()) {
            (None, []) => None,
            (None, groups) => Some(Identity::impersonated("", groups)),
            (Some(user), groups) => Some(Identity::impersonated(user, groups)),
        }
    }
}

impl IdentityArguments {
    /// Returns the notes about names in the form in which this program prints subjects, such as `ServiceAccount/team-a/ci`: they are
    /// names of users and groups like any other.
    pub(super) fn notes(&self) -> Vec<String> {
        let note = |name: &str, taken_as: &str| {
            let argument = match name.split_once('/')? {
                ("ServiceAccount", account) => {
                    let (namespace, account) = account.split_once('/')?;
                    format!("--as system:serviceaccount:{namespace}:{account}")
                }
                ("Group", group) => format!("--as-group {group}"),
                ("User", user) => format!("--as {user}"),
                _ => return None,
            };
            let name = foreign::line(name);
            Some(format!(
                "note: `{name}` is the name of a {taken_as} here; did you mean `{}`?\n",
                foreign::line(&argument)
            ))
        };
        let user = self.user.iter().filter_map(|user| note(user, "user"));
        user.chain(self.groups.iter().filter_map(|group| note(group, "group"))).collect()
    }

    /// Returns the identity in a world: without groups on the command line, a user has the groups of the policies or the manifests.
    pub(super) fn in_world(&self, loaded: &LoadedWorld, who: &Identity) -> Identity {
        match &self.user {
            Some(user) if self.groups.is_empty() => loaded.identity(user),
            _ => who.clone(),
        }
    }

    /// Describes the groups of the policies or the manifests that the identity has.
    pub(super) fn memberships(&self, loaded: &LoadedWorld) -> String {
        let user = self.user.as_ref().filter(|_| self.groups.is_empty());
        user.map_or_else(String::new, |user| worlds::memberships(loaded, user))
    }
}

impl From<&RequestArguments> for RequestOptions {
    fn from(arguments: &RequestArguments) -> Self {
        let RequestArguments { verb, resource, name, namespace, all_namespaces, subresource, path, http, any_resource } =
            arguments.clone();
        Self { verb, resource, name, namespace, all_namespaces, subresource, path, http, any_resource }
    }
}

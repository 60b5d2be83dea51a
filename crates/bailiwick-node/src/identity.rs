//! The identity of a node (`pkg/auth/nodeidentifier/default.go`).

use bailiwick_access::Identity;

/// The group of every kubelet with the name of its node as identity.
pub const NODES: &str = "system:nodes";
/// Prefix of the user name of such a kubelet.
pub const USER_PREFIX: &str = "system:node:";

/// The class of an identity for the Node authorizer and NodeRestriction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeIdentity<'i> {
    /// Not a node: neither looks at it.
    None,
    /// A node without a name: nothing is allowed to it here, and NodeRestriction refuses it every write.
    Unnamed,
    /// The node of this name, upper and lower case as written.
    Node(&'i str),
}

impl<'i> NodeIdentity<'i> {
    /// Returns the class of an identity: both the form of the user name and the group count.
    pub fn from_identity(who: &'i Identity) -> Self {
        let is_member = || who.groups.iter().any(|group| group == NODES);
        match who.user.strip_prefix(USER_PREFIX).filter(|_| is_member()) {
            None => NodeIdentity::None,
            Some("") => NodeIdentity::Unnamed,
            Some(name) => NodeIdentity::Node(name),
        }
    }
}

/// Returns the identity of the kubelet of a node.
pub fn kubelet(node: &str) -> Identity {
    Identity::impersonated(&format!("{USER_PREFIX}{node}"), &[NODES.to_owned()])
}

//! Who is a node (`pkg/auth/nodeidentifier/default.go`).

use bailiwick_access::Identity;

/// The group of every kubelet that is known by the name of its node.
pub const NODES: &str = "system:nodes";
/// What the user name of such a kubelet begins with.
pub const USER_PREFIX: &str = "system:node:";

/// What an identity is to the Node authorizer and to NodeRestriction.
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
    /// What an identity is: both the form of the user name and the group count.
    pub fn of(who: &'i Identity) -> Self {
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

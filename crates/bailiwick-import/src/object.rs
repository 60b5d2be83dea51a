//! The objects of a cluster in stored form.

use std::sync::Arc;

use bailiwick_kubernetes::absent::group_and_version;

use crate::values::{InternedValues, ValueId};

/// The identity of an object in a cluster. The order is the order of all results.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The kind, such as `RoleBinding`.
    pub kind: Box<str>,
    /// The group and version, such as `rbac.authorization.k8s.io/v1`.
    pub api_version: Box<str>,
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: Box<str>,
    /// The name, unique for the kind in the namespace.
    pub name: Box<str>,
}

impl ObjectKey {
    /// Returns the identity of an object in stored form.
    pub fn of(values: &InternedValues, value: ValueId) -> Self {
        let text = |path: &[&str]| values.text_at(value, path).into();
        Self {
            kind: text(&["kind"]),
            api_version: text(&["apiVersion"]),
            namespace: text(&["metadata", "namespace"]),
            name: text(&["metadata", "name"]),
        }
    }

    /// Returns the API group; empty for the core group.
    pub fn group(&self) -> &str {
        group_and_version(&self.api_version).0
    }

    /// Whether the object is of a kind and a group.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        &*self.kind == kind && self.group() == group
    }
}

/// The place of an object in the input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePlace {
    /// The path of the file, relative to the folder of the input.
    pub path: Arc<str>,
    /// The line, from 1.
    pub line: usize,
}

/// An object of a cluster.
#[derive(Debug, Clone)]
pub struct Object {
    /// The kind, the namespace and the name.
    pub identity: ObjectKey,
    /// Its stored form, without the fields of the server.
    pub value: ValueId,
    /// The file and the line.
    pub place: SourcePlace,
    /// Whether a running cluster has it: the API server has set fields of its metadata.
    pub is_live: bool,
    /// The lines of the comment directly above it, without line feeds.
    pub comments: Vec<String>,
}

/// The input of a fold: everything that one target has.
#[derive(Debug)]
pub struct ClusterObjects {
    /// The name of the target of the policies.
    pub target: String,
    /// Whether the platform of the target is OpenShift.
    pub is_openshift: bool,
    /// The minor of Kubernetes.
    pub minor: u32,
    /// The objects, sorted by identity; each identity occurs once.
    pub objects: Vec<Object>,
}

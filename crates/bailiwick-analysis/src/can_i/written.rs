//! The objects of a write, and the write as admission gets it.

use std::path::Path;
use std::sync::Arc;

use bailiwick_access::{ResourceRequest, World};
use bailiwick_kubernetes::absent::text_at;
use bailiwick_kubernetes::list;
use bailiwick_node::restriction::{NodeOperation, NodeWrite};
use bailiwick_workspace::Options;
use bailiwick_yaml::diag::{Files, RunError, Sink};
use bailiwick_yaml::{NodeRef, Tree};

use crate::loaded_world::each_tree;

/// The subresources that open a connection: admission is asked about the operation CONNECT, whatever the verb
/// (`ConnectResource` in `pkg/endpoints/handlers/rest.go` of k8s.io/apiserver 1.37).
const CONNECTED: [(&str, &str); 6] = [
    ("nodes", "proxy"),
    ("pods", "attach"),
    ("pods", "exec"),
    ("pods", "portforward"),
    ("pods", "proxy"),
    ("services", "proxy"),
];

/// The subresources whose objects have the kind of the resource.
const OWN_KIND: [&str; 6] = ["", "approval", "ephemeralcontainers", "finalize", "resize", "status"];

/// The new object and the old object.
pub(super) struct Written {
    new: Option<Tree>,
    old: Option<Tree>,
}

impl Written {
    /// Reads them.
    pub(super) fn read(new: &Path, old: Option<&Path>, files: &Arc<Files>, sink: &mut Sink) -> Result<Self, RunError> {
        let mut read = |path: Option<&Path>| -> Result<Option<Tree>, RunError> {
            let Some(path) = path else { return Ok(None) };
            let (mut found, mut objects) = (None, 0);
            each_tree(path, &Options::default(), files, sink, &mut |tree, _| {
                objects += tree.documents().flat_map(list::objects).count();
                found.get_or_insert_with(|| tree.clone());
            })?;
            if objects != 1 && !sink.has_errors() {
                let path = path.display();
                return Err(RunError::new(format!("`{path}` has {objects} objects; a write has one object")));
            }
            Ok(found)
        };
        Ok(Self { new: read(Some(new))?, old: read(old)? })
    }

    /// Returns the namespace of the new object; none for an object without one.
    pub(super) fn namespace(&self) -> Option<&str> {
        let namespace = text_at(first(self.new.as_ref())?, &["metadata", "namespace"]);
        Some(namespace).filter(|namespace| !namespace.is_empty())
    }

    /// Gives objects without a namespace the namespace of the request, as the API server does.
    pub(super) fn fill_namespace(&mut self, namespace: &str) {
        if !namespace.is_empty() {
            let trees = self.new.iter_mut().chain(&mut self.old);
            trees.for_each(|tree| _ = list::fill_namespace(tree, namespace));
        }
    }
}

/// The reason why admission is not asked about a request.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdmissionQuestionError {
    /// The verb writes nothing.
    #[error("admission is not asked about `{0}`")]
    Verb(String),
    /// A change has no object before the change.
    #[error("the object before the change is missing: give it with --admission-old")]
    NoOldObject,
    /// The object is of another kind than the request.
    #[error("the object is one of `{object}`, and the request is about `{request}`; the API server refuses it")]
    OtherResource {
        /// The resource of the object.
        object: String,
        /// The resource of the request.
        request: String,
    },
    /// The object has another name or namespace than the request.
    #[error("the {field} of the object is `{object}`, and of the request `{request}`; the API server refuses it")]
    OtherPlace {
        /// `name` or `namespace`.
        field: &'static str,
        /// The value in the object.
        object: String,
        /// The value in the request.
        request: String,
    },
}

/// A write, as admission gets it.
pub(super) struct ObjectWrite<'w> {
    pub(super) operation: NodeOperation,
    pub(super) group: &'w str,
    pub(super) resource: &'w str,
    pub(super) subresource: &'w str,
    /// The namespace; empty for an object without one, and the own name of a new Namespace.
    pub(super) namespace: &'w str,
    /// The name; empty if neither the request nor the object has one.
    pub(super) name: &'w str,
    /// The new object; none for a deletion.
    pub(super) object: Option<NodeRef<'w>>,
    pub(super) old: Option<NodeRef<'w>>,
    /// Whether an object of this kind has a namespace, and neither the request nor the object names it.
    pub(super) needs_namespace: bool,
}

impl<'w> ObjectWrite<'w> {
    /// Returns the write of a request.
    ///
    /// # Errors
    /// Why the question makes no sense.
    pub(super) fn new(
        request: &'w ResourceRequest,
        written: &'w Written,
        world: &World,
    ) -> Result<Self, AdmissionQuestionError> {
        let is_connection = CONNECTED.contains(&(request.resource.as_str(), request.subresource.as_str()));
        let operation = match request.verb.as_str() {
            _ if is_connection && request.group.is_empty() => NodeOperation::Connect,
            "create" => NodeOperation::Create,
            "update" | "patch" => NodeOperation::Update,
            "delete" | "deletecollection" => NodeOperation::Delete,
            other => return Err(AdmissionQuestionError::Verb(other.to_owned())),
        };
        let (object, old) = (first(written.new.as_ref()), first(written.old.as_ref()));
        if operation == NodeOperation::Update && old.is_none() {
            return Err(AdmissionQuestionError::NoOldObject);
        }
        let objects = || object.into_iter().chain(old);
        objects().try_for_each(|object| check_object(object, operation, request, world))?;
        let (is_create, is_removed) = (operation == NodeOperation::Create, operation == NodeOperation::Delete);
        // The URL of a create has no name, and authorization gets none. Admission gets the name of the object, and the name of a new
        // Namespace as its namespace, too (`apiserver/pkg/endpoints/handlers/create.go` of Kubernetes 1.37).
        let own = |keys: [&str; 2]| objects().map(|object| text_at(object, &keys)).find(|text| !text.is_empty());
        let name = if request.name.is_empty() { own(["metadata", "name"]) } else { Some(request.name.as_str()) };
        let name = name.map_or("", |name| name);
        let is_new_namespace = is_create && (request.group.as_str(), request.resource.as_str()) == ("", "namespaces");
        let namespace = match request.namespace.as_str() {
            "" if is_new_namespace => name,
            "" => own(["metadata", "namespace"]).map_or("", |own| own),
            namespace => namespace,
        };
        let is_namespaced =
            object.and_then(|object| world.resource_of(object)).is_some_and(|(_, namespaced)| namespaced);
        Ok(Self {
            operation,
            group: &request.group,
            resource: &request.resource,
            subresource: &request.subresource,
            namespace,
            name,
            object: object.filter(|_| !is_removed),
            old: old.or(object.filter(|_| is_removed)),
            needs_namespace: is_namespaced && namespace.is_empty(),
        })
    }

    /// Whether it is about a pod itself.
    pub(super) fn is_pod(&self) -> bool {
        (self.group, self.resource, self.subresource) == ("", "pods", "")
    }

    /// Returns the write as the plugin NodeRestriction gets it.
    pub(super) fn for_node_restriction(&self) -> NodeWrite<'w> {
        NodeWrite {
            operation: self.operation,
            group: self.group,
            resource: self.resource,
            subresource: self.subresource,
            namespace: self.namespace,
            name: self.name,
            object: self.object,
            old: self.old,
        }
    }
}

fn first(tree: Option<&Tree>) -> Option<NodeRef<'_>> {
    list::objects(tree?.document(0)?).into_iter().next()
}

/// Checks an object against the request, as the API server does before admission (`pkg/endpoints/handlers/rest.go` and
/// `pkg/registry/rest/meta.go` of k8s.io/apiserver 1.37).
fn check_object(
    object: NodeRef<'_>,
    operation: NodeOperation,
    request: &ResourceRequest,
    world: &World,
) -> Result<(), AdmissionQuestionError> {
    let (group, _) = bailiwick_kubernetes::absent::group_and_version(object.text_at("apiVersion"));
    let has_own_kind = OWN_KIND.contains(&request.subresource.as_str()) && !request.resource.contains('*');
    if let Some((resource, _)) = world.resource_of(object).filter(|_| has_own_kind)
        && (group, resource) != (request.group.as_str(), request.resource.as_str())
    {
        let full = |resource: &str, group: &str| match group {
            "" => resource.to_owned(),
            group => format!("{resource}.{group}"),
        };
        let (object, request) = (full(resource, group), full(&request.resource, &request.group));
        return Err(AdmissionQuestionError::OtherResource { object, request });
    }
    let mut places = vec![("namespace", request.namespace.as_str())];
    if operation == NodeOperation::Update {
        places.push(("name", &request.name));
    }
    for (field, asked) in places {
        let own = text_at(object, &["metadata", field]);
        if !own.is_empty() && !asked.is_empty() && own != asked {
            return Err(AdmissionQuestionError::OtherPlace {
                field,
                object: own.to_owned(),
                request: asked.to_owned(),
            });
        }
    }
    Ok(())
}

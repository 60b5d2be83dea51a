//! Kubernetes RBAC offline: the decisions of the authorizer of Kubernetes 1.37 and earlier, from manifests alone.
//!
//! The crate answers questions about any set of manifests: whether a subject may make a request and why, the subjects that may
//! make it, the permissions gained and lost by a change, and the risks of all grants. It shares no code with generators of
//! manifests, and depends on no policy format.
//!
//! # Types
//!
//! - [`Builder`] takes objects, the default policy of a minor as their baseline. [`Builder::build`] settles aggregated
//!   ClusterRoles and returns a [`World`].
//! - [`Identity`] and [`Request`] are the attributes of a question. [`http::attributes`] reads a request from a method and a URL.
//! - [`World::decide`] returns a [`Decision`]. Its [`Answer`] is yes, no, unknown (a role is missing) or dead (no server receives
//!   the request). [`World::chains`] returns its proof, [`World::near_misses`] the grants that nearly allow a request.
//! - [`World::who_can`] returns all subjects of a request, and [`World::rules_for`] the rules of an identity.
//! - [`World::may_write`] and [`World::may_impersonate`] decide the escalation checks of RBAC and impersonation.
//! - [`compare::compare`] returns the change of permissions between two worlds, whatever objects they come from.
//! - [`World::findings`] returns the findings of the risk rules in [`risk`], and [`World::escalation_paths`] the steps by which an
//!   identity gains permissions.
//! - [`usage::Usage`] records the use of the rights of bindings by requests.
//! - [`snapshot`] stores a world as data.
//!
//! # Example
//!
//! ```
//! use bailiwick_access::who_can::Where;
//! use bailiwick_access::{Answer, Builder, Identity, ObjectSource, Request, ResourceRequest};
//! use bailiwick_yaml::diag::{Files, Sink};
//!
//! let manifests = r#"
//! apiVersion: rbac.authorization.k8s.io/v1
//! kind: Role
//! metadata: { name: deployer, namespace: shop }
//! rules:
//! - { apiGroups: [apps], resources: [deployments], verbs: [get, patch] }
//! ---
//! apiVersion: rbac.authorization.k8s.io/v1
//! kind: RoleBinding
//! metadata: { name: deployer, namespace: shop }
//! roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployer }
//! subjects:
//! - { kind: User, apiGroup: rbac.authorization.k8s.io, name: ada }
//! "#;
//! let (files, mut sink) = (Files::new(), Sink::new());
//! let file = files.add("manifests.yaml", manifests);
//! let tree = bailiwick_yaml::read(manifests, file, &mut sink);
//!
//! let mut builder = Builder::new(36).with_default_policy(36);
//! for object in tree.documents() {
//!     _ = builder.add(object, ObjectSource::Input(object.origin()));
//! }
//! let world = builder.build();
//!
//! let request = Request::Resource(ResourceRequest {
//!     verb: "patch".to_owned(),
//!     group: "apps".to_owned(),
//!     resource: "deployments".to_owned(),
//!     namespace: "shop".to_owned(),
//!     ..ResourceRequest::default()
//! });
//! let ada = Identity::from_user("ada");
//! let decision = world.decide(&ada, &request);
//! assert_eq!(decision.answer(true), Answer::Yes);
//! let chains = world.chains(&ada, &decision);
//! assert_eq!(chains.first().map(|chain| chain.binding.name.as_str()), Some("RoleBinding/shop/deployer"));
//!
//! let who = world.who_can(&request, Where::AsRequested).subjects(&world);
//! assert!(who.contains(&"User/ada".to_owned()), "{who:?}");
//! ```
//!
//! # Limits
//!
//! The members of groups are not in manifests, so a group is a subject of its own. Webhook and Node authorizers, admission and
//! authentication are outside of the crate. The decision of a role that is missing among the inputs is unknown and not no. The
//! tests compare decisions with the authorizer in `k8s.io/kubernetes`.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

mod added;
pub mod aggregate;
mod clouds;
pub mod codes;
pub mod compare;
pub mod cover;
pub mod decide;
pub mod http;
pub mod impersonate;
mod index;
pub mod lookup;
pub mod namespaces;
mod objects;
pub mod possible;
pub mod proof;
pub mod reconcile;
pub mod request;
pub mod request_filter;
pub mod resolve;
pub mod risk;
pub mod rules;
pub mod scope;
pub mod served;
mod shape;
pub mod snapshot;
pub(crate) mod symbols;
mod targets;
pub mod usage;
pub mod who_can;
mod workloads;
pub mod world;
pub mod write;

pub use decide::{Answer, Decision};
pub use objects::{BindingRef, RoleRef, SubjectRef};
pub use request::{Identity, Request, ResourceRequest, ResourceVerb, UrlRequest};
pub use served::Liveness;
pub use world::{Builder, ObjectSource, World};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

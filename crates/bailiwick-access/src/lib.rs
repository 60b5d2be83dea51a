//! Who may do what, as Kubernetes 1.37 would decide it, from manifests alone.
//!
//! Objects of any origin go into a [`world::Builder`]; the finished [`World`] answers. Nothing here knows policies,
//! templates or this crate's own output, so that it judges foreign manifests as well and shares no mistake with the
//! code that generates ours.
//!
//! ```text
//! world        the objects, settled                     decide       may this identity do this
//! aggregate    ClusterRoles that gather others          proof        the chain behind an answer
//! rules        rules, each distinct list once           who_can      who may do this
//! symbols      strings as numbers                       resolve      which rules hold for an identity here
//! index        who holds what, where                    cover        do these rules cover those
//! snapshot     a world as data                          write        may it write this object (escalation check)
//! request      identities and attributes                impersonate  may it act as somebody else
//! http         from an HTTP request to attributes       compare      what a change really grants
//! served       could a server receive the request       risk         what a grant really opens
//! scope        what belongs to no namespace
//! objects      roles and bindings, to be read           lookup       what people call a resource
//!                           reconcile    what the server does to its defaults
//! crossplane   its own checks of what packages ask for
//! ```
//!
//! The rules are those of `specs/kubernetes.md` sections 7 to 9 and `specs/rbac.md` section 4.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

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
mod objects;
pub mod proof;
pub mod reconcile;
pub mod request;
pub mod resolve;
pub mod risk;
pub mod rules;
pub mod scope;
pub mod served;
mod shape;
pub mod snapshot;
pub(crate) mod symbols;
pub mod who_can;
mod workloads;
pub mod world;
pub mod write;

pub use decide::{Answer, Decision};
pub use objects::{BindingRef, RoleRef, SubjectRef};
pub use request::{Identity, Request, ResourceRequest, UrlRequest};
pub use served::Liveness;
pub use world::{Builder, Layer, World};

//! Who may do what, as Kubernetes 1.36 would decide it, from manifests alone.
//!
//! Objects of any origin go into a [`world::Builder`]; the finished [`World`] answers. Nothing here knows policies,
//! templates or this crate's own output, so that it judges foreign manifests as well and shares no mistake with the
//! code that generates ours.
//!
//! ```text
//! world        the objects, settled and indexed        decide       may this identity do this, and why
//! aggregate    ClusterRoles that gather others          who_can      who may do this
//! rules        rules, each distinct list once           resolve      which rules hold for an identity here
//! request      identities and attributes                cover        do these rules cover those
//! http         from an HTTP request to attributes       write        may it write this object (escalation check)
//! served       could a server receive the request       impersonate  may it act as somebody else
//! saved        a world as a file
//! lookup       what people call a resource              crossplane   its own checks of what packages ask for
//! proof        the chain behind an answer             reconcile    what the server does to its defaults
//! risk         what a grant really opens, and how somebody becomes more than he is
//! ```
//!
//! The rules are those of `specs/kubernetes.md` sections 7 to 9 and `specs/rbac.md` section 4.

pub mod aggregate;
pub mod ask;
pub mod compare;
pub mod cover;
pub mod crossplane;
pub mod decide;
pub mod http;
pub mod impersonate;
mod index;
pub mod lookup;
pub mod proof;
pub mod reconcile;
pub mod request;
pub mod resolve;
pub mod risk;
mod rules;
pub mod saved;
pub mod served;
mod symbols;
pub mod who_can;
pub mod world;
pub mod write;

pub use decide::{Answer, Decision};
pub use request::{Identity, Request, ResourceRequest, UrlRequest};
pub use served::Liveness;
pub use world::{Builder, Layer, World};

//! The label synchroniser of OpenShift: from the constraints that service accounts may use to the Pod Security labels of
//! their namespace (`specs/openshift.md` 2 and 3).
//!
//! ```text
//! namespace   what is known of a namespace          grants       who may use which constraints
//! control     does the syncer care for it           sync         what it writes
//! world       everything together, and the answers  chain        what lifts a level, and how it came there
//! neighbours  the controllers beside it             declared     labels that a repository declares: fights, findings
//! users       users whose pods the level refuses
//! ```
//!
//! Not here: the order of events. What comes out is where the controllers come to rest.

pub mod chain;
pub mod control;
pub mod declared;
pub mod grants;
pub mod namespace;
pub mod neighbours;
pub mod sync;
pub mod users;
pub mod world;

use super::level::PolicyVersion;
use super::scc::release::{Mode, Release};

/// What a cluster is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Its release.
    pub release: Release,
    /// Which labels its syncer writes.
    pub mode: Mode,
    /// The version of the checks for the level that is really guaranteed.
    pub checks: PolicyVersion,
}

impl Settings {
    /// A cluster of a release as it comes.
    pub fn of(release: Release) -> Self {
        let checks = PolicyVersion::Latest.on_server_of(release.kubernetes_minor());
        Self { release, mode: release.default_mode(), checks }
    }
}

//! The label synchroniser of OpenShift: from the constraints of service accounts to the Pod Security labels of their
//! namespace (`pkg/psalabelsyncer` of openshift/cluster-policy-controller).
//!
//! ```text
//! namespace   what is known of a namespace          grants       who may use which constraints
//! control     does the syncer care for it           sync         what it writes
//! world       everything together, and the answers  chain        what lifts a level, and how it came there
//! neighbours  the controllers beside it             declared     labels that a repository declares: fights, findings
//! users       users whose pods the level refuses
//! ```
//!
//! The order of events is left out. The result is the stable state of the controllers.

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
use super::scc::release::{Release, SyncMode};

/// The settings of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Release of OpenShift.
    pub release: Release,
    /// The labels written by the syncer.
    pub mode: SyncMode,
    /// The version of the checks for the guaranteed level.
    pub checks: PolicyVersion,
}

impl Settings {
    /// Returns a cluster of a release as it comes.
    pub fn from_release(release: Release) -> Self {
        let checks = PolicyVersion::Latest.on_server_of(release.kubernetes_minor());
        Self { release, mode: release.default_mode(), checks }
    }
}

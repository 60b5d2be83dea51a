//! Worlds of manifests for the tests.

#![allow(dead_code, reason = "each file of tests uses a part")]

pub(crate) mod manifests;

use bailiwick_access::{Builder, ObjectSource, World};
use bailiwick_admission::gate::AdmissionObjects;
use bailiwick_admission::installed::InstalledPolicies;
use bailiwick_admission::scc::defaults::{Start, trees};
use bailiwick_admission::scc::release::Release;
use bailiwick_node::{Cluster, ServerVersion};
use bailiwick_paths::{EscalationGraph, GraphInputs};
use bailiwick_yaml::diag::{FileId, Sink};

/// The objects of a cluster.
pub(crate) struct Objects {
    pub(crate) world: World,
    pub(crate) cluster: Cluster,
    pub(crate) admission: AdmissionObjects,
    pub(crate) installed: InstalledPolicies,
    pub(crate) is_openshift: bool,
}

impl Objects {
    /// Reads manifests for a minor, above its default policy.
    pub(crate) fn new(minor: u32, is_openshift: bool, manifests: &str) -> Self {
        Self::above(Builder::new(minor).with_default_policy(minor), minor, is_openshift, manifests)
    }

    /// Reads manifests for a minor, without its default policy.
    pub(crate) fn bare(minor: u32, manifests: &str) -> Self {
        Self::above(Builder::new(minor), minor, false, manifests)
    }

    fn above(mut builder: Builder, minor: u32, is_openshift: bool, manifests: &str) -> Self {
        let tree = bailiwick_yaml::read(manifests, FileId::default(), &mut Sink::new());
        let mut cluster = Cluster::new(ServerVersion::new(minor).expect("a known minor"));
        let mut admission = AdmissionObjects::new(minor, is_openshift);
        let mut installed = InstalledPolicies::new(minor);
        cluster.is_openshift = is_openshift;
        if is_openshift {
            let release = Release::of_kubernetes(minor).expect("a release");
            for tree in trees(Start { release, upgraded_from_4_10: false }) {
                for object in tree.documents() {
                    admission.add(object).expect("valid constraints");
                    _ = builder.add(object, ObjectSource::Baseline);
                }
            }
        }
        for object in tree.documents() {
            _ = builder.add(object, ObjectSource::Input(object.origin()));
            cluster.add(object);
            admission.add(object).expect("a valid object");
            admission.add_admission_policy(object).expect("a valid object");
            installed.add(object);
        }
        Self { world: builder.build(), cluster, admission, installed, is_openshift }
    }

    /// Returns the graph.
    pub(crate) fn graph(&self) -> EscalationGraph<'_> {
        EscalationGraph::new(GraphInputs {
            world: &self.world,
            cluster: &self.cluster,
            admission: &self.admission,
            installed: Some(&self.installed),
            is_openshift: self.is_openshift,
            further_subjects: &[],
        })
    }
}

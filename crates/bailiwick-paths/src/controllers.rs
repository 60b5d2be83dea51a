//! The controllers of GitOps and package objects, with the accounts that they run as.

use crate::inventory::{Inventory, SubjectId, account_of};

/// A controller: its API groups, and the name of its service account.
struct Controller {
    /// The name in the graph.
    family: &'static str,
    groups: &'static [&'static str],
    resources: &'static [&'static str],
    account: &'static str,
    /// Whether it follows objects of its own namespace alone, unless configured.
    stays_at_home: bool,
}

/// The known controllers, with the service accounts of their manifests.
const CONTROLLERS: &[Controller] = &[
    Controller {
        family: "argocd",
        groups: &["argoproj.io"],
        resources: &["applications", "applicationsets", "appprojects"],
        account: "argocd-application-controller",
        stays_at_home: true,
    },
    Controller {
        family: "openshift-gitops",
        groups: &["argoproj.io"],
        resources: &["applications", "applicationsets", "appprojects"],
        account: "openshift-gitops-argocd-application-controller",
        stays_at_home: true,
    },
    Controller {
        family: "flux-kustomize",
        groups: &["kustomize.toolkit.fluxcd.io"],
        resources: &["kustomizations"],
        account: "kustomize-controller",
        stays_at_home: false,
    },
    Controller {
        family: "flux-helm",
        groups: &["helm.toolkit.fluxcd.io"],
        resources: &["helmreleases"],
        account: "helm-controller",
        stays_at_home: false,
    },
    Controller {
        family: "crossplane",
        groups: &["stacks.crossplane.io", "pkg.crossplane.io"],
        resources: &["clusterstackinstalls", "stackinstalls", "providers", "configurations", "functions"],
        account: "crossplane",
        stays_at_home: false,
    },
    Controller {
        family: "olm",
        groups: &["operators.coreos.com"],
        resources: &["subscriptions", "clusterserviceversions"],
        account: "olm-operator-serviceaccount",
        stays_at_home: false,
    },
    Controller {
        family: "k3s-helm",
        groups: &["helm.cattle.io"],
        resources: &["helmcharts"],
        account: "helm-controller",
        stays_at_home: false,
    },
];

/// The family of a controller without a known account.
pub(crate) const UNKNOWN: &str = "another controller";

/// A controller of some objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Driven {
    pub(crate) family: &'static str,
    pub(crate) groups: &'static [&'static str],
    pub(crate) resources: &'static [&'static str],
    pub(crate) stays_at_home: bool,
}

/// Returns the known controllers.
pub(crate) fn all() -> impl Iterator<Item = Driven> {
    CONTROLLERS.iter().map(|controller| Driven {
        family: controller.family,
        groups: controller.groups,
        resources: controller.resources,
        stays_at_home: controller.stays_at_home,
    })
}

/// Returns the accounts of a controller among the subjects.
pub(crate) fn accounts_of(family: &str, inventory: &Inventory) -> Vec<SubjectId> {
    let Some(controller) = CONTROLLERS.iter().find(|controller| controller.family == family) else {
        return Vec::new();
    };
    let is_it = |name: &str| account_of(name).is_some_and(|(_, account)| account == controller.account);
    let subjects = inventory.subjects.iter().zip(0..).filter(|(subject, _)| is_it(&subject.name));
    subjects.map(|(_, id)| SubjectId(id)).collect()
}

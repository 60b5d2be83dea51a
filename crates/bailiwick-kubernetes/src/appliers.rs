//! The annotations of an object that decide how Argo CD and Flux apply and remove it.
//!
//! Sources: `util/resource` and `pkg/sync/common/types.go` of Argo CD's gitops-engine (3.2), and
//! `api/v1/kustomization_types.go` of kustomize-controller (1.9).

use bailiwick_yaml::NodeRef;

/// The annotation of Argo CD with the options for an object, such as `Prune=false`, separated by commas.
pub const SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";

/// The annotation of Flux that keeps an object: `disabled`.
pub const FLUX_PRUNE: &str = "kustomize.toolkit.fluxcd.io/prune";

/// The annotation of Flux that creates an object anew if a field cannot be changed: `enabled`.
pub const FLUX_FORCE: &str = "kustomize.toolkit.fluxcd.io/force";

/// The annotation of Flux that leaves the texts of an object as they are: `disabled`.
pub const FLUX_SUBSTITUTE: &str = "kustomize.toolkit.fluxcd.io/substitute";

/// The appliers that leave an object in the cluster when it goes from their source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keepers {
    /// Whether Argo CD keeps the object, or waits for the approval of a person.
    pub argocd: bool,
    /// Whether Flux keeps the object.
    pub flux: bool,
}

impl Keepers {
    /// Reads the annotations of an object.
    pub fn of_object(object: NodeRef<'_>) -> Self {
        let annotation = |key: &str| object.path(&["metadata", "annotations", key]).and_then(NodeRef::as_str);
        let options = annotation(SYNC_OPTIONS).into_iter().flat_map(|options| options.split(','));
        Self {
            argocd: options.map(str::trim).any(|option| matches!(option, "Prune=false" | "Prune=confirm")),
            flux: annotation(FLUX_PRUNE) == Some("disabled"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    fn keepers(annotations: &str) -> Keepers {
        let text = format!("kind: Namespace\nmetadata: {{annotations: {annotations}}}\n");
        let tree = yaml::read(&text, FileId::default(), &mut Sink::new());
        Keepers::of_object(tree.document(0).expect("an object"))
    }

    #[test]
    fn each_applier_reads_its_own_annotation() {
        for (annotations, argocd, flux) in [
            ("{}", false, false),
            ("{argocd.argoproj.io/sync-options: 'Delete=false,Prune=false'}", true, false),
            ("{argocd.argoproj.io/sync-options: 'Replace=true, Prune=confirm'}", true, false),
            ("{argocd.argoproj.io/sync-options: 'Delete=false,PruneLast=true'}", false, false),
            ("{kustomize.toolkit.fluxcd.io/prune: disabled}", false, true),
            ("{kustomize.toolkit.fluxcd.io/prune: enabled}", false, false),
        ] {
            assert_eq!(keepers(annotations), Keepers { argocd, flux }, "{annotations}");
        }
    }
}

//! Names reserved by the API server for admission policies and webhooks from its own files
//! (`pkg/apis/admissionregistration/validation/static_suffix.go` of Kubernetes 1.37).

use bailiwick_yaml::NodeRef;

use super::{ErrorKind, Path, Report, place, text};

/// The end of the names of policies and webhooks from files.
const SUFFIX: &str = ".static.k8s.io";

/// The kinds also read from files by the API server.
const KINDS: [&str; 6] = [
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

/// The first minor with an error for such names: the feature gate ManifestBasedAdmissionControlConfig is on.
const REFUSED_SINCE: u32 = 37;

/// The minor with a warning for such names: the feature gate exists and is off.
pub const WARNED_OF_IN: u32 = 36;

/// Whether the name of an object ends as only names of policies and webhooks from files may.
pub fn is_kept(object: NodeRef<'_>) -> bool {
    text(object, "apiVersion").starts_with("admissionregistration.k8s.io/")
        && KINDS.contains(&text(object, "kind"))
        && text(place(object, "metadata"), "name").ends_with(SUFFIX)
}

/// Refuses to create an object with such a name. A stored object keeps its name.
pub(super) fn check(object: NodeRef<'_>, old: Option<NodeRef<'_>>, report: &mut Report<'_>) {
    if report.minor < REFUSED_SINCE || old.is_some() || !is_kept(object) {
        return;
    }
    let (metadata, root) = (place(object, "metadata"), Path::root("metadata"));
    let message =
        format!("names that end in `{SUFFIX}` are reserved for policies and webhooks from files of the API server");
    report.teach(ErrorKind::Invalid, &root.field("name"), place(metadata, "name"), message, "use another name");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::FieldError;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    fn errors(minor: u32, kind: &str, name: &str, is_stored: bool) -> Vec<String> {
        let text = format!("apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}\nmetadata: {{name: {name}}}");
        let tree = yaml::read(&text, FileId::default(), &mut Sink::new());
        let object = tree.document(0).expect("a document");
        let mut errors: Vec<FieldError> = Vec::new();
        crate::validation::check(object, Some(object).filter(|_| is_stored), minor, &mut errors);
        errors.into_iter().filter(|error| error.path == "metadata.name").map(|error| error.message).collect()
    }

    #[test]
    fn names_of_files_are_refused_since_1_37() {
        for kind in KINDS {
            assert_eq!(errors(37, kind, "web.static.k8s.io", false).len(), 1, "{kind}");
            assert_eq!(errors(36, kind, "web.static.k8s.io", false), Vec::<String>::new(), "{kind}");
            assert_eq!(errors(37, kind, "web.static.k8s.io.example", false), Vec::<String>::new(), "{kind}");
            assert_eq!(errors(37, kind, "web.static.k8s.io", true), Vec::<String>::new(), "{kind}");
        }
    }
}

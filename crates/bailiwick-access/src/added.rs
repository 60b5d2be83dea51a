//! The result of adding objects to a world.

use bailiwick_yaml::diag::Origin;

/// The result of adding an object. A refused object is missing in every answer of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a refused object is missing in every answer"]
pub enum Added {
    /// It counts from now on.
    Taken,
    /// It replaced an object in the same layer, from this source.
    Replaced(Origin),
    /// It has nothing to do with access.
    Ignored,
    /// It has no kind or no name.
    Malformed,
    /// It is not of the shape of its kind, and why.
    Misshapen(String),
}

impl Added {
    /// Joins the result of objects of a list with the result of the next one.
    pub(crate) fn of_list(before: Self, next: Self) -> Self {
        match (&before, &next) {
            (Self::Malformed | Self::Misshapen(_), _) => before,
            (_, Self::Malformed | Self::Misshapen(_)) => next,
            (Self::Ignored, Self::Ignored) => Self::Ignored,
            _ => Self::Taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use bailiwick_yaml::diag::{Files, Sink};

    use super::*;
    use crate::world::{Builder, ObjectSource};

    fn add(text: &str) -> (Added, usize) {
        let (files, mut sink) = (Files::new(), Sink::new());
        let tree = bailiwick_yaml::read(text, files.add("objects.yaml", text), &mut sink);
        let mut builder = Builder::new(37);
        let added = builder.add(tree.document(0).unwrap(), ObjectSource::Baseline);
        (added, builder.build().size().roles)
    }

    #[test]
    fn a_list_is_its_objects() {
        let role = "{ metadata: { name: reader }, rules: [] }";
        let other = "{ metadata: { name: writer }, rules: [] }";
        let typed = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleList\nitems:";
        assert_eq!(add(&format!("{typed} [{role}, {other}]")), (Added::Taken, 2));
        assert_eq!(add(&format!("{typed} []")), (Added::Ignored, 0));
        assert_eq!(add(&format!("{typed} [{role}, {{ rules: [] }}, {other}]")), (Added::Malformed, 2));
        let pod = "{ apiVersion: v1, kind: Pod, metadata: { name: web } }";
        assert_eq!(add(&format!("apiVersion: v1\nkind: List\nitems: [{pod}]")), (Added::Ignored, 0));
    }
}

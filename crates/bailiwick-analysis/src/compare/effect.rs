//! The effect of a change on each subject: compares two worlds, each with as many objects as the comparison needs.
//!
//! The permissions of a subject in a namespace follow from the roles and bindings of the namespace, which are in one
//! file, and from the ClusterRoles that they bind. Its cluster-wide permissions follow from the files with a
//! ClusterRole or a ClusterRoleBinding. Both worlds therefore hold every file with a role or binding that grants other
//! permissions than before, and the other files with a ClusterRole or a ClusterRoleBinding. All other files grant the
//! same permissions before and after. One of several files that change alike represents all. If an object is in a file
//! that is not its own, the worlds hold all files.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use bailiwick_access::Builder;
use bailiwick_access::compare::{Change, ImpliedGroups, compare, sort};
use bailiwick_access::world::Added;
use bailiwick_base::parallel;
use bailiwick_compiler::emit::committed::Committed;
use bailiwick_compiler::emit::file;
use bailiwick_compiler::emit::objects::{self, ChangeSignature, FileChange, ObjectChange};
use bailiwick_kubernetes::rbac;
use bailiwick_policy::model::Target;
use bailiwick_workspace::Workspace;
use bailiwick_workspace::output::{ChangedFile, is_kept};
use bailiwick_yaml::diag::{FileId, RunError, Sink};
use bailiwick_yaml::{self as yaml, Tree};

use super::alike::{Alike, Classes};
use crate::loaded_world::{WorldOptions, below_output, load_committed, load_target};

/// How a text of ours names ClusterRoles and ClusterRoleBindings, and bindings their ClusterRoles.
const CLUSTER_ROLE: &str = "\nkind: ClusterRole";
const BOUND_CLUSTER_ROLE: &str = "\n  kind: ClusterRole\n";

/// The roles and bindings of a file that grants otherwise, as they were and as they are.
#[derive(Debug)]
pub(super) struct Rules {
    path: String,
    way: Option<ChangeSignature>,
    /// The parsed texts; none if an earlier file with the same change was read.
    trees: Option<[Vec<Tree>; 2]>,
    alike: Option<Alike>,
}

/// The known ways to change, each with whether one file stands for the others.
pub(super) type Ways = Mutex<HashMap<u128, bool>>;

impl Rules {
    /// Returns the rules of a file; none if it grants the same as before.
    pub(super) fn of(found: &ChangedFile<'_>, ways: &Ways) -> Option<Self> {
        let FileChange { plan, objects, way } = found.change;
        let touches = |objects: &Vec<ObjectChange<'_>>| objects.iter().any(|object| object.facts.touches_access);
        if !objects.as_ref().is_none_or(touches) {
            return None;
        }
        let path = plan.path.clone();
        let lock = || ways.lock().unwrap_or_else(PoisonError::into_inner);
        // The first of a thread is read even if another thread has read one: which of them comes first is not known.
        let is_known = |way: &ChangeSignature| way.access_seen > 0 && lock().get(&way.access_digest) == Some(&true);
        if way.as_ref().is_some_and(is_known) {
            return Some(Self { path, way: way.clone(), trees: None, alike: None });
        }
        let old = found.old.map(String::from_utf8_lossy).unwrap_or_default();
        let new = found.file.map_or("", |file| &*file.text);
        let texts = [rules(&old), rules(new)];
        let alike = way.as_ref().and_then(|way| Alike::of(&way.name, &texts));
        if let Some(way) = way {
            lock().insert(way.access_digest, alike.is_some());
        }
        let read = |text: &String| yaml::read(text, FileId::default(), &mut Sink::new());
        let trees = texts.map(|texts| texts.iter().map(read).collect());
        Some(Self { path, way: way.clone(), trees: Some(trees), alike })
    }
}

/// Returns the roles and bindings of a text; all of the text if its form is unusual.
fn rules(text: &str) -> Vec<String> {
    match objects::of_group(text, rbac::GROUP) {
        Some(objects) => objects.into_iter().map(str::to_owned).collect(),
        None => vec![text.to_owned()],
    }
}

/// Both worlds in the making.
pub(super) struct Effect<'s> {
    workspace: &'s Workspace,
    target: &'s Target,
    /// The worlds before and after, once some file grants other permissions; none if the baseline cannot be read.
    worlds: Option<Result<Option<[Builder; 2]>, RunError>>,
    /// The files that grant otherwise.
    paths: HashSet<String>,
    /// The files that do so alike.
    classes: Classes,
    /// The namespaces of the baseline.
    under: BTreeSet<String>,
    /// True when some object is not where it belongs.
    is_astray: bool,
}

impl<'s> Effect<'s> {
    /// Creates the effect of a target without changes.
    pub(super) fn new(workspace: &'s Workspace, target: &'s Target) -> Self {
        Self {
            workspace,
            target,
            worlds: None,
            paths: HashSet::new(),
            classes: Classes::default(),
            under: BTreeSet::new(),
            is_astray: false,
        }
    }

    /// Takes a file that grants otherwise.
    pub(super) fn add(&mut self, rules: Rules) {
        let worlds = self.worlds.get_or_insert_with(|| {
            // The comparison of the texts reports the errors of the policies.
            let under = || {
                let options = WorldOptions::default();
                below_output(self.workspace, self.target, &options, &mut None, &mut Sink::new())
            };
            let worlds = under()?.zip(under()?).map(|(old, new)| [old, new]);
            self.under = worlds.iter().flatten().flat_map(Builder::places).collect();
            Ok(worlds)
        });
        let Rules { path, way, trees, alike } = rules;
        let is_told = way.as_ref().is_some_and(|way| self.classes.add(way));
        match (trees, worlds) {
            (Some([old_trees, new_trees]), Ok(Some([old, new]))) if !is_told => {
                self.is_astray |= add(old, &old_trees, &path) | add(new, &new_trees, &path);
                if let (Some(way), Some(alike)) = (way, alike) {
                    self.classes.found(&way, alike);
                }
            }
            (trees, _) => self.is_astray |= !is_told && trees.is_none(),
        }
        self.paths.insert(path);
    }

    /// Returns the effect of the change on access; none without an effect.
    pub(super) fn finish(mut self, committed: &dyn Committed) -> Result<Option<Vec<Change>>, RunError> {
        let Some([mut old, mut new]) = self.worlds.take().transpose()?.flatten() else { return Ok(None) };
        if !self.is_astray {
            self.add_bystanders(committed, &mut old, &mut new)?;
            let wide = &old.held_cluster_wide() | &new.held_cluster_wide();
            for (namespace, [old_trees, new_trees]) in self.classes.settle(&wide, &self.under) {
                let path = file::path(Some(&namespace), "", None);
                self.is_astray |= add(&mut old, &old_trees, &path) | add(&mut new, &new_trees, &path);
            }
        }
        if !self.is_astray {
            let mut changes = self.classes.spread(compare(&old.build(), &new.build(), ImpliedGroups::Counted));
            sort(&mut changes);
            return Ok(Some(changes));
        }
        let new = load_target(self.workspace, self.target, &WorldOptions::default(), &mut Sink::new())?;
        let old = load_committed(self.workspace, self.target, committed)?;
        let (Some(new), Some(old)) = (new, old) else { return Ok(None) };
        Ok(Some(compare(&old, &new.world, ImpliedGroups::Counted)))
    }

    /// Adds the files to both worlds that grant the same permissions as before, and have or bind cluster-wide roles.
    fn add_bystanders(
        &mut self,
        committed: &dyn Committed,
        old: &mut Builder,
        new: &mut Builder,
    ) -> Result<(), RunError> {
        let entries = committed.list()?;
        let is_other = |path: &str| !self.paths.contains(path) && !is_kept(self.workspace, self.target, path);
        let others: Vec<&str> = entries
            .iter()
            .filter(|entry| entry.is_file() && is_other(&entry.path))
            .map(|entry| entry.path.as_str())
            .collect();
        let mut failed = None;
        parallel::in_order(
            others.len(),
            self.workspace.options().threads(),
            || (),
            |(), position| {
                let path = others.get(position).copied().unwrap_or_default();
                let bytes = committed.read(path)?.unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes);
                let counts = text.contains(CLUSTER_ROLE) || text.contains(BOUND_CLUSTER_ROLE);
                let texts = if counts { rules(&text) } else { Vec::new() };
                let read = |text: &String| yaml::read(text, FileId::default(), &mut Sink::new());
                Ok((path, texts.iter().map(read).collect::<Vec<Tree>>()))
            },
            |_, read| {
                match read {
                    Ok((path, trees)) => self.is_astray |= add(old, &trees, path) | add(new, &trees, path),
                    Err(error) => failed = Some(error),
                }
                failed.is_none()
            },
        );
        failed.map_or(Ok(()), Err)
    }
}

/// Adds the objects of a file; true when one is not where it belongs, or is there twice.
fn add(builder: &mut Builder, trees: &[Tree], path: &str) -> bool {
    let mut is_astray = false;
    for root in trees.iter().flat_map(Tree::documents) {
        builder.add_document(root, |object, added| {
            is_astray |= matches!(added, Added::Replaced(_));
            let namespace = object.path(&["metadata", "namespace"]).and_then(|namespace| namespace.as_str());
            is_astray |= namespace != file::namespace(path) && namespace.is_some();
        });
    }
    is_astray
}

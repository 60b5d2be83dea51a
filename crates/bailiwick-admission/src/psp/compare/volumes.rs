//! The effect of a change of the volumes of a policy: kinds, paths of the node and drivers.

use std::collections::BTreeSet;

use super::{PspComparison, borrowed, names, respelled, set};
use crate::psp::volumes::is_below;
use crate::psp::{AllowedHostPath, Spec, entries};

/// Compares the kinds of volumes and their further limits.
pub(super) fn compare(old: &Spec, new: &Spec, found: &mut PspComparison) {
    respelled("volumes", old.volumes.as_ref(), new.volumes.as_ref(), found);
    let (before, after) = (set(entries(old.volumes.as_ref())), set(entries(new.volumes.as_ref())));
    names("volumes", &before, &after, found);
    let is_on = |kinds: &BTreeSet<&str>, kind: &str| kinds.contains("*") || kinds.contains(kind);
    let presence = |kind: &str| Presence { before: is_on(&before, kind), after: is_on(&after, kind) };
    host_paths(old, new, presence("hostPath"), found);
    let flex = |spec: &Spec| list_of(spec.allowed_flex_volumes.as_ref(), |flex| flex.driver.clone());
    drivers("allowedFlexVolumes", &flex(old), &flex(new), presence("flexVolume"), found);
    let csi = |spec: &Spec| list_of(spec.allowed_csi_drivers.as_ref(), |csi| csi.name.clone());
    drivers("allowedCSIDrivers", &csi(old), &csi(new), presence("csi"), found);
}

fn list_of<T>(list: Option<&Vec<T>>, name: impl Fn(&T) -> String) -> Option<Vec<String>> {
    list.map(|list| list.iter().map(name).collect())
}

/// Whether a kind of volume is allowed before and after a change.
#[derive(Clone, Copy)]
struct Presence {
    before: bool,
    after: bool,
}

/// Compares two lists of drivers; an empty list allows all.
fn drivers(
    field: &str,
    old: &Option<Vec<String>>,
    new: &Option<Vec<String>>,
    kind: Presence,
    found: &mut PspComparison,
) {
    respelled(field, old.as_ref(), new.as_ref(), found);
    let read = |list: &Option<Vec<String>>| -> BTreeSet<String> {
        let names = entries(list.as_ref());
        if names.is_empty() { BTreeSet::from(["*".to_owned()]) } else { names.iter().cloned().collect() }
    };
    let (before, after) = (read(old), read(new));
    match (kind.before, kind.after) {
        (true, true) => names(field, &borrowed(&before), &borrowed(&after), found),
        // A change of the whole kind of volume is in the result already.
        (false, true) | (true, false) => {}
        (false, false) if before != after => found.unchanged_meaning.push(format!("{field}, which has no effect")),
        (false, false) => {}
    }
}

fn host_paths(old: &Spec, new: &Spec, kind: Presence, found: &mut PspComparison) {
    let Presence { before: was_on, after: is_on } = kind;
    respelled("allowedHostPaths", old.allowed_host_paths.as_ref(), new.allowed_host_paths.as_ref(), found);
    let everything = [AllowedHostPath { path_prefix: "/".to_owned(), read_only: false }];
    let effective = |spec: &Spec, is_on: bool| -> Vec<AllowedHostPath> {
        let listed = entries(spec.allowed_host_paths.as_ref());
        match (is_on, listed.is_empty()) {
            (false, _) => Vec::new(),
            (true, true) => everything.to_vec(),
            (true, false) => listed.to_vec(),
        }
    };
    let (before, after) = (effective(old, was_on), effective(new, is_on));
    if !was_on && !is_on && old.allowed_host_paths != new.allowed_host_paths {
        found.unchanged_meaning.push("allowedHostPaths, which has no effect".to_owned());
    }
    let is_covered = |path: &AllowedHostPath, by: &[AllowedHostPath]| {
        by.iter().any(|by| is_below(&path.path_prefix, &by.path_prefix) && (path.read_only || !by.read_only))
    };
    let can_be_read = |path: &AllowedHostPath, by: &[AllowedHostPath]| {
        is_covered(&AllowedHostPath { read_only: true, ..path.clone() }, by)
    };
    let mode = |path: &AllowedHostPath| if path.read_only { "ro" } else { "rw" };
    for path in &after {
        let prefix = &path.path_prefix;
        if is_covered(path, &before) {
            if !before.contains(path) {
                found.unchanged_meaning.push(format!("hostPath +{prefix} {}, covered before", mode(path)));
            }
        } else if can_be_read(path, &before) {
            found.widened.push(format!("hostPath {prefix} ro -> rw"));
        } else {
            found.widened.push(format!("hostPath +{prefix} {}", mode(path)));
        }
    }
    for path in &before {
        let prefix = &path.path_prefix;
        if is_covered(path, &after) {
            if !after.contains(path) {
                found.unchanged_meaning.push(format!("hostPath -{prefix}, still covered"));
            }
        } else if can_be_read(path, &after) {
            found.narrowed.push(format!("hostPath {prefix} rw -> ro"));
        } else {
            found.narrowed.push(format!("hostPath -{prefix}"));
        }
    }
}

//! Random pairs of worlds: versions, access, and the objects that decide about pods.

use std::path::Path;

use bailiwick::admission::scc::defaults::{Start, objects};
use bailiwick::admission::scc::release::Release;
use serde_json::{Value, json};

use super::changes;
use crate::oracle::{Dice, changed, random_world, respelled};

/// The part of the worlds that the pair is about; each pair has access, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Area {
    Access,
    Version,
    Level,
    Policy,
    Psp,
    Scc,
}

/// One side of a pair.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Side {
    pub(super) version: &'static str,
    /// Roles and bindings.
    pub(super) access: Vec<Value>,
    /// Namespaces, and the objects that decide about pods.
    pub(super) admission: Vec<Value>,
    /// Whether each object has a file of its own.
    pub(super) has_many_files: bool,
    /// Whether a NamespaceSet makes the namespaces.
    pub(super) has_namespace_set: bool,
}

/// Two sides.
pub(super) struct Pair {
    pub(super) area: Area,
    pub(super) number: u64,
    pub(super) base: Side,
    pub(super) head: Side,
    /// Whether both sides have the same effect by construction.
    pub(super) is_equal: bool,
}

impl Pair {
    /// Returns the pair of a number in an area; every second pair is equal in effect.
    pub(super) fn new(area: Area, number: u64, dice: &mut Dice) -> Self {
        let is_equal = number.is_multiple_of(2);
        let base = Side::random(area, dice);
        let head = base.next(area, is_equal, dice);
        Self { area, number, base, head, is_equal }
    }
}

impl Side {
    fn random(area: Area, dice: &mut Dice) -> Self {
        let version = match area {
            Area::Access => "1.34",
            Area::Version => dice.pick(&["1.25", "1.28", "1.31", "1.34", "1.36"]),
            Area::Level => dice.pick(&["1.27", "1.30", "1.32", "1.35", "1.37"]),
            Area::Policy => dice.pick(&["1.30", "1.33", "1.37"]),
            Area::Psp => dice.pick(&["1.22", "1.24"]),
            Area::Scc => "4.20",
        };
        let mut access = random_world(dice);
        access.extend(changes::grants(area, dice));
        Self {
            version,
            access,
            admission: changes::admission(area, dice),
            has_many_files: dice.chance(30),
            has_namespace_set: area == Area::Level && dice.chance(25),
        }
    }

    /// Returns the other side: of another form, or with changes of the area or of the access.
    fn next(&self, area: Area, is_equal: bool, dice: &mut Dice) -> Self {
        let mut next = self.clone();
        next.has_many_files = dice.chance(30);
        changes::respell(&mut next.admission, dice);
        let changes_access = area == Area::Access || dice.chance(if area == Area::Version { 50 } else { 20 });
        next.access = match is_equal || !changes_access {
            true => respelled(dice, &self.access),
            false => changed(dice, &self.access),
        };
        if is_equal {
            return next;
        }
        if area == Area::Version || (area == Area::Level && dice.chance(30)) {
            next.version = dice.pick(&["1.24", "1.27", "1.30", "1.32", "1.35", "1.37"]);
        }
        if !matches!(area, Area::Access | Area::Version) {
            for _ in 0..=1 + dice.below(3) {
                changes::change(area, &mut next.admission, dice);
            }
        }
        next
    }

    pub(super) fn is_openshift(&self) -> bool {
        self.version.starts_with("4.")
    }

    /// Returns the minor of Kubernetes.
    pub(super) fn minor(&self) -> u32 {
        match Release::parse(self.version).filter(|_| self.is_openshift()) {
            Some(release) => release.kubernetes_minor(),
            None => self.version.trim_start_matches("1.").parse().expect("a minor"),
        }
    }

    /// Returns the objects that a new cluster of OpenShift has.
    fn platform(&self) -> Vec<Value> {
        let release = Release::parse(self.version).filter(|_| self.is_openshift());
        release.map_or_else(Vec::new, |release| objects(Start { release, upgraded_from_4_10: false }))
    }

    /// Returns the constraints of a new cluster of OpenShift.
    pub(super) fn platform_constraints(&self) -> Vec<Value> {
        let mut all = self.platform();
        all.retain(|object| object["kind"] == "SecurityContextConstraints");
        all
    }

    /// Returns all roles and bindings beside the default policy of Kubernetes.
    pub(super) fn roles_and_bindings(&self) -> Vec<Value> {
        let mut all = self.platform();
        all.retain(|object| object["kind"] != "SecurityContextConstraints");
        all.extend(self.access.iter().cloned());
        all
    }

    /// Writes a workspace.
    pub(super) fn write(&self, root: &Path) {
        std::fs::create_dir_all(root.join("policies/objects")).expect("folders");
        let target = match self.is_openshift() {
            true => format!(
                "{{name: t, platform: openshift, version: \"{}\", features: {{podSecurityLabelSync: none}}}}",
                self.version
            ),
            false => format!("{{name: t, version: \"{}\"}}", self.version),
        };
        let head = "apiVersion: bailiwick.dev/v1alpha1\nkind:";
        let workspace = format!("{head} Workspace\nmetadata: {{name: proof}}\nspec:\n  targets:\n  - {target}\n");
        std::fs::write(root.join("bailiwick.yaml"), workspace).expect("written");
        let manifests =
            format!("{head} Manifests\nmetadata: {{name: world}}\nspec:\n  files: [objects/*.yaml]\n  emit: false\n");
        std::fs::write(root.join("policies/world.yaml"), manifests).expect("written");
        let is_of_set = |object: &Value| self.has_namespace_set && object["kind"] == "Namespace";
        let (sets, objects): (Vec<&Value>, Vec<&Value>) =
            self.access.iter().chain(&self.admission).partition(|object| is_of_set(object));
        if self.has_namespace_set {
            std::fs::write(root.join("policies/set.yaml"), namespace_set(&sets).to_string()).expect("written");
        }
        let documents: Vec<String> = objects.into_iter().map(|object| with_versions(object).to_string()).collect();
        let files = if self.has_many_files { documents.len().max(1) } else { 1 };
        for (number, documents) in documents.chunks(documents.len().div_ceil(files).max(1)).enumerate() {
            let path = root.join(format!("policies/objects/{number}.yaml"));
            std::fs::write(path, documents.join("\n---\n")).expect("written");
        }
    }
}

/// Returns a NamespaceSet that makes namespaces with the levels of some Namespace objects. A set has known levels and versions
/// alone, so an unknown level becomes `restricted`, and an unknown version `latest`.
fn namespace_set(namespaces: &[&Value]) -> Value {
    let member = |object: &&Value| {
        let mut labels = object["metadata"]["labels"].as_object().cloned().unwrap_or_default();
        let mut label = |key: &str| labels.shift_remove(&format!("pod-security.kubernetes.io/{key}"));
        let (level, version, _) = (label("enforce"), label("enforce-version"), label("warn"));
        let mut member = json!({"name": object["metadata"]["name"], "labels": labels});
        if let Some(level) = level {
            let version = version.filter(|version| version != "1.30" && version != "v1.99");
            member["podSecurity"] = json!({
                "level": if level == "strict" { json!("restricted") } else { level },
                "version": version.unwrap_or(json!("latest")),
            });
        }
        member
    };
    let members: Vec<Value> = namespaces.iter().map(member).collect();
    json!({
        "apiVersion": "bailiwick.dev/v1alpha1", "kind": "NamespaceSet", "metadata": {"name": "set"},
        "spec": {"namespaces": members},
    })
}

/// Returns an object of the second evaluator as a manifest.
fn with_versions(object: &Value) -> Value {
    let mut object = object.clone();
    if object.get("apiVersion").is_none() {
        object["apiVersion"] = json!("rbac.authorization.k8s.io/v1");
    }
    if let Some(role) = object.get_mut("roleRef") {
        role["apiGroup"] = json!("rbac.authorization.k8s.io");
    }
    object
}

//! One policy in the place of several: it admits each pod that one of them admits.
//!
//! Each limit is the loosest limit of the policies that have the field. A default stays if all policies have it, or if the merged limit
//! requires a value: then the first policy decides. Three limits get looser than any of the policies: ranges of user ids without
//! root beside `MustRunAsNonRoot` become `MustRunAsNonRoot`, different SELinux contexts become `RunAsAny`, and seccomp profiles beside
//! pods without one become `*`. One limit gets stricter: beside `MustRunAsNonRoot`, pods of a policy with ranges may not set
//! `runAsNonRoot: false`.

use std::collections::BTreeMap;

use super::strategies::{SAFE_SYSCTLS, covers};
use super::{
    IdStrategy, PodSecurityPolicy, PspIdRange, PspMetadata, PspSeLinuxStrategy, RuntimeClass, Spec, Syscalls, entries,
};

/// Returns the policy that admits the pods of each of some usable policies.
pub fn merge(name: &str, policies: &[&PodSecurityPolicy]) -> PodSecurityPolicy {
    let all = Merged(policies);
    let mut annotations = BTreeMap::new();
    all.seccomp(&mut annotations);
    all.app_armor(&mut annotations);
    let metadata = PspMetadata { name: name.to_owned(), annotations };
    PodSecurityPolicy { metadata, spec: all.spec() }
}

/// The policies to merge.
struct Merged<'p>(&'p [&'p PodSecurityPolicy]);

impl<'p> Merged<'p> {
    fn specs(&self) -> impl Iterator<Item = &'p Spec> + Clone + use<'p> {
        self.0.iter().map(|policy| &policy.spec)
    }

    fn spec(&self) -> Spec {
        let any = |allows: fn(&Spec) -> bool| self.specs().any(allows);
        let allows_volume = |spec: &Spec, kind: &str| {
            entries(spec.volumes.as_ref()).iter().any(|allowed| allowed == kind || allowed == "*")
        };
        Spec {
            // A privileged container that must not escalate is invalid.
            privileged: any(|spec| spec.privileged && spec.allow_privilege_escalation),
            default_add_capabilities: self.in_each(|spec| &spec.default_add_capabilities),
            required_drop_capabilities: self.in_each(|spec| &spec.required_drop_capabilities),
            allowed_capabilities: some(self.allowed_capabilities()),
            volumes: some(star_alone(union(self.specs().map(|spec| entries(spec.volumes.as_ref()))))),
            host_network: any(|spec| spec.host_network),
            host_ports: some(union(self.specs().map(|spec| entries(spec.host_ports.as_ref())))),
            host_pid: any(|spec| spec.host_pid),
            host_ipc: any(|spec| spec.host_ipc),
            se_linux: self.se_linux(),
            run_as_user: users(self.specs().map(|spec| &spec.run_as_user)),
            run_as_group: self.specs().map(|spec| spec.run_as_group.as_ref()).collect::<Option<Vec<_>>>().map(groups),
            supplemental_groups: groups(self.specs().map(|spec| &spec.supplemental_groups).collect()),
            fs_group: groups(self.specs().map(|spec| &spec.fs_group).collect()),
            read_only_root_filesystem: self.specs().all(|spec| spec.read_only_root_filesystem),
            default_allow_privilege_escalation: self.common(|spec| spec.default_allow_privilege_escalation),
            allow_privilege_escalation: any(|spec| spec.allow_privilege_escalation),
            allowed_host_paths: self.names_of_volume(
                |spec| allows_volume(spec, "hostPath"),
                |spec| entries(spec.allowed_host_paths.as_ref()),
            ),
            allowed_flex_volumes: self.names_of_volume(
                |spec| allows_volume(spec, "flexVolume"),
                |spec| entries(spec.allowed_flex_volumes.as_ref()),
            ),
            allowed_csi_drivers: self
                .names_of_volume(|spec| allows_volume(spec, "csi"), |spec| entries(spec.allowed_csi_drivers.as_ref())),
            allowed_unsafe_sysctls: some(star_alone(union(
                self.specs().map(|spec| entries(spec.allowed_unsafe_sysctls.as_ref())),
            ))),
            forbidden_sysctls: some(self.forbidden_sysctls()),
            allowed_proc_mount_types: self.proc_mount_types(),
            runtime_class: self.runtime_class(),
        }
    }

    /// Returns the value that all policies have.
    fn common<T: PartialEq>(&self, value: impl Fn(&'p Spec) -> Option<T>) -> Option<T> {
        let first = self.specs().next().and_then(&value)?;
        self.specs().all(|spec| value(spec).as_ref() == Some(&first)).then_some(first)
    }

    /// Returns the entries that each policy has.
    fn in_each(&self, list: impl Fn(&'p Spec) -> &'p Vec<String>) -> Vec<String> {
        let first = self.specs().next().into_iter().flat_map(&list);
        first.filter(|name| self.specs().all(|spec| list(spec).contains(name))).cloned().collect()
    }

    /// Returns the allowed capabilities. A default of a policy is allowed as well.
    fn allowed_capabilities(&self) -> Vec<String> {
        let allowed = self.specs().map(|spec| entries(spec.allowed_capabilities.as_ref()));
        let added = self.specs().map(|spec| spec.default_add_capabilities.as_slice());
        let defaults = self.in_each(|spec| &spec.default_add_capabilities);
        let mut all = union(allowed.clone().chain(added));
        let is_allowed = |name: &String| allowed.clone().any(|allowed| allowed.contains(name));
        all.retain(|name| is_allowed(name) || !defaults.contains(name));
        star_alone(all)
    }

    /// Returns the names allowed to a kind of volume. An empty list of a policy that allows the kind allows all names.
    fn names_of_volume<T: Clone + PartialEq + 'p>(
        &self,
        allows: impl Fn(&Spec) -> bool,
        names: impl Fn(&'p Spec) -> &'p [T],
    ) -> Option<Vec<T>> {
        let lists: Vec<&[T]> = self.specs().filter(|spec| allows(spec)).map(names).collect();
        if lists.iter().any(|list| list.is_empty()) {
            return None;
        }
        some(union(lists.into_iter()))
    }

    /// Returns the forbidden kernel parameters: a pattern stays if no policy without it admits a parameter of the pattern.
    fn forbidden_sysctls(&self) -> Vec<String> {
        let admits = |spec: &Spec, pattern: &str| {
            let allowed = entries(spec.allowed_unsafe_sysctls.as_ref()).iter().map(String::as_str);
            let is_forbidden =
                entries(spec.forbidden_sysctls.as_ref()).iter().any(|forbidden| covers_all(forbidden, pattern));
            !is_forbidden && allowed.chain(SAFE_SYSCTLS).any(|allowed| overlap(allowed, pattern))
        };
        let mut all = union(self.specs().map(|spec| entries(spec.forbidden_sysctls.as_ref())));
        all.retain(|pattern| !self.specs().any(|spec| admits(spec, pattern)));
        star_alone(all)
    }

    /// Returns the ways to mount `/proc`. An absent list allows the default one.
    fn proc_mount_types(&self) -> Option<Vec<String>> {
        let default = ["Default".to_owned()];
        let lists = self.specs().map(|spec| entries(spec.allowed_proc_mount_types.as_ref()));
        if lists.clone().all(<[String]>::is_empty) {
            return None;
        }
        some(union(lists.map(|list| if list.is_empty() { &default } else { list })))
    }

    fn se_linux(&self) -> PspSeLinuxStrategy {
        let mut strategies = self.specs().map(|spec| &spec.se_linux);
        match strategies.next() {
            Some(first) if strategies.all(|other| other == first) => first.clone(),
            _ => PspSeLinuxStrategy { rule: "RunAsAny".to_owned(), se_linux_options: None },
        }
    }

    fn runtime_class(&self) -> Option<RuntimeClass> {
        let classes: Vec<&RuntimeClass> =
            self.specs().map(|spec| spec.runtime_class.as_ref()).collect::<Option<_>>()?;
        let default = |spec: &'p Spec| spec.runtime_class.as_ref()?.default_runtime_class_name.as_ref();
        let names = classes.into_iter().map(|classes| classes.allowed_runtime_class_names.as_slice());
        Some(RuntimeClass {
            allowed_runtime_class_names: star_alone(union(names)),
            default_runtime_class_name: self.common(default).cloned(),
        })
    }

    /// Adds the annotations for seccomp. A policy without names admits pods without a profile alone, and a policy with names admits
    /// no such pod: only `*` allows both, since the API server takes no empty name.
    fn seccomp(&self, annotations: &mut BTreeMap<String, String>) {
        let all: Vec<Syscalls<'_>> = self.0.iter().map(|policy| policy.seccomp()).collect();
        let is_silent = |profiles: &&Syscalls<'_>| profiles.names().all(str::is_empty);
        let mut names: Vec<&str> = Vec::new();
        for profiles in all.iter().filter(|profiles| !is_silent(profiles)) {
            add_names(&mut names, &profiles.names().collect::<Vec<_>>());
        }
        if names.contains(&"*") || !names.is_empty() && all.iter().any(|profiles| is_silent(&profiles)) {
            names = vec!["*"];
        }
        let allowed = (!names.is_empty()).then(|| names.join(","));
        let needs_default = !names.is_empty() && names != ["*"];
        add_syscalls("seccomp.security.alpha.kubernetes.io", allowed, default(&all, needs_default), annotations);
    }

    /// Adds the annotations for AppArmor. A policy without a list allows every profile; a list makes a profile mandatory.
    fn app_armor(&self, annotations: &mut BTreeMap<String, String>) {
        let all: Vec<Syscalls<'_>> = self.0.iter().map(|policy| policy.app_armor()).collect();
        let has_lists = all.iter().all(|profiles| profiles.allowed.is_some());
        let mut names: Vec<&str> = Vec::new();
        for profiles in &all {
            add_names(&mut names, &profiles.names().collect::<Vec<_>>());
        }
        let allowed = has_lists.then(|| names.join(","));
        add_syscalls("apparmor.security.beta.kubernetes.io", allowed, default(&all, has_lists), annotations);
    }
}

/// Returns a list that is absent if it has no entry.
fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

/// Returns the entries of some lists, each once.
fn union<'l, T: Clone + PartialEq + 'l>(lists: impl Iterator<Item = &'l [T]>) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    for entry in lists.flatten() {
        if !all.contains(entry) {
            all.push(entry.clone());
        }
    }
    all
}

/// Returns names without the others beside a star, as the API server requires of some lists (`pkg/apis/policy/validation` of 1.24).
fn star_alone(names: Vec<String>) -> Vec<String> {
    match names.iter().any(|name| name == "*") {
        true => vec!["*".to_owned()],
        false => names,
    }
}

/// Merges the strategies of user ids.
fn users<'p>(strategies: impl Iterator<Item = &'p IdStrategy>) -> IdStrategy {
    let all: Vec<&IdStrategy> = strategies.collect();
    let has_root = |strategy: &&IdStrategy| strategy.ranges.iter().any(|range| range.has(0));
    let is = |rule: &'static str| move |strategy: &&IdStrategy| strategy.rule == rule;
    if all.iter().all(is("MustRunAs")) {
        return with_ranges("MustRunAs", &all);
    }
    let is_without_root = all.iter().all(|strategy| match strategy.rule.as_str() {
        "MustRunAs" => !has_root(strategy),
        rule => rule == "MustRunAsNonRoot",
    });
    IdStrategy { rule: if is_without_root { "MustRunAsNonRoot" } else { "RunAsAny" }.to_owned(), ranges: Vec::new() }
}

/// Merges the strategies of groups.
fn groups(all: Vec<&IdStrategy>) -> IdStrategy {
    if all.iter().any(|strategy| strategy.rule == "RunAsAny") {
        return IdStrategy { rule: "RunAsAny".to_owned(), ranges: Vec::new() };
    }
    let is_required = all.iter().all(|strategy| strategy.rule == "MustRunAs");
    with_ranges(if is_required { "MustRunAs" } else { "MayRunAs" }, &all)
}

fn with_ranges(rule: &str, all: &[&IdStrategy]) -> IdStrategy {
    let ranges: Vec<PspIdRange> = union(all.iter().map(|strategy| strategy.ranges.as_slice()));
    IdStrategy { rule: rule.to_owned(), ranges }
}

/// Adds the names that a list lacks.
fn add_names<'p>(names: &mut Vec<&'p str>, more: &[&'p str]) {
    for name in more {
        if !names.contains(name) {
            names.push(name);
        }
    }
}

/// Returns the default that all policies have, or else a required default: the first one.
fn default<'p>(all: &[Syscalls<'p>], is_required: bool) -> Option<&'p str> {
    let first = all.first().and_then(|profiles| profiles.default);
    if all.iter().all(|profiles| profiles.default == first) {
        return first;
    }
    all.iter().find_map(|profiles| profiles.default).filter(|_| is_required)
}

fn add_syscalls(
    prefix: &str,
    allowed: Option<String>,
    default: Option<&str>,
    annotations: &mut BTreeMap<String, String>,
) {
    let entries = [("allowedProfileNames", allowed), ("defaultProfileName", default.map(str::to_owned))];
    for (name, value) in entries {
        annotations.extend(value.map(|value| (format!("{prefix}/{name}"), value)));
    }
}

/// Whether a pattern covers every name of another pattern.
fn covers_all(pattern: &str, other: &str) -> bool {
    match other.strip_suffix('*') {
        // A pattern without a star covers one name.
        Some(prefix) => pattern.strip_suffix('*').is_some_and(|own| prefix.starts_with(own)),
        None => covers(pattern, other),
    }
}

/// Whether two patterns have a name in common.
fn overlap(left: &str, right: &str) -> bool {
    match (left.strip_suffix('*'), right.strip_suffix('*')) {
        (Some(left), Some(right)) => left.starts_with(right) || right.starts_with(left),
        _ => covers(left, right) || covers(right, left),
    }
}

//! Kinds of volumes, and the limits of a policy on the volumes of a pod.

use super::strategies::Report;
use super::{AllowedHostPath, Spec, entries};
use crate::pod::{Pod, Projection, Volume, VolumeSource};
use bailiwick_kubernetes::{absent, volumes};

/// Returns the kind of a volume by its name in policies, and its source. The API server of 1.24 drops unknown sources,
/// and a volume without a source is an emptyDir.
fn kind_of(volume: &Volume) -> (&'static str, Option<&VolumeSource>) {
    let named = |(field, source)| Some((volumes::find(field)?.policy?, source));
    let known = volume.sources.iter().map(|(field, source)| (field.as_str(), source)).filter_map(named);
    match known.min_by_key(|(policy, _)| policy.rank) {
        Some((policy, source)) => (policy.name, Some(source)),
        None => ("emptyDir", None),
    }
}

/// Checks the volumes of a pod.
pub(super) fn check(spec: &Spec, pod: &Pod, report: &mut Report) {
    let allowed = entries(spec.volumes.as_ref());
    for (index, volume) in pod.spec.volumes.iter().enumerate() {
        let (kind, source) = kind_of(volume);
        let has = |wanted: &str| allowed.iter().any(|name| name == wanted);
        // Permission for secrets includes the token of service accounts, a secret in earlier versions.
        let is_token = || kind == "projected" && has("secret") && source.is_some_and(holds_only_a_token);
        if !has("*") && !has(kind) && !is_token() {
            report.add(format!("spec.volumes[{index}]"), format!("volumes of the kind `{kind}` are not allowed"));
            continue;
        }
        let driver = absent::text(source.and_then(|source| source.driver.as_deref()));
        match kind {
            "hostPath" => {
                let path = absent::text(source.and_then(|source| source.path.as_deref()));
                check_host_path(spec, pod, &HostPathVolume { index, name: &volume.name, path }, report);
            }
            "flexVolume" => {
                let drivers = entries(spec.allowed_flex_volumes.as_ref());
                if !drivers.is_empty() && !drivers.iter().any(|allowed| allowed.driver == driver) {
                    let message = format!("the flexVolume driver `{driver}` is not allowed");
                    report.add(format!("spec.volumes[{index}].driver"), message);
                }
            }
            "csi" => {
                let drivers = entries(spec.allowed_csi_drivers.as_ref());
                if !drivers.is_empty() && !drivers.iter().any(|allowed| allowed.name == driver) {
                    let message = format!("the inline CSI driver `{driver}` is not allowed");
                    report.add(format!("spec.volumes[{index}].csi.driver"), message);
                }
            }
            _ => {}
        }
    }
}

/// A hostPath volume of a pod.
struct HostPathVolume<'v> {
    index: usize,
    name: &'v str,
    path: &'v str,
}

fn check_host_path(spec: &Spec, pod: &Pod, volume: &HostPathVolume<'_>, report: &mut Report) {
    let HostPathVolume { index, name, path } = *volume;
    match path_access(entries(spec.allowed_host_paths.as_ref()), path) {
        None => {
            let message = format!("the path `{path}` is not allowed");
            report.add(format!("spec.volumes[{index}].hostPath.pathPrefix"), message);
        }
        Some(PathAccess::Write) => {}
        Some(PathAccess::Read) => {
            for (place, container) in super::admit::containers(pod) {
                for (index, mount) in container.volume_mounts.iter().enumerate() {
                    if mount.name == name && !mount.read_only {
                        let message = format!("must be read-only, as `{path}` is below a read-only path");
                        report.add(format!("{place}.volumeMounts[{index}].readOnly"), message);
                    }
                }
            }
        }
    }
}

/// How a path of the node may be mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathAccess {
    /// To be read.
    Read,
    /// To be written, too.
    Write,
}

/// Returns the access to a path under the host paths of a policy; none for a forbidden path. One writable prefix is
/// enough for write access.
///
/// The path is compared as it is written. `..` in it is the business of pod validation ([`super::validity`]).
pub fn path_access(allowed: &[AllowedHostPath], path: &str) -> Option<PathAccess> {
    if allowed.is_empty() {
        return Some(PathAccess::Write);
    }
    let mut matching = allowed.iter().filter(|allowed| is_below(path, &allowed.path_prefix)).peekable();
    matching.peek()?;
    Some(if matching.any(|allowed| !allowed.read_only) { PathAccess::Write } else { PathAccess::Read })
}

/// Whether a path equals a prefix or is below it, with no regard to one slash at either end.
pub(super) fn is_below(path: &str, prefix: &str) -> bool {
    let trim = |text: &str| match text.strip_suffix('/') {
        Some(trimmed) => trimmed.to_owned(),
        None => text.to_owned(),
    };
    trim(path).strip_prefix(&trim(prefix)).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether this is the projected volume of every pod: token, root certificate, namespace.
fn holds_only_a_token(source: &VolumeSource) -> bool {
    source.sources.iter().all(is_part_of_a_token)
}

fn is_part_of_a_token(part: &Projection) -> bool {
    let kind = |name: &str| part.kinds.get(name);
    let (token, config_map, downward) = (kind("serviceAccountToken"), kind("configMap"), kind("downwardAPI"));
    if token.is_none() && config_map.is_none() && downward.is_none() {
        return false;
    }
    let is_namespace = |item: &crate::pod::ProjectionItem| {
        item.path == "namespace"
            && item.field_ref.as_ref().is_some_and(|field| {
                matches!(field.api_version.as_str(), "" | "v1") && field.field_path == "metadata.namespace"
            })
    };
    token.is_none_or(|token| token.path == "token" && token.audience.is_empty())
        && config_map.is_none_or(|map| map.name == "kube-root-ca.crt")
        && downward.is_none_or(|downward| downward.items.iter().all(is_namespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_at_slashes() {
        for (path, prefix, expected) in [
            ("/data/project", "/data/project", true),
            ("/data/project/", "/data/project", true),
            ("/data/project/a", "/data/project/", true),
            ("/data/projects", "/data/project", false),
            ("/data", "/data/project", false),
            ("/etc", "/", true),
            ("/", "/", true),
            ("etc", "/", false),
            ("/data/project/../../etc", "/data/project", true),
        ] {
            assert_eq!(is_below(path, prefix), expected, "{path} {prefix}");
        }
    }

    #[test]
    fn one_prefix_to_be_written_is_enough() {
        let prefix = |path: &str, read_only| AllowedHostPath { path_prefix: path.to_owned(), read_only };
        let allowed = [prefix("/data", true), prefix("/data/project", false)];
        assert_eq!(path_access(&allowed, "/data/project/x"), Some(PathAccess::Write));
        assert_eq!(path_access(&allowed, "/data/x"), Some(PathAccess::Read));
        assert_eq!(path_access(&allowed, "/etc"), None);
        assert_eq!(path_access(&[], "/etc"), Some(PathAccess::Write));
    }
}

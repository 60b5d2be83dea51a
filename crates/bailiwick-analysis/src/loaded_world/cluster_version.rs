//! The version of the cluster of manifests.

use bailiwick_admission::scc::bootstrap;
use bailiwick_admission::scc::release::Release;
use bailiwick_codes as codes;
use bailiwick_kubernetes::catalogue::{FIRST_MINOR, LAST_MINOR};
use bailiwick_policy::model::{Platform, Version};
use bailiwick_yaml::diag::{Diagnostic, Sink};

/// The version of the cluster of manifests.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClusterVersion {
    /// The minor of Kubernetes with facts.
    pub(super) minor: u32,
    /// The release of OpenShift.
    pub(super) release: Option<Release>,
}

impl ClusterVersion {
    /// Returns the newest known version of a platform.
    fn newest(platform: Platform) -> Self {
        match platform {
            Platform::Kubernetes => Self { minor: LAST_MINOR, release: None },
            Platform::Openshift => Self { minor: Release::LAST.kubernetes_minor(), release: Some(Release::LAST) },
        }
    }

    /// Returns the version of a platform that an option names; without one, the newest known version.
    pub(super) fn of(platform: Platform, written: Option<&String>, sink: &mut Sink) -> Option<Self> {
        written.map_or_else(|| Some(Self::newest(platform)), |written| Self::read(platform, written, sink))
    }

    /// Returns the release of OpenShift on a version of Kubernetes.
    pub(super) fn on_openshift(self) -> Self {
        let mut releases =
            (bootstrap::FIRST.minor..=Release::LAST_OF_FOUR.minor).map(|minor| Release { major: 4, minor });
        let release = releases.rfind(|release| release.kubernetes_minor() <= self.minor);
        Self { release, ..self }
    }

    /// Reads a version of a platform. A version newer than every known one has the facts of the newest, with a warning.
    pub(super) fn read(platform: Platform, written: &str, sink: &mut Sink) -> Option<Self> {
        let is_known = |version: &Version| match version.release() {
            Some(release) => release >= bootstrap::FIRST,
            None => version.minor() >= FIRST_MINOR,
        };
        let version = Version::parse(platform, written).filter(is_known);
        match version.map(Version::warning) {
            Some(None) => {}
            Some(Some(warning)) => {
                // `--baseline` and `--kubernetes-version` may name the same version.
                if sink.diagnostics().iter().all(|known| known.message != warning.message) {
                    sink.push(warning);
                }
            }
            None => sink.push(unknown_version(platform, written)),
        }
        let minor = |version: Version| version.api().requested_minor().max(FIRST_MINOR);
        version.map(|version| Self { minor: minor(version), release: version.release() })
    }
}

fn unknown_version(platform: Platform, written: &str) -> Diagnostic {
    let (product, help) = match platform {
        Platform::Kubernetes => (
            "Kubernetes",
            format!(
                "name one from 1.{FIRST_MINOR} to 1.{LAST_MINOR}, `none`, or an existing file; --platform openshift has versions of OpenShift"
            ),
        ),
        Platform::Openshift => ("OpenShift", format!("name one from {} to {}", bootstrap::FIRST, Release::LAST)),
    };
    Diagnostic::error(codes::UNKNOWN_VERSION, format!("`{written}` is no version of {product} with known facts"))
        .help(help)
}

/// Returns the minor of a version of Kubernetes. One that is newer than every known minor is judged as the newest, with a warning.
pub fn version_of(written: &str, sink: &mut Sink) -> Option<u32> {
    ClusterVersion::read(Platform::Kubernetes, written, sink).map(|version| version.minor)
}

/// Returns the release of a version of OpenShift; the newest known release without a version.
pub fn release_of(written: Option<&String>, sink: &mut Sink) -> Option<Release> {
    ClusterVersion::of(Platform::Openshift, written, sink).and_then(|version| version.release)
}

//! The platforms of a release, and the packages of each with their names.

use std::fmt;
use std::io;

use clap::ValueEnum;

/// A platform that releases have programs for. Windows is not among them: the program reads folders by the calls of POSIX.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Platform {
    /// The target triple of Rust.
    pub(crate) target: &'static str,
    /// The operating system as Go, OCI images and krew name it.
    pub(crate) os: &'static str,
    /// The architecture as Go, OCI images, krew and Debian name it.
    pub(crate) architecture: &'static str,
    /// The platform tags of a wheel. A static program needs no version of glibc, and Rust 1.64 needs the kernel of `manylinux2014`. maturin
    /// has no tag of musl for a target of glibc, so that pip on Alpine does not take the wheel.
    pub(crate) wheel: &'static str,
    /// The oldest macOS for the linker; empty for Linux.
    pub(crate) oldest_macos: &'static str,
}

impl Platform {
    /// The platforms, sorted by the target triple.
    pub(crate) const ALL: &'static [Self] = &[
        Self {
            target: "aarch64-apple-darwin",
            os: "darwin",
            architecture: "arm64",
            wheel: "macosx_11_0_arm64",
            oldest_macos: "11.0",
        },
        Self {
            target: "aarch64-unknown-linux-gnu",
            os: "linux",
            architecture: "arm64",
            wheel: "manylinux2014_aarch64.manylinux_2_17_aarch64",
            oldest_macos: "",
        },
        Self {
            target: "x86_64-apple-darwin",
            os: "darwin",
            architecture: "amd64",
            wheel: "macosx_10_12_x86_64",
            oldest_macos: "10.12",
        },
        Self {
            target: "x86_64-unknown-linux-gnu",
            os: "linux",
            architecture: "amd64",
            wheel: "manylinux2014_x86_64.manylinux_2_17_x86_64",
            oldest_macos: "",
        },
    ];

    /// Returns the platform of a target triple.
    pub(crate) fn of(target: &str) -> io::Result<&'static Self> {
        let known = Self::ALL.iter().map(|platform| platform.target).collect::<Vec<_>>().join(", ");
        let found = Self::ALL.iter().find(|platform| platform.target == target);
        found.ok_or_else(|| io::Error::other(format!("there are no packages for `{target}`, only for {known}")))
    }

    /// Whether the programs of the platform need no library of the system.
    pub(crate) fn is_static(&self) -> bool {
        self.os == "linux"
    }
}

/// A file of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Package {
    /// The program with its completions and man pages
    Archive,
    /// The package of Debian
    Deb,
    /// The layout of an OCI image in a tar file
    Image,
    /// The bill of materials in the form of CycloneDX
    Sbom,
    /// The package of Python
    Wheel,
    /// The plugin manifest of krew
    Krew,
    /// The formula of Homebrew
    Homebrew,
}

impl Package {
    /// The packages. The archive is before the manifests, which have its checksum.
    pub(crate) const ALL: [Self; 7] =
        [Self::Archive, Self::Deb, Self::Image, Self::Sbom, Self::Wheel, Self::Krew, Self::Homebrew];

    /// Whether there is such a package for the platform.
    pub(crate) fn is_for(self, platform: &Platform) -> bool {
        platform.os == "linux" || !matches!(self, Self::Deb | Self::Image)
    }

    /// Returns the name of a file that lists the archives of several platforms.
    pub(crate) fn manifest_name(self) -> Option<&'static str> {
        match self {
            Self::Krew => Some("bailiwick.krew.yaml"),
            Self::Homebrew => Some("bailiwick.rb"),
            Self::Archive | Self::Deb | Self::Image | Self::Sbom | Self::Wheel => None,
        }
    }

    /// Returns the name of the file.
    pub(crate) fn file_name(self, platform: &Platform, version: &str) -> String {
        let Platform { target, architecture, wheel, .. } = platform;
        match self {
            Self::Archive => format!("bailiwick-{version}-{target}.tar.gz"),
            Self::Deb => format!("bailiwick_{version}-1_{architecture}.deb"),
            Self::Image => format!("bailiwick-{version}-{target}.oci.tar"),
            Self::Sbom => format!("bailiwick-{version}-{target}.cdx.json"),
            Self::Wheel => format!("bailiwick-{version}-py3-none-{wheel}.whl"),
            Self::Krew | Self::Homebrew => self.manifest_name().into_iter().collect(),
        }
    }
}

impl fmt::Display for Package {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        formatter.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

//! `cargo xtask dist`: the packages of a release.
//!
//! The same commit and the same toolchain give the same bytes: entries are sorted, each entry has the time of the commit, and the program has
//! no path of the machine. The task reads files of the repository by [`source`] alone, and refuses links among them. Beside them it reads
//! the licences of crates where Cargo has unpacked the crates. It publishes nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod archive;
mod contents;
mod deb;
mod graph;
mod image;
mod licences;
mod manifests;
mod package;
mod program;
mod release;
mod sbom;
mod source;
mod sums;
mod tools;
mod wheel;

use graph::Graph;
use package::{Package, Platform};
use release::Release;

/// Build the program for publication, and pack it
///
/// Empties target/dist-files, and writes the packages of a target and SHA256SUMS there. The packages are an archive with completions and
/// man pages, a Debian package, an image as an OCI layout in a tar file, a wheel, and a CycloneDX bill of materials. With --repository
/// there are manifests for krew and Homebrew. Entries have the time of SOURCE_DATE_EPOCH, or of the last commit. Ends with 0 on success, 3
/// when a step fails.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Target triple to build for; the machine's own by default
    #[arg(long, conflicts_with = "collect")]
    target: Option<String>,
    /// Build profile; `dist` is the published one
    #[arg(long, default_value = "dist", conflicts_with_all = ["collect", "program"])]
    profile: String,
    /// Packages to write, separated by commas; all by default
    #[arg(long, value_delimiter = ',', conflicts_with = "collect")]
    only: Vec<Package>,
    /// Pack this program and build none; for tests of the packages. There is no wheel of such a program
    #[arg(long, conflicts_with = "collect")]
    program: Option<PathBuf>,
    /// Address of the repository at its forge, for the addresses of the release in the manifests, the image and the program
    #[arg(long)]
    repository: Option<String>,
    /// Write the manifests and SHA256SUMS for the packages of all targets, which are in target/dist-files; build nothing
    #[arg(long, requires = "repository")]
    collect: bool,
}

/// Writes the packages.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> io::Result<ExitCode> {
    let release = Release::new(root, arguments.repository.clone())?;
    let written = if arguments.collect { collect(&release)? } else { pack(&release, arguments)? };
    for line in sums::write(&release.folder, written)? {
        println!("{line}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds the program for one target, writes its packages, and returns their names.
fn pack(release: &Release, arguments: &Arguments) -> io::Result<Vec<String>> {
    let platform = match &arguments.target {
        Some(target) => Platform::of(target)?,
        None => Platform::of(&program::host()?)?,
    };
    let packages = chosen(release, platform, arguments)?;
    tools::check(&packages)?;
    let graph = Graph::read(release, platform)?;
    let build = program::Build { release, platform, profile: &arguments.profile, hidden: graph.folders() };
    let program = match &arguments.program {
        Some(program) => program.clone(),
        None => build.run()?,
    };
    empty(&release.folder)?;
    empty(&release.stage)?;
    let runs_here = arguments.program.is_some() || platform.target == program::host()?;
    let contents = contents::gather(release, &program, runs_here, licences::text(&graph)?)?;
    contents::stage(&contents, &release.stage)?;
    let mut written = Vec::new();
    for package in packages {
        let name = package.file_name(platform, &release.version);
        let bytes = match package {
            Package::Archive => archive::gzipped(&contents, release.time)?,
            Package::Deb => deb::build(release, platform, arguments.program.is_some())?,
            Package::Image => image::build(release, platform, &contents)?,
            Package::Sbom => sbom::build(release, &graph, &contents)?,
            Package::Wheel => wheel::build(&build, &name)?,
            Package::Krew | Package::Homebrew => manifests::fill(release, package, &[platform])?,
        };
        fs::write(release.folder.join(&name), bytes)?;
        written.push(name);
    }
    Ok(written)
}

/// Returns the packages to write: the archive is before the manifests with its checksum.
///
/// # Errors
/// When the arguments ask for a package of another platform, for a wheel of a given program, or for a manifest without an address.
fn chosen(release: &Release, platform: &Platform, arguments: &Arguments) -> io::Result<Vec<Package>> {
    let obstacle = |package: Package| match package {
        Package::Wheel if arguments.program.is_some() => Some("maturin builds its program itself"),
        Package::Krew | Package::Homebrew if release.repository.is_none() => Some("its addresses need `--repository`"),
        _ if !package.is_for(platform) => Some("it is for Linux"),
        _ => None,
    };
    let mut packages = Vec::new();
    for package in Package::ALL {
        let asked = arguments.only.contains(&package);
        match obstacle(package) {
            Some(reason) if asked => return Err(io::Error::other(format!("there is no `{package}`: {reason}"))),
            Some(reason) if arguments.only.is_empty() => println!("no `{package}`: {reason}"),
            None if asked || arguments.only.is_empty() => packages.push(package),
            _ => {}
        }
    }
    if packages.iter().any(|package| package.manifest_name().is_some()) && !packages.contains(&Package::Archive) {
        return Err(io::Error::other("a manifest has the checksum of the archive: add `archive` to `--only`"));
    }
    Ok(packages)
}

/// Writes the manifests for all platforms, and returns the names of all files of the release.
///
/// # Errors
/// When a package of a platform is missing, or another file is in the folder.
fn collect(release: &Release) -> io::Result<Vec<String>> {
    let mut expected: Vec<String> = Vec::new();
    for platform in Platform::ALL {
        let is_built = |package: &Package| package.manifest_name().is_none() && package.is_for(platform);
        let packages = Package::ALL.into_iter().filter(is_built);
        expected.extend(packages.map(|package| package.file_name(platform, &release.version)));
    }
    expected.sort();
    let found = sums::files(&release.folder)?;
    for name in &expected {
        if !found.contains(name) {
            return Err(io::Error::other(format!("`{name}` is missing in {}", release.folder.display())));
        }
    }
    let platforms: Vec<&Platform> = Platform::ALL.iter().collect();
    for package in Package::ALL {
        if let Some(name) = package.manifest_name() {
            fs::write(release.folder.join(name), manifests::fill(release, package, &platforms)?)?;
            expected.push(name.to_owned());
        }
    }
    let strange = found.iter().find(|name| !expected.contains(name) && *name != sums::NAME);
    match strange {
        Some(name) => Err(io::Error::other(format!("`{name}` is no file of the release {}", release.version))),
        None => Ok(expected),
    }
}

/// Makes a folder empty.
fn empty(folder: &Path) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_every_package_and_no_other_file() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = std::env::temp_dir().join(format!("bailiwick-release-{}", std::process::id()));
        empty(&folder).expect("a folder");
        let repository = Some("https://git.example.org/bailiwick".to_owned());
        let (version, stage) = ("0.1.0".to_owned(), folder.join("none"));
        let release = Release { root, version, time: 0, repository, folder: folder.clone(), stage };
        let write = |name: &str| fs::write(folder.join(name), name).expect("a file");
        let collected = || {
            let lines = collect(&release).and_then(|names| sums::write(&folder, names));
            lines.map_err(|error| error.to_string())
        };
        for platform in Platform::ALL {
            for package in Package::ALL {
                if package.manifest_name().is_none() && package.is_for(platform) {
                    write(&package.file_name(platform, &release.version));
                }
            }
        }
        // Five packages of each Linux, three of each macOS, and two manifests.
        let lines = collected().expect("a release");
        assert_eq!(lines.len(), 18);
        assert_eq!(collected().expect("the same release"), lines);
        let formula = fs::read_to_string(folder.join("bailiwick.rb")).expect("a formula");
        let sum = sums::checksum(&folder, "bailiwick-0.1.0-aarch64-apple-darwin.tar.gz").expect("a checksum");
        assert!(formula.contains(&sum));

        write("bailiwick-0.0.9-x86_64-apple-darwin.tar.gz");
        let error = collected().expect_err("a strange file");
        assert_eq!(error, "`bailiwick-0.0.9-x86_64-apple-darwin.tar.gz` is no file of the release 0.1.0");
        fs::remove_file(folder.join("bailiwick-0.0.9-x86_64-apple-darwin.tar.gz")).expect("a file");
        fs::remove_file(folder.join("bailiwick_0.1.0-1_arm64.deb")).expect("a file");
        let error = collected().expect_err("a missing file");
        assert!(error.starts_with("`bailiwick_0.1.0-1_arm64.deb` is missing in "), "{error}");
        fs::create_dir(folder.join("bailiwick_0.1.0-1_arm64.deb")).expect("a folder");
        let error = collected().expect_err("a folder");
        assert!(error.starts_with("`bailiwick_0.1.0-1_arm64.deb` in "), "{error}");
        fs::remove_dir_all(&folder).expect("the folder");
    }
}

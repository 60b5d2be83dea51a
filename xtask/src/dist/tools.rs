//! The programs of others that make packages, each with the version that makes the same bytes everywhere.

use std::io;
use std::process::Command;

use super::package::Package;
use super::source::succeeded;

/// A program that makes a package.
#[derive(Debug)]
struct Tool {
    package: Package,
    name: &'static str,
    version: &'static str,
    install: &'static str,
}

const TOOLS: [Tool; 2] = [
    Tool {
        package: Package::Deb,
        name: "cargo-deb",
        version: "3.8.0",
        install: "cargo install cargo-deb --version 3.8.0 --locked",
    },
    Tool { package: Package::Wheel, name: "maturin", version: "1.16.0", install: "pip install maturin==1.16.0" },
];

/// Checks the tools of the packages before anything is built.
///
/// # Errors
/// When a tool is missing or has another version; the error has the command that installs it.
pub(crate) fn check(packages: &[Package]) -> io::Result<()> {
    let problems: Vec<String> =
        TOOLS.iter().filter(|tool| packages.contains(&tool.package)).filter_map(Tool::problem).collect();
    if problems.is_empty() { Ok(()) } else { Err(io::Error::other(problems.join("\n"))) }
}

impl Tool {
    fn problem(&self) -> Option<String> {
        let Self { package, name, version, install, .. } = self;
        let found = match succeeded(Command::new(name).arg("--version")) {
            Err(_) => "not installed".to_owned(),
            Ok(output) => {
                // The version is the last word.
                let output = String::from_utf8_lossy(&output).into_owned();
                let found = output.split_whitespace().last().map_or_else(String::new, str::to_owned);
                if found == *version {
                    return None;
                }
                format!("version {found}")
            }
        };
        Some(format!(
            "`{package}` needs {name} {version}, which is {found}: `{install}`, or leave it out with `--only`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::TOOLS;

    #[test]
    fn the_workflow_installs_the_tools() {
        let workflow = include_str!("../../../.github/workflows/release.yml");
        let settings = include_str!("../../../packaging/wheel/pyproject.toml");
        for tool in TOOLS {
            assert!(workflow.contains(tool.install), "{}", tool.install);
            assert!(tool.install.contains(tool.version), "{}", tool.install);
            assert!(tool.name != "maturin" || settings.contains(&format!("maturin=={}", tool.version)));
        }
    }
}

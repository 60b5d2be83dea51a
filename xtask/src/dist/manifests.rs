//! The manifests for krew and Homebrew, filled from the templates in `packaging/`.
//!
//! A template has `@NAME@` where a text is filled in, and `@IF TARGET@` and `@END@` around lines for one platform.

use std::io;

use super::package::{Package, Platform};
use super::release::Release;
use super::source::read_text;
use super::sums;

/// Returns a manifest with the archives of the platforms, which are in the folder of the release.
pub(crate) fn fill(release: &Release, package: Package, platforms: &[&Platform]) -> io::Result<Vec<u8>> {
    let template = match package {
        Package::Krew => "packaging/krew/bailiwick.yaml",
        _ => "packaging/homebrew/bailiwick.rb",
    };
    let Some(repository) = &release.repository else {
        return Err(io::Error::other(format!("`{package}` needs `--repository`")));
    };
    let mut values =
        vec![("VERSION".to_owned(), release.version.clone()), ("REPOSITORY".to_owned(), repository.clone())];
    let mut targets = Vec::new();
    for platform in platforms {
        let checksum = sums::checksum(&release.folder, &Package::Archive.file_name(platform, &release.version))?;
        values.push((format!("SHA256 {}", platform.target), checksum));
        values.extend(release.address(Package::Archive, platform).map(|it| (format!("URL {}", platform.target), it)));
        targets.push(platform.target);
    }
    filled(&read_text(&release.root, template)?, &targets, &values).map(String::into_bytes)
}

/// Returns a template with its values and the lines of these targets.
///
/// # Errors
/// When a place of the template has no value.
fn filled(template: &str, targets: &[&str], values: &[(String, String)]) -> io::Result<String> {
    let mut text = String::new();
    let mut is_left_out = false;
    for line in template.lines() {
        match line.trim().strip_prefix("@IF ").and_then(|rest| rest.strip_suffix('@')) {
            Some(target) => is_left_out = !targets.contains(&target),
            None if line.trim() == "@END@" => is_left_out = false,
            None if is_left_out => {}
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    for (name, value) in values {
        text = text.replace(&format!("@{name}@"), value);
    }
    match text.lines().find(|line| line.contains('@')) {
        Some(line) => Err(io::Error::other(format!("`{}` of a template has no value", line.trim()))),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "v@VERSION@\n  @IF one@\nurl @URL one@\n  @END@\n@IF two@\nurl @URL two@\n@END@\nend\n";

    #[test]
    fn the_lines_of_other_targets_are_left_out() {
        let values = [("VERSION".to_owned(), "1".to_owned()), ("URL two".to_owned(), "https://two".to_owned())];
        assert_eq!(filled(TEMPLATE, &["two"], &values).expect("a text"), "v1\nurl https://two\nend\n");
        assert_eq!(filled(TEMPLATE, &[], &values).expect("a text"), "v1\nend\n");
        let error = filled(TEMPLATE, &["one"], &values).expect_err("no value");
        assert_eq!(error.to_string(), "`url @URL one@` of a template has no value");
    }
}

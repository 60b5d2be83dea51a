//! The values that all packages of a release share.

use std::io;
use std::path::{Path, PathBuf};

use super::package::{Package, Platform};
use super::source;

/// A version of the program at a commit, with the folders of its packages.
#[derive(Debug)]
pub(crate) struct Release {
    /// The root of the repository.
    pub(crate) root: PathBuf,
    /// Three numbers. The names of packages need no other form.
    pub(crate) version: String,
    /// The time of every entry, in seconds since 1970.
    pub(crate) time: u64,
    /// The address of the repository at its forge, without a `/` at its end.
    pub(crate) repository: Option<String>,
    /// The folder for the packages.
    pub(crate) folder: PathBuf,
    /// The folder with the contents of the packages, for the tools that make packages.
    pub(crate) stage: PathBuf,
}

impl Release {
    /// Returns the release of a checkout.
    ///
    /// # Errors
    /// When the version has another form than three numbers, the address is not HTTPS, or the time of the source is not known.
    pub(crate) fn new(root: &Path, repository: Option<String>) -> io::Result<Self> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        if !is_release(&version) {
            return Err(io::Error::other(format!("`{version}` is no version of a release, such as 0.1.0")));
        }
        let repository = repository.map(|address| address.trim_end_matches('/').to_owned());
        if let Some(address) = repository.as_ref().filter(|address| !is_address(address)) {
            return Err(io::Error::other(format!(
                "`{address}` is no address such as https://git.example.org/bailiwick"
            )));
        }
        let target = root.join("target");
        let time = source::time(root)?;
        let (folder, stage) = (target.join("dist-files"), target.join("dist-stage"));
        Ok(Self { root: root.to_owned(), version, time, repository, folder, stage })
    }

    /// Returns the address of a package at the forge.
    pub(crate) fn address(&self, package: Package, platform: &Platform) -> Option<String> {
        let repository = self.repository.as_ref()?;
        let (version, file) = (&self.version, package.file_name(platform, &self.version));
        Some(format!("{repository}/releases/download/v{version}/{file}"))
    }

    /// Returns the time in the form of RFC 3339.
    pub(crate) fn timestamp(&self) -> String {
        timestamp(self.time)
    }
}

/// Whether a version has three numbers.
pub(crate) fn is_release(version: &str) -> bool {
    let numbers: Vec<&str> = version.split('.').collect();
    numbers.len() == 3 && numbers.iter().all(|number| number.parse::<u32>().is_ok_and(|n| n.to_string() == **number))
}

/// Whether a text is an address without characters that YAML, Ruby or JSON escape.
fn is_address(text: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-._~/".contains(character);
    text.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && rest.chars().all(plain))
}

/// Returns a time in seconds since 1970 in the form of RFC 3339. The days are counted from the 1st of March of the year 0, so that a leap
/// day is the last day of its year.
fn timestamp(time: u64) -> String {
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let days = time / 86_400 + DAYS_TO_1970;
    let day_of_era = days % DAYS_OF_400_YEARS;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = days / DAYS_OF_400_YEARS * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (time / 3_600 % 24, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_form_of_rfc_3339() {
        let expected = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (time, text) in expected {
            assert_eq!(timestamp(time), text);
        }
    }

    #[test]
    fn versions_and_addresses_have_one_form() {
        for version in ["0.1", "0.1.0-rc.1", "v0.1.0", "0.01.0", "0.1.0.0", ""] {
            assert!(!is_release(version), "{version}");
        }
        assert!(is_release("10.0.3"));
        for address in ["http://git.example.org/b", "https://", "https://a.example/b\"", "https://a.example/#{x}"] {
            assert!(!is_address(address), "{address}");
        }
        assert!(is_address("https://git.example.org/a/bailiwick"));
    }
}

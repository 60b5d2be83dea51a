//! Files for CI: the parts of a workspace side by side, their merge, the AccessTests, and one pull request with the output.

/// The most parts: so many jobs a matrix of GitHub may have.
pub(super) const MAXIMUM_PARTS: u16 = 256;

/// Each file by its path, with `@NAME@` where something is filled in.
const FILES: &[(&str, &str)] = &[
    (".github/workflows/bailiwick.yml", include_str!("workflow.yml")),
    ("ci/bailiwick-job.yaml", include_str!("job.yaml")),
];

/// An archive with the program, for the jobs of the workflow. A text that is not known is empty, and the jobs fail until
/// it is filled in.
#[derive(Debug, Clone)]
pub(super) struct Program {
    /// The address of the archive.
    pub(super) url: String,
    /// The SHA-256 of the archive in hexadecimal digits.
    pub(super) sha256: String,
}

/// Returns the files for so many parts: a workflow of GitHub Actions, and Jobs of Kubernetes.
pub(super) fn files(parts: u16, program: &Program) -> Vec<(String, String)> {
    let numbers: Vec<String> = (1..=parts).map(|number| number.to_string()).collect();
    let filled = |text: &str| {
        text.replace("@PARTS@", &parts.to_string())
            .replace("@NUMBERS@", &numbers.join(", "))
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
            .replace("@URL@", &program.url)
            .replace("@SHA256@", &program.sha256)
    };
    FILES.iter().map(|(path, text)| ((*path).to_owned(), filled(text))).collect()
}

/// An option about the program that the files cannot contain.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProgramError {
    #[error("give an address that begins with `https://`, without `@`, quotes and blanks")]
    Url,
    #[error("give 64 hexadecimal digits")]
    Sha256,
}

/// Reads an address that can stand between quotes.
pub(super) fn url(text: &str) -> Result<String, ProgramError> {
    let is_plain = |letter: char| letter.is_ascii_graphic() && !matches!(letter, '"' | '\\' | '@');
    if text.starts_with("https://") && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err(ProgramError::Url)
    }
}

/// Reads a SHA-256.
pub(super) fn sha256(text: &str) -> Result<String, ProgramError> {
    if text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(ProgramError::Sha256)
    }
}

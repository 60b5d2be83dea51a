//! What CI runs: the parts of a workspace side by side, their merge, and one pull request with the output.

/// The most parts: so many jobs a matrix of GitHub may have.
pub(super) const MAXIMUM_PARTS: u16 = 256;

/// Each file by its path, with `@NAME@` where something is filled in.
const FILES: &[(&str, &str)] = &[
    (".github/workflows/bailiwick.yml", include_str!("workflow.yml")),
    ("ci/bailiwick-job.yaml", include_str!("job.yaml")),
];

/// The files for so many parts: a workflow of GitHub Actions, and Jobs of Kubernetes.
pub(super) fn files(parts: u16) -> Vec<(String, String)> {
    let numbers: Vec<String> = (1..=parts).map(|number| number.to_string()).collect();
    let filled = |text: &str| {
        text.replace("@PARTS@", &parts.to_string())
            .replace("@NUMBERS@", &numbers.join(", "))
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
    };
    FILES.iter().map(|(path, text)| ((*path).to_owned(), filled(text))).collect()
}

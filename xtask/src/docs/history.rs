//! The recorded figures of the releases: `benches/history/VERSION.json`, as `benches/README.md` describes them.
//!
//! The files come from a repository, so every text and number has a limit, and an unknown field is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;

/// The folder of the files.
const FOLDER: &str = "benches/history";
/// The version of the form.
const SCHEMA_VERSION: u32 = 1;
/// The most bytes of a file.
const MOST_BYTES: u64 = 1 << 20;
/// The most bytes of a text.
const MOST_TEXT: usize = 1000;
/// The largest number, in any unit.
const MOST_VALUE: f64 = 1e12;
/// The size of the workloads of a record.
const FULL: &str = "full";

/// The figures of a release.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Run {
    schema_version: u32,
    pub(super) product: Product,
    /// The day of the run, such as 2026-11-27.
    pub(super) date: String,
    /// The size of the workloads: `full` or `quick`.
    size: String,
    pub(super) note: Option<String>,
    pub(super) machine: Machine,
    pub(super) figures: Vec<Figure>,
}

/// The measured program.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Product {
    name: String,
    pub(super) version: String,
    pub(super) commit: Option<String>,
}

/// The machine of a run.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Machine {
    pub(super) processor: String,
    pub(super) cores: u32,
    #[serde(rename = "memoryGiB")]
    pub(super) memory_gib: u32,
    pub(super) kernel: String,
    pub(super) file_system: String,
    /// The load before the first workload.
    pub(super) load: f64,
    pub(super) rustc: String,
    /// The versions of the other programs.
    pub(super) peers: BTreeMap<String, String>,
}

/// A measured value with its target.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Figure {
    pub(super) key: String,
    pub(super) work: String,
    pub(super) against: Option<String>,
    pub(super) value: f64,
    pub(super) unit: Unit,
    pub(super) runs: Runs,
    pub(super) target: Target,
    pub(super) verdict: Verdict,
}

/// The unit of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Unit {
    #[serde(rename = "ratio")]
    Ratio,
    /// A part of one, printed in percent.
    #[serde(rename = "share")]
    Share,
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "min")]
    Minutes,
    MiB,
    #[serde(rename = "characters")]
    Characters,
}

impl Unit {
    /// Formats a value.
    pub(super) fn format(self, value: f64) -> String {
        let number = rounded(value);
        match self {
            Self::Ratio => number,
            Self::Share => format!("{} %", rounded(100.0 * value)),
            Self::Seconds => format!("{number} s"),
            Self::Minutes => format!("{number} min"),
            Self::MiB => format!("{number} MiB"),
            Self::Characters => format!("{number} characters"),
        }
    }
}

/// Returns a number with three significant digits, or without a fraction.
fn rounded(value: f64) -> String {
    let decimals = [(100.0, 0), (10.0, 1), (1.0, 2), (0.1, 3)].into_iter().find(|(least, _)| value.abs() >= *least);
    let decimals = decimals.map_or(4, |(_, decimals)| decimals);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The values of single runs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Runs {
    pub(super) count: u32,
    pub(super) least: f64,
    pub(super) median: f64,
    pub(super) most: f64,
}

/// The promise for a value.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Target {
    pub(super) text: String,
    pub(super) bound: f64,
    /// Whether the bound is the least value and not the most.
    pub(super) reach: bool,
}

/// Whether a value keeps its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Verdict {
    Kept,
    Missed,
}

/// Reads the files of the history, the oldest first.
///
/// # Errors
/// When a file cannot be read or is malformed; the text names the file and the reason.
pub(super) fn read(root: &Path) -> io::Result<Vec<Run>> {
    let folder = root.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut runs = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let run = read_file(&path)?;
        let fault = |reason: String| io::Error::other(format!("{}: {reason}", path.display()));
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if path.extension().is_none_or(|extension| extension != "json") || stem != Some(&run.product.version) {
            return Err(fault(format!("the name of the file is not `{}.json`", run.product.version)));
        }
        if run.size != FULL {
            return Err(fault(format!("the workloads are `{}`, and a record has `{FULL}` ones", run.size)));
        }
        runs.push(run);
    }
    runs.sort_by(|one, other| (&one.date, &one.product.version).cmp(&(&other.date, &other.product.version)));
    Ok(runs)
}

/// Reads the figures of a run.
///
/// # Errors
/// As `read`.
pub(super) fn read_file(path: &Path) -> io::Result<Run> {
    let fault = |reason: String| io::Error::other(format!("{}: {reason}", path.display()));
    let metadata = fs::symlink_metadata(path).map_err(|error| fault(error.to_string()))?;
    if !metadata.is_file() {
        return Err(fault("not a file".to_owned()));
    }
    if metadata.len() > MOST_BYTES {
        return Err(fault(format!("{} bytes, more than {MOST_BYTES}", metadata.len())));
    }
    let text = fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
    parse(&text).map_err(|reason| fault(reason.to_string()))
}

/// Parses the text of a file, and checks its values. The error is the reason.
fn parse(text: &str) -> io::Result<Run> {
    let run: Run = serde_json::from_str(text)?;
    if run.schema_version != SCHEMA_VERSION {
        return Err(io::Error::other(format!("`schemaVersion` is {}, not {SCHEMA_VERSION}", run.schema_version)));
    }
    if run.product.name != "bailiwick" {
        return Err(io::Error::other("`product` is another program"));
    }
    let is_version = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-+".contains(&byte));
    if run.product.version.is_empty() || !is_version(&run.product.version) {
        return Err(io::Error::other("`version` is no version"));
    }
    let is_commit = |text: &String| text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !run.product.commit.iter().all(is_commit) {
        return Err(io::Error::other("`commit` is not 40 hexadecimal digits"));
    }
    if !is_date(&run.date) {
        return Err(io::Error::other("`date` is not of the form 2026-11-27"));
    }
    let machine = &run.machine;
    let mut texts =
        vec![&machine.processor, &machine.kernel, &machine.file_system, &machine.rustc, &run.product.version];
    texts.extend(machine.peers.iter().flat_map(|(name, version)| [name, version]));
    texts.extend(&run.note);
    check_texts(&texts)?;
    check_numbers(&[machine.load])?;
    let mut keys = BTreeSet::new();
    for figure in &run.figures {
        figure.check()?;
        if !keys.insert(&figure.key) {
            return Err(io::Error::other(format!("the figure `{}` is there twice", figure.key)));
        }
    }
    Ok(run)
}

impl Figure {
    fn check(&self) -> io::Result<()> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b" ,-".contains(&byte);
        if !self.key.starts_with(|letter: char| letter.is_ascii_lowercase()) || !self.key.bytes().all(is_plain) {
            return Err(io::Error::other(format!(
                "the key `{}` of a figure has other characters than a-z, 0-9, space, `,` and `-`",
                self.key
            )));
        }
        let mut texts = vec![&self.key, &self.work, &self.target.text];
        texts.extend(&self.against);
        let checked = check_texts(&texts).and_then(|()| self.check_values());
        checked.map_err(|reason| io::Error::other(format!("figure `{}`: {reason}", self.key)))
    }

    fn check_values(&self) -> io::Result<()> {
        let runs = &self.runs;
        check_numbers(&[self.value, runs.least, runs.median, runs.most, self.target.bound])?;
        if runs.count == 0 || runs.least > runs.median || runs.median > runs.most {
            return Err(io::Error::other("the runs are not in order"));
        }
        let is_kept = if self.target.reach { self.value >= self.target.bound } else { self.value <= self.target.bound };
        if is_kept != (self.verdict == Verdict::Kept) {
            return Err(io::Error::other("the value and the bound have another verdict"));
        }
        Ok(())
    }
}

fn check_texts(texts: &[&String]) -> io::Result<()> {
    match texts.iter().find(|text| text.len() > MOST_TEXT) {
        Some(text) => Err(io::Error::other(format!("a text of {} bytes, more than {MOST_TEXT}", text.len()))),
        None => Ok(()),
    }
}

fn check_numbers(numbers: &[f64]) -> io::Result<()> {
    match numbers.iter().find(|number| number.abs() > MOST_VALUE) {
        Some(number) => Err(io::Error::other(format!("the number {number:e} is too large"))),
        None => Ok(()),
    }
}

/// Whether a text is four digits, two and two with `-` between.
fn is_date(text: &str) -> bool {
    let is_right =
        |(place, byte): (usize, u8)| if matches!(place, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    text.len() == 10 && text.bytes().enumerate().all(is_right)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A run with one figure.
    pub(in crate::docs) fn run() -> Value {
        json!({
            "schemaVersion": 1,
            "product": {"name": "bailiwick", "version": "0.1.0", "commit": "0123456789012345678901234567890123456789"},
            "date": "2026-11-27",
            "size": "full",
            "note": null,
            "machine": {
                "processor": "A processor", "cores": 2, "memoryGiB": 24, "kernel": "Linux 6.18", "fileSystem": "ext4", "load": 0.1,
                "rustc": "rustc 1.95.0", "peers": {"git": "git version 2.39.5"}
            },
            "figures": [{
                "key": "tree", "work": "`check --tree HEAD`", "against": "`cp -r`", "value": 0.25, "unit": "ratio",
                "runs": {"count": 3, "least": 0.24, "median": 0.25, "most": 0.3},
                "target": {"text": "at most 0.30 of its time", "bound": 0.3, "reach": false}, "verdict": "kept"
            }]
        })
    }

    /// Parses a run whose value at a pointer is another.
    pub(in crate::docs) fn changed(pointer: &str, value: Value) -> io::Result<Run> {
        let mut run = run();
        *run.pointer_mut(pointer).expect("a value") = value;
        parse(&run.to_string())
    }

    #[test]
    fn a_run_is_read() {
        let run = parse(&run().to_string()).expect("a run");
        assert_eq!((&*run.product.version, run.figures.len()), ("0.1.0", 1));
    }

    #[test]
    fn a_value_has_three_digits() {
        for (unit, value, expected) in [
            (Unit::Ratio, 0.173_82, "0.174"),
            (Unit::Ratio, 0.0, "0"),
            (Unit::Seconds, 1.999, "2 s"),
            (Unit::MiB, 149.6, "150 MiB"),
            (Unit::Share, -0.034_56, "-3.46 %"),
            (Unit::Characters, 60_000.0, "60000 characters"),
        ] {
            assert_eq!(unit.format(value), expected);
        }
    }

    #[test]
    fn a_malformed_run_has_a_reason() {
        let figure = run()["figures"][0].clone();
        for (pointer, value, expected) in [
            ("/schemaVersion", json!(2), "`schemaVersion` is 2, not 1"),
            ("/product/name", json!("another"), "another program"),
            ("/product/version", json!("../../0.1.0"), "no version"),
            ("/product/version", json!(""), "no version"),
            ("/product/commit", json!("--upload-pack=x"), "40 hexadecimal digits"),
            ("/date", json!("27 November"), "not of the form"),
            ("/note", json!("x".repeat(1001)), "a text of 1001 bytes"),
            ("/machine/cores", json!(-2), "invalid value"),
            ("/machine/peers", json!({"git": 1}), "invalid type"),
            ("/figures/0/key", json!("tree\n## Other"), "has other characters"),
            ("/figures/0/key", json!("-tree"), "has other characters"),
            ("/figures/0/value", json!(1e300), "too large"),
            ("/figures/0/value", json!("NaN"), "invalid type"),
            ("/figures/0/unit", json!("miles"), "unknown variant `miles`"),
            ("/figures/0/runs/least", json!(0.4), "not in order"),
            ("/figures/0/runs/count", json!(0), "not in order"),
            ("/figures/0/verdict", json!("missed"), "verdict"),
            ("/figures", json!([figure.clone(), figure]), "`tree` is there twice"),
            ("/machine", json!({}), "missing field"),
            (
                "/product",
                json!({"name": "bailiwick", "version": "1", "commit": null, "script": 1}),
                "unknown field `script`",
            ),
        ] {
            let reason = changed(pointer, value).expect_err(pointer).to_string();
            assert!(reason.contains(expected), "{pointer}: {reason}");
        }
        assert!(parse("{").is_err());
    }

    #[test]
    fn a_file_of_the_history_is_named_in_its_error() {
        let root = std::env::temp_dir().join(format!("bailiwick-history-{}", std::process::id()));
        let folder = root.join(FOLDER);
        fs::create_dir_all(&folder).expect("a folder");
        assert_eq!(read(&root).expect("no run").len(), 0);
        let mut quick = run();
        quick["size"] = json!("quick");
        for (name, text, expected) in [
            ("0.1.0.json", run().to_string(), None),
            ("0.2.0.json", run().to_string(), Some("the name of the file is not `0.1.0.json`")),
            ("0.1.0.txt", run().to_string(), Some("the name of the file is not `0.1.0.json`")),
            ("0.1.0.json", quick.to_string(), Some("the workloads are `quick`")),
            ("0.1.0.json", "[]".to_owned(), Some("invalid")),
            ("0.1.0.json", " ".repeat(1 << 21), Some("more than 1048576")),
        ] {
            let path = folder.join(name);
            fs::write(&path, text).expect("a file");
            match (read(&root), expected) {
                (Ok(runs), None) => assert_eq!(runs.len(), 1),
                (Err(error), Some(reason)) => {
                    let error = error.to_string();
                    assert!(error.contains(name) && error.contains(reason), "{error}");
                }
                (result, _) => panic!("{name}: {expected:?}, but {result:?}"),
            }
            fs::remove_file(&path).expect("the file");
        }
        fs::remove_dir_all(&root).expect("the folder");
    }
}

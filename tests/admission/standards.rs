//! The test pods of the Pod Security checks of Kubernetes. The name of each file contains its verdict.
//!
//! The pods belong to Kubernetes and are among the reference manifests.

use bailiwick::admission::level::{Level, PolicyVersion};
use bailiwick::admission::pod::Pod;
use bailiwick::admission::standards::{CHECKS, violations};
use bailiwick::diag::{FileId, Sink};
use bailiwick::yaml;

use crate::support::reference;

/// How many pods there are.
const FIXTURES: usize = 296;

#[test]
#[ignore = "reads the reference manifests: tests/reference/run FOLDER"]
fn kubernetes_own_fixtures_have_their_verdicts() {
    let folder = reference().join("psa-fixtures");
    let mut paths: Vec<_> =
        std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let mut pods = 0;
    let mut wrong = Vec::new();
    for path in paths {
        let file = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        let parts: Vec<&str> = file.split('-').collect();
        let &[level, version, verdict] = parts.as_slice() else { panic!("{file} names no level, version and verdict") };
        let level = Level::parse(level).expect("a level");
        let version = PolicyVersion::parse(version).expect("a version");
        assert!(matches!(verdict, "pass" | "fail"), "{file}");
        let text = std::fs::read_to_string(&path).expect("text");
        for document in text.split("---\n").filter(|document| !document.trim().is_empty()) {
            let head =
                document.lines().find_map(|line| line.strip_prefix("# fixture: ")).expect("a fixture names itself");
            let (name, check) = head.split_once("check: ").expect("a fixture names its check");
            let tree = yaml::read(document, FileId::default(), &mut Sink::new());
            let pod = Pod::read(tree.document(0).expect("a document")).expect("a pod");
            let found: Vec<&str> = violations(&pod, level, version).iter().map(|violation| violation.check).collect();
            // At restricted, another check can replace the check of a pod.
            let stands_for = CHECKS.iter().find(|other| other.replaces == Some(check)).map(|other| other.id);
            let is_told = found.contains(&check) || stands_for.is_some_and(|other| found.contains(&other));
            let is_right = if verdict == "pass" { found.is_empty() } else { is_told };
            if !is_right {
                wrong.push(format!("{name}: {found:?}, and it is to {verdict} {check}"));
            }
            pods += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {pods} pods:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(pods, FIXTURES);
}

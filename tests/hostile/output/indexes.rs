//! Damaged, missing and foreign indexes of git.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::{SUBMODULE, Tampering, flagged, git, gitlink, row};

/// Changes the index, in which there is a submodule below the output folder.
fn index(name: &str, shown: &str, change: impl Fn(&Path) + 'static) -> Tampering {
    row(name, shown, move |root| {
        (gitlink(SUBMODULE, "2").alter)(root);
        change(&root.join(".git/index"));
    })
}

/// Changes the bytes of the index before its checksum, which is made anew.
fn resealed(name: &str, shown: &str, change: impl Fn(&mut Vec<u8>) + 'static) -> Tampering {
    index(name, shown, move |path| {
        let mut bytes = fs::read(path).expect("an index");
        bytes.truncate(bytes.len() - 20);
        change(&mut bytes);
        let checksum = <sha1::Sha1 as sha1::Digest>::digest(&bytes);
        fs::write(path, [bytes.as_slice(), checksum.as_slice()].concat()).expect("an index");
    })
}

pub(super) fn indexes() -> Vec<Tampering> {
    let cut = |length: usize| {
        index(&format!("{length} bytes of the index"), "cannot read the index of git", move |path| {
            let bytes = fs::read(path).expect("an index");
            fs::write(path, &bytes[..length]).expect("an index");
        })
    };
    vec![
        cut(0),
        cut(4),
        cut(12),
        cut(100),
        index("no index beside commits", "commits and no index", |path| fs::remove_file(path).expect("an index")),
        index("no index beside packed references", "commits and no index", |path| {
            let root = path.parent().and_then(Path::parent).expect("a work tree");
            git(root, &["pack-refs", "--all"]);
            fs::remove_file(path).expect("an index");
        }),
        index("no index beside a commit without a branch", "commits and no index", |path| {
            let root = path.parent().and_then(Path::parent).expect("a work tree");
            git(root, &["update-ref", "--no-deref", "HEAD", "HEAD"]);
            fs::remove_file(path).expect("an index");
        }),
        index("an index that is a link", "not a regular file", |path| {
            fs::rename(path, path.with_file_name("real")).expect("a rename");
            symlink("real", path).expect("a link");
        }),
        index("an index that is a pipe", "not a regular file", |path| {
            fs::remove_file(path).expect("an index");
            assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
        }),
        index("an index that is a folder", "not a regular file", |path| {
            fs::remove_file(path).expect("an index");
            fs::create_dir(path).expect("a folder");
        }),
    ]
}

pub(super) fn damaged_indexes() -> Vec<Tampering> {
    vec![
        row("an index whose checksum does not fit", "its checksum does not fit", |root| {
            let path = root.join(".git/index");
            let mut bytes = fs::read(&path).expect("an index");
            *bytes.last_mut().expect("a byte") ^= 1;
            fs::write(path, bytes).expect("an index");
        }),
        index("an index without a checksum", SUBMODULE, |path| {
            let mut bytes = fs::read(path).expect("an index");
            let at = bytes.len() - 20;
            bytes[at..].fill(0);
            fs::write(path, bytes).expect("an index");
        }),
        resealed("an index that is split, without anything else", "it is split", |bytes| {
            *bytes = [b"DIRC\0\0\0\x02\0\0\0\0link\0\0\0\x14".as_slice(), &[7; 20]].concat();
        }),
        resealed("an index that says to hold folders, and holds none", SUBMODULE, |bytes| {
            bytes.extend(b"sdir\0\0\0\0");
        }),
        resealed("an index with an extension that must be known", "not known", |bytes| {
            bytes.extend(b"gone\0\0\0\0");
        }),
        resealed("an index with an extension that does not end", "damaged", |bytes| {
            bytes.extend(b"GONE\0\0\xff\xff");
        }),
        resealed("an index with fewer entries than it says", "damaged", |bytes| bytes[11] += 1),
        resealed("an index of another version", "version 5", |bytes| bytes[7] = 5),
    ]
}

/// Returns an index with a submodule that reads as one of SHA-1 at the path `x` and as one of SHA-256 below the output folder.
fn ambiguous() -> Vec<u8> {
    let mut bytes = b"DIRC\0\0\0\x04\0\0\0\x01".to_vec();
    let mut stat = [0; 40];
    stat[24..28].copy_from_slice(&0o160_000_u32.to_be_bytes());
    bytes.extend(stat);
    // The id of SHA-1, flags, and the path `x`; then an extension over the rest.
    bytes.extend([1; 20]);
    bytes.extend(b"\0\x01\0x\0SKIP\0\0\0\x18");
    // Behind the end of the SHA-256 id: more flags, and the other path.
    bytes.extend(b"\x09\0out/t/sub\0");
    bytes.extend([0; 32]);
    bytes
}

/// Repositories with SHA-256, by what is below the output folder.
pub(super) fn in_sha256() -> Vec<Tampering> {
    let again = |inner: Tampering| {
        row(&format!("{}, with SHA-256", inner.name), &inner.shown.clone(), move |root| {
            fs::remove_dir_all(root.join(".git")).expect("a folder");
            git(root, &["init", "-q", "--object-format=sha256"]);
            git(root, &["add", "-A"]);
            git(root, &["commit", "-qm", "one"]);
            (inner.alter)(root);
        })
    };
    let in_place_of_the_index = |name: &str, shown: &str, bytes: Vec<u8>| {
        row(name, shown, move |root| fs::write(root.join(".git/index"), &bytes).expect("an index"))
    };
    let mut rows: Vec<Tampering> =
        ["2", "3", "4"].into_iter().map(|version| again(gitlink(SUBMODULE, version))).collect();
    rows.push(again(flagged("--assume-unchanged")));
    rows.push(again(flagged("--skip-worktree")));
    rows.push(again(in_place_of_the_index("an index of two meanings", "SHA-256", ambiguous())));
    let mut sealed = ambiguous();
    sealed.truncate(sealed.len() - 32);
    let checksum = <sha2::Sha256 as sha2::Digest>::digest(&sealed);
    sealed.extend(checksum);
    rows.push(again(in_place_of_the_index("an index that its checksum decides", SUBMODULE, sealed)));
    rows.push(again(row("an index whose checksum does not fit", "its checksum does not fit", |root| {
        let path = root.join(".git/index");
        let mut bytes = fs::read(&path).expect("an index");
        *bytes.last_mut().expect("a byte") ^= 1;
        fs::write(path, bytes).expect("an index");
    })));
    rows
}

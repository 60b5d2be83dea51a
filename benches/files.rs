//! Measures the cost of the file system alone in a run: `cargo bench --bench files -- DIRECTORY SCRATCH [ROUNDS]`.
//!
//! DIRECTORY holds files, such as the output for many tenants. The program lists the files; lists them and reads their
//! state; and opens, reads and closes them into one buffer, with one thread and with two, without a look at the
//! content. The last is the least work of a program that compares every byte. In SCRATCH, a new folder, it creates a
//! tenth of the files, creates them in another folder and renames them to a free name, and renames them over existing
//! files. The page cache is warm: a first round does not count. Prints one JSON object: the median, minimum and maximum
//! of each in µs per file.

#![expect(clippy::disallowed_methods, reason = "a bench reads the files that it is given")]
#![expect(clippy::print_stdout, reason = "the report is what it is for; a folder that cannot be read ends it")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use walkdir::WalkDir;

/// The default number of rounds.
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let (folder, scratch, rounds) = match arguments.as_slice() {
        [folder, scratch] => (folder, scratch, ROUNDS),
        [folder, scratch, rounds] => (folder, scratch, rounds.parse()?),
        _ => {
            println!("usage: cargo bench --bench files -- DIRECTORY SCRATCH [ROUNDS]");
            return Ok(());
        }
    };
    println!("{}", measure(Path::new(folder), Path::new(scratch), rounds)?);
    Ok(())
}

fn measure(folder: &Path, scratch: &Path, rounds: usize) -> Result<Value, Box<dyn Error>> {
    let files = list(folder)?;
    let count = files.len();
    let some: Vec<Vec<u8>> = files.iter().step_by(10).map(fs::read).collect::<io::Result<_>>()?;
    let time = |count: usize, work: &mut dyn FnMut(usize) -> io::Result<()>| -> io::Result<Value> {
        let mut found = Vec::with_capacity(rounds);
        for round in 0..=rounds {
            let start = Instant::now();
            work(round)?;
            if round > 0 {
                found.push(start.elapsed().as_secs_f64() * 1e6 / count as f64);
            }
        }
        found.sort_by(f64::total_cmp);
        let at = |index: usize| found.get(index).copied().unwrap_or_default();
        Ok(json!({ "median": at(found.len() / 2), "least": at(0), "most": at(found.len().saturating_sub(1)) }))
    };
    let listed = time(count, &mut |_| list(folder).map(|_| ()))?;
    let asked = time(count, &mut |_| list(folder)?.iter().try_for_each(|file| fs::symlink_metadata(file).map(|_| ())))?;
    let one = time(count, &mut |_| read_all(&files, 1))?;
    let two = time(count, &mut |_| read_all(&files, 2))?;
    // Nothing is deleted: after that, making files costs several times as much for minutes.
    let made = time(some.len(), &mut |round| {
        let place = scratch.join(format!("made-{round}"));
        fs::create_dir_all(&place)?;
        write_all(&place, &some)
    })?;
    let replaced = time(some.len(), &mut |round| {
        let (beside, place) = (scratch.join(format!("beside-{round}")), scratch.join(format!("made-{round}")));
        fs::create_dir_all(&beside)?;
        write_all(&beside, &some)?;
        (0..some.len()).try_for_each(|index| fs::rename(beside.join(index.to_string()), place.join(index.to_string())))
    })?;
    Ok(json!({
        "files": count,
        "rounds": rounds,
        "listed": listed,
        "listed and asked for their state": asked,
        "opened, read and closed, 1 thread": one,
        "opened, read and closed, 2 threads": two,
        "made anew": made,
        "made beside and renamed over another": replaced,
    }))
}

fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder) {
        let entry = entry.map_err(io::Error::other)?;
        if entry.file_type().is_file() {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

fn read_all(files: &[PathBuf], threads: usize) -> io::Result<()> {
    let read = |part: &[PathBuf]| -> io::Result<()> {
        let mut place = Vec::with_capacity(1 << 16);
        part.iter().try_for_each(|file| {
            place.clear();
            place.resize(1 << 16, 0);
            let mut open = File::open(file)?;
            // A file that fits needs one call.
            match open.read(&mut place)? {
                length if length < place.len() => Ok(()),
                _ => open.read_to_end(&mut place).map(|_| ()),
            }
        })
    };
    std::thread::scope(|scope| {
        let parts = files.chunks(files.len().div_ceil(threads).max(1));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || read(part))).collect();
        let mut joined = threads.into_iter().map(|thread| thread.join());
        joined.try_for_each(|result| result.map_err(|_| io::Error::other("a thread ended"))?)
    })
}

fn write_all(folder: &Path, texts: &[Vec<u8>]) -> io::Result<()> {
    texts.iter().enumerate().try_for_each(|(index, text)| fs::write(folder.join(index.to_string()), text))
}

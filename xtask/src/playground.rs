//! `cargo xtask playground`: the page of the playground with its module, below the book.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

const TARGET: &str = "wasm32-unknown-unknown";

/// The profile of the root manifest.
const PROFILE: &str = "wasm";

/// The most memory of a run in bytes. A run that needs more ends, and the page stays.
const MAXIMUM_MEMORY: u64 = 1 << 30;

/// Build the module of the playground, and put it and its page into target/book/playground
///
/// The standard library comes from `rustup target add wasm32-unknown-unknown`. Without it, the library is built from its sources, if
/// the compiler has them. Ends with 0 on success, 3 when a program cannot run.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Compiler to use; the compiler of the repository by default
    #[arg(long, value_name = "FILE")]
    rustc: Option<PathBuf>,
    /// Linker to use; the linker of the compiler by default
    #[arg(long, value_name = "FILE")]
    linker: Option<PathBuf>,
}

/// Builds the module.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> io::Result<ExitCode> {
    let module = build(root, arguments)?;
    let page = root.join("target/book/playground");
    fs::create_dir_all(&page)?;
    for file in fs::read_dir(root.join("docs/playground"))? {
        let file = file?;
        fs::copy(file.path(), page.join(file.file_name()))?;
    }
    fs::copy(&module, page.join("bailiwick.wasm"))?;
    let bytes = fs::read(&module)?;
    println!(
        "target/book/playground/bailiwick.wasm: {} bytes, {} compressed by gzip",
        bytes.len(),
        compressed(&bytes)?
    );
    Ok(ExitCode::SUCCESS)
}

/// Builds the module, and returns its path.
fn build(root: &Path, arguments: &Arguments) -> io::Result<PathBuf> {
    let rustc = match &arguments.rustc {
        Some(rustc) => rustc,
        None => Path::new("rustc"),
    };
    let folder = root.join("target/wasm");
    let mut cargo = Command::new("cargo");
    cargo
        .args(["rustc", "--locked", "--package", "bailiwick-playground", "--lib", "--crate-type", "cdylib"])
        .args(["--profile", PROFILE, "--target", TARGET, "--target-dir"])
        .arg(&folder)
        .current_dir(root);
    if arguments.rustc.is_some() {
        cargo.env("RUSTC", rustc);
    }
    if let Some(linker) = &arguments.linker {
        cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    }
    match Library::find(rustc)? {
        Library::Built => {}
        // Only a nightly compiler builds it without the variable.
        Library::Sources => _ = cargo.args(["-Z", "build-std=std,panic_abort"]).env("RUSTC_BOOTSTRAP", "1"),
        Library::Missing => {
            return Err(io::Error::other(format!(
                "there is no standard library for {TARGET}: run `rustup target add {TARGET}`"
            )));
        }
    }
    cargo.arg("--").arg(format!("-Clink-arg=--max-memory={MAXIMUM_MEMORY}"));
    if !cargo.status()?.success() {
        return Err(io::Error::other("the module cannot be built"));
    }
    Ok(folder.join(TARGET).join(PROFILE).join("bailiwick_playground.wasm"))
}

/// The standard library of a compiler for the target.
enum Library {
    Built,
    Sources,
    Missing,
}

impl Library {
    fn find(rustc: &Path) -> io::Result<Self> {
        if printed(rustc, &["--print", "target-libdir", "--target", TARGET])?.is_dir() {
            return Ok(Self::Built);
        }
        let sources = printed(rustc, &["--print", "sysroot"])?.join("lib/rustlib/src/rust/library/Cargo.lock");
        Ok(if sources.is_file() { Self::Sources } else { Self::Missing })
    }
}

/// Returns the path that the compiler prints.
fn printed(rustc: &Path, arguments: &[&str]) -> io::Result<PathBuf> {
    let output = Command::new(rustc).args(arguments).stderr(Stdio::inherit()).output()?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// Returns the number of compressed bytes.
fn compressed(bytes: &[u8]) -> io::Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}

//! The `bailiwick` program: arguments in, exit code out.

use std::process::ExitCode;

use bailiwick::cli;

// Of the huge pages it might ask for (the feature `no_thp`), a run would touch parts, and pay for the whole of each.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(cli::run(std::env::args_os()).code())
}

//! The `bailiwick` program: arguments in, exit code out.

use std::process::ExitCode;

use bailiwick::cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(cli::run(std::env::args_os()).code())
}

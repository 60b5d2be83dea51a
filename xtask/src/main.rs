//! Generates and checks files of this repository: `cargo xtask --help`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for people at a terminal")]

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod api;
mod ceilings;
mod changelog;
mod dist;
mod docs;
mod facts;
mod finding;
mod imports;
mod playground;
mod prose;
mod repository;
mod tests_of;
mod tidy;

/// Generates and checks files of this repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Api(api::Arguments),
    Changelog(changelog::Arguments),
    Dist(dist::Arguments),
    Docs(docs::Arguments),
    Facts(facts::Arguments),
    Imports(imports::Arguments),
    Playground(playground::Arguments),
    Prose(prose::Arguments),
    Tidy(tidy::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.task {
        Task::Api(arguments) => api::run(root(), &arguments),
        Task::Changelog(arguments) => changelog::run(root(), &arguments),
        Task::Dist(arguments) => dist::run(root(), &arguments),
        Task::Docs(arguments) => docs::run(root(), &arguments),
        Task::Facts(arguments) => facts::run(root(), &arguments),
        Task::Imports(arguments) => imports::run(root(), &arguments),
        Task::Playground(arguments) => playground::run(root(), &arguments),
        Task::Prose(arguments) => prose::run(root(), &arguments),
        Task::Tidy(arguments) => tidy::run(root(), &arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(3)
    })
}

/// Returns the root of the repository.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

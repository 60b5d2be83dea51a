//! Reviews a folder with a workspace against another one: `cargo run --example review -- OLD NEW`.
#![allow(clippy::print_stdout, reason = "an example is a program")]

use std::error::Error;
use std::path::PathBuf;

use bailiwick::app::review::{ReviewBase, ReviewOptions};
use bailiwick::{Options, Workspace, review};

fn main() -> Result<(), Box<dyn Error>> {
    let mut folders = std::env::args().skip(1).map(PathBuf::from);
    let (Some(old), Some(new)) = (folders.next(), folders.next()) else { return Err("name two folders".into()) };
    let workspace = Workspace::open(&Options::in_folder(new))?;
    let options = ReviewOptions { base: ReviewBase::Folder(old.canonicalize()?), ..ReviewOptions::default() };
    let review = review(&workspace, &options)?;
    println!("{}", review.line);
    for change in &review.effects {
        println!("{}", serde_json::to_string(change)?);
    }
    Ok(())
}

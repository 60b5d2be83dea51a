//! How long one decision takes: `cargo bench --bench access -- WORLD QUESTIONS`.
//!
//! WORLD is a file of `bailiwick index`, QUESTIONS has one `{"can-i": ...}` a line, as for `bailiwick ask`. The questions
//! are read before the clock starts. Prints one JSON object: how many decisions, how many of them yes, nanoseconds each
//! (the median of the rounds), and the memory of the world. `benches/run access` compares it with the Go authorizer.

#![expect(clippy::disallowed_methods, reason = "a bench reads the files that it is given")]
#![expect(clippy::print_stdout, reason = "the report is what it is for; a wrong file ends it")]

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::time::Instant;

use bailiwick::access::{Identity, Request, ResourceRequest, UrlRequest, World};
use bailiwick::app::file_format::FileFormat;
use bailiwick::diag::Files;
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often every question is asked.
const ROUNDS: usize = 11;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [world, questions] = arguments.as_slice() else {
        println!("usage: cargo bench --bench access -- WORLD QUESTIONS");
        return Ok(());
    };
    let started = Instant::now();
    let world =
        World::restore(FileFormat::INDEX.open(&fs::read(world)?).map_err(|broken| broken.to_string())?, &Files::new())?;
    let load = started.elapsed();
    let questions: Vec<(Identity, Request)> = fs::read_to_string(questions)?
        .lines()
        .map(|line| Ok(question(&serde_json::from_str(line)?)))
        .collect::<Result<_, serde_json::Error>>()?;
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| ask_all(&world, &questions)).collect();
    rounds.sort_by(f64::total_cmp);
    let yes = questions.iter().filter(|(who, request)| world.allows(who, request)).count();
    let size = world.size();
    let report = json!({
        "decisions": questions.len(),
        "yes": yes,
        "nanosecondsEach": rounds.get(ROUNDS / 2),
        "least": rounds.first(),
        "most": rounds.last(),
        "loadSeconds": load.as_secs_f64(),
        "bindings": size.bindings,
        "ruleLists": size.rule_lists,
        "bytesPerBinding": size.bytes / size.bindings.max(1),
    });
    println!("{report}");
    Ok(())
}

/// Asks every question once; nanoseconds each.
fn ask_all(world: &World, questions: &[(Identity, Request)]) -> f64 {
    let started = Instant::now();
    for (who, request) in questions {
        black_box(world.allows(black_box(who), black_box(request)));
    }
    started.elapsed().as_nanos() as f64 / questions.len().max(1) as f64
}

fn question(line: &Value) -> (Identity, Request) {
    let body = &line["can-i"];
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    let who = match body["groups"].as_array() {
        Some(groups) => Identity {
            user: text("user"),
            groups: groups.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        },
        None => Identity::from_user(&text("user")),
    };
    let request = if body["path"].is_string() {
        Request::Url(UrlRequest { verb: text("verb"), path: text("path") })
    } else {
        Request::Resource(ResourceRequest {
            verb: text("verb"),
            group: text("group"),
            version: String::new(),
            resource: text("resource"),
            subresource: text("subresource"),
            namespace: text("namespace"),
            name: text("name"),
        })
    };
    (who, request)
}

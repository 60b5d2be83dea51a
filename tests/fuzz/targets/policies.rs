//! Policies of every kind, generated from the published schemas: compiling does not panic, gives the same bytes in
//! every way, and its output is read back.

#![no_main]

use arbitrary::Unstructured;
use fuzzing::{run, schema, workspace};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let _ = compile(&mut input);
});

fn compile(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let mut texts = vec![("bailiwick.yaml".to_owned(), workspace::WORKSPACE.to_owned())];
    for number in 0..input.int_in_range(1..=4)? {
        texts.push((format!("policies/p{number}.yaml"), run::policy(number, input)?.to_string()));
    }
    let accounts =
        json!([{"name": "tool-a", "team": "a"}, {"name": schema::text(input)?, "team": schema::text(input)?}]);
    texts.push(("policies/accounts.json".to_owned(), accounts.to_string()));
    workspace::check(&texts);
    Ok(())
}

//! Policies of every kind, generated from the published schemas: compiling does not panic, gives the same bytes in
//! every way, and its output is read back.

#![no_main]

use arbitrary::Unstructured;
use fuzzing::{schema, workspace};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let _ = run(&mut input);
});

fn run(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let kinds: Vec<&str> = bailiwick::kinds::names().filter(|name| *name != "Workspace").collect();
    let mut texts = vec![("bailiwick.yaml".to_owned(), workspace::WORKSPACE.to_owned())];
    for number in 0..input.int_in_range(1..=4)? {
        let kind = *input.choose(&kinds)?;
        let document = bailiwick::kinds::schema_of(kind).unwrap_or_default();
        let mut policy = schema::value(&document, &document, 0, input)?;
        if let Value::Object(map) = &mut policy {
            map.insert("apiVersion".to_owned(), json!("bailiwick.dev/v1alpha1"));
            map.insert("kind".to_owned(), json!(kind));
            let name = if input.ratio(1_u8, 8)? { schema::text(input)? } else { format!("p{number}") };
            map.insert("metadata".to_owned(), json!({ "name": name }));
        }
        texts.push((format!("policies/p{number}.yaml"), policy.to_string()));
    }
    let accounts =
        json!([{"name": "tool-a", "team": "a"}, {"name": schema::text(input)?, "team": schema::text(input)?}]);
    texts.push(("policies/accounts.json".to_owned(), accounts.to_string()));
    workspace::check(&texts);
    Ok(())
}

//! Lists the grants of a policy file: `cargo run -p bailiwick-policy --example grants -- policies/team.yaml`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "an example is a program")]

use std::error::Error;

use bailiwick_policy::kinds::grant::GrantSpec;
use bailiwick_yaml::de::from_node;
use bailiwick_yaml::diag::{Files, Sink};

fn main() -> Result<(), Box<dyn Error>> {
    let Some(path) = std::env::args().nth(1) else { return Err("name a policy file".into()) };
    let text = std::fs::read_to_string(&path)?;
    let (files, mut sink) = (Files::new(), Sink::new());
    let tree = bailiwick_yaml::read(&text, files.add(path.as_str(), text.as_str()), &mut sink);
    for policy in tree.documents().filter(|policy| policy.text_at("kind") == "Grant") {
        let spec: GrantSpec = from_node(policy.get("spec").ok_or("a Grant has a spec")?)?;
        let users = spec.to.users.iter().map(|user| format!("user {}", user.value));
        let groups = spec.to.groups.iter().map(|group| format!("group {}", group.value));
        let accounts = spec.to.service_accounts.iter().map(|account| format!("account {}", account.name.value));
        let subjects: Vec<String> = users.chain(groups).chain(accounts).collect();
        let sets: Vec<&str> = spec.permission_sets.iter().map(|set| set.value.as_str()).collect();
        let name =
            policy.path(&["metadata", "name"]).and_then(|name| name.as_str()).unwrap_or("a grant without a name");
        println!("{name}: {} may {}", subjects.join(", "), sets.join(", "));
    }
    Ok(())
}

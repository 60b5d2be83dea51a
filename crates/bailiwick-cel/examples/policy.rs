//! Evaluates an expression of a policy on an object in JSON: `cargo run -p bailiwick-cel --example policy -- EXPRESSION OBJECT.json`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "an example is a program")]

use std::collections::BTreeMap;
use std::error::Error;

use bailiwick_cel::{Environment, Fail, Names, Program, Value};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(expression), Some(path)) = (words.next(), words.next()) else {
        return Err("name an expression and a file".into());
    };
    let object: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let program = Program::compile(&expression, &Names { minor: 37, ..Names::default() });
    let variables = BTreeMap::new();
    let mut environment = Environment::new(&variables, 1_000_000);
    environment.object = Value::from_json(&object);
    match program.evaluate(&environment) {
        Ok(Value::Bool(true)) => println!("admitted"),
        Ok(Value::Bool(false)) => println!("denied"),
        Ok(_) => println!("the expression is no condition"),
        Err(Fail::Error(error)) => println!("error of the API server: {error}"),
        Err(Fail::Unknown(part)) => println!("unknown: {part}"),
    }
    Ok(())
}

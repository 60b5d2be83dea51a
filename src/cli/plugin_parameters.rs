//! The parameters of a config management plugin of Argo CD, which the cmp-server passes as variables of the environment.
//!
//! Source: Argo CD 3.2, `pkg/apis/application/v1alpha1/types.go` (`ApplicationSourcePluginParameters.Environ`). For an Application
//! without parameters the list is `null`.

use serde_json::Value;

use super::Global;
use crate::app::Error;
use crate::codes;
use crate::diag::Diagnostic;
use crate::model::Target;

/// The variable with the parameters of the application as a JSON list.
const PARAMETERS: &str = "ARGOCD_APP_PARAMETERS";
/// The variable with the name of the application.
const APPLICATION: &str = "ARGOCD_APP_NAME";
/// The name of the parameter with the target.
const TARGET: &str = "target";

/// Returns the targets to print: the named ones, or for a plugin of Argo CD the target of the parameter `target`. An application is for one
/// cluster: without the parameter, there must be one target only.
///
/// # Errors
/// When the parameters are no list, or name no target or several ones.
pub(super) fn targets(global: &Global, named: &[String], all: &[&Target]) -> Result<Vec<String>, Error> {
    if !named.is_empty() {
        return Ok(named.to_owned());
    }
    let parameters = global.variable(PARAMETERS);
    let is_plugin = parameters.is_some() || global.variable(APPLICATION).is_some();
    let target = parameters.map_or(Ok(None), |written| target_in(&written.to_string_lossy()))?;
    match (target, all) {
        (Some(target), _) => Ok(vec![target]),
        (None, [_, _, ..]) if is_plugin => {
            let message = "the application names no target, and the workspace has several";
            let names: Vec<&str> = all.iter().map(|target| target.name.as_str()).collect();
            Err(refused(message.to_owned(), &format!("set the plugin's parameter `target`: {}", names.join(", "))))
        }
        (None, _) => Ok(Vec::new()),
    }
}

/// Returns the target of a list of parameters; none without the parameter.
fn target_in(written: &str) -> Result<Option<String>, Error> {
    let shape = r#"the form is `[{"name": "target", "string": "NAME"}]`"#;
    let parsed: Result<Value, _> = serde_json::from_str(written);
    let list = parsed.map_err(|error| refused(format!("`{PARAMETERS}` is no JSON: {error}"), shape))?;
    if list.is_null() {
        return Ok(None);
    }
    let Some(list) = list.as_array() else { return Err(refused(format!("`{PARAMETERS}` is no list"), shape)) };
    let is_target = |entry: &&Value| entry.get("name").and_then(Value::as_str) == Some(TARGET);
    let entries: Vec<&Value> = list.iter().filter(is_target).collect();
    match entries.as_slice() {
        [] => Ok(None),
        [only] => match only.get("string").and_then(Value::as_str) {
            Some(target) => Ok(Some(target.to_owned())),
            None => Err(refused(format!("the parameter `target` in `{PARAMETERS}` has no `string`"), shape)),
        },
        _ => Err(refused(format!("`{PARAMETERS}` has the parameter `target` twice"), shape)),
    }
}

fn refused(message: String, help: &str) -> Error {
    Error::invalid(Diagnostic::error(codes::INVALID_USAGE, message).help(help))
}

//! The attributes of an HTTP request for the authorizer (`k8s.io/apiserver/pkg/endpoints/request`).

use super::decide::Request;

/// Reads `GET /path?query`; what follows the target is a remark.
pub(crate) fn request(http: &str) -> Result<Request, String> {
    let mut words = http.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(format!("not a request: {http}"));
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = decoded(path, false);
    let as_path = Request { verb: method.to_lowercase(), path: Some(path.clone()), ..Request::default() };

    // `/api/v1/...` is the core group, `/apis/GROUP/v1/...` another; anything shorter, or elsewhere, is only a path.
    let trimmed = path.trim_matches('/');
    let parts: Vec<&str> = if trimmed.is_empty() { Vec::new() } else { trimmed.split('/').collect() };
    let (group, version, mut rest) = match parts.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Ok(as_path),
    };

    let mut verb = verb_of_method(method);
    if let [prefix @ ("watch" | "proxy"), after @ ..] = rest {
        if after.is_empty() {
            return Err(format!("`{prefix}` of what: {http}"));
        }
        verb = *prefix;
        rest = after;
    }

    // `namespaces/n/pods` is about pods in n. `namespaces/n` and `namespaces/n/status` are about n itself, and still
    // carry n as their namespace.
    let mut namespace = "";
    if let ["namespaces", inside, after @ ..] = rest {
        namespace = inside;
        if after.first().is_some_and(|part| !matches!(*part, "status" | "finalize")) {
            rest = after;
        }
    }

    let part = |index: usize| rest.get(index).copied().unwrap_or_default();
    let (resource, mut name) = (part(0), part(1).to_owned());
    let subresource = if verb == "proxy" { "" } else { part(2) };
    if name.is_empty() && verb == "get" {
        let (watch, selected) = list_options(query);
        verb = if watch { "watch" } else { "list" };
        name = selected;
    }
    if name.is_empty() && verb == "delete" {
        verb = "deletecollection";
    }
    Ok(Request {
        verb: verb.to_owned(),
        path: None,
        group: group.to_owned(),
        version: version.to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        name,
    })
}

fn verb_of_method(method: &str) -> &'static str {
    match method {
        "POST" => "create",
        "GET" | "HEAD" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    }
}

/// Returns whether a list is a watch, and the one name that its field selector selects.
fn list_options(query: &str) -> (bool, String) {
    let mut watch = None;
    let mut selector = None;
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        // The first of several counts.
        match decoded(key, true).as_str() {
            "watch" => _ = watch.get_or_insert(decoded(value, true)),
            "fieldSelector" => _ = selector.get_or_insert(decoded(value, true)),
            _ => {}
        }
    }
    let watch = watch.is_some_and(|value| !matches!(value.to_lowercase().as_str(), "false" | "0"));
    (watch, selector.and_then(|selector| selected_name(&selector)).unwrap_or_default())
}

/// Returns the name of the term `metadata.name=NAME`, if every term can be read and the name could be one.
fn selected_name(selector: &str) -> Option<String> {
    let mut terms: Vec<&str> = selector.split(',').filter(|term| !term.is_empty()).collect();
    terms.sort_unstable();
    let mut name: Option<&str> = None;
    for term in terms {
        let equals = term.find('=')?;
        let operator = term.find("!=").map_or(equals, |unequal| unequal.min(equals));
        let (field, rest) = (&term[..operator], &term[operator..]);
        let exact = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='));
        if field == "metadata.name" && name.is_none() {
            name = exact;
        }
    }
    name.filter(|name| !matches!(*name, "." | "..") && !name.contains(['/', '%'])).map(str::to_owned)
}

/// Undoes percent encoding; in a query a plus is a space.
fn decoded(text: &str, query: bool) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |byte: u8| (byte as char).to_digit(16);
        rest = after;
        match (first, after) {
            (b'%', [high, low, ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                bytes.push((hex(*high).unwrap_or_default() * 16 + hex(*low).unwrap_or_default()) as u8);
                rest = &after[2..];
            }
            (b'+', _) if query => bytes.push(b' '),
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

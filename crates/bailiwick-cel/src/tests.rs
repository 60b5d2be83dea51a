//! Results of expressions, beside the results of cel-go.

use std::collections::BTreeMap;

use serde_json::json;

use super::declared::Declared;
use super::{Environment, ExpectedType, ExpressionError, ExpressionScope, Fail, Names, Program, Value, compiled};

/// Returns the result of an expression, in short.
fn evaluated(expression: &str) -> String {
    let sources = [("one", "1"), ("fails", "object.missing"), ("later", "variables.fails"), ("other", "ip('::1')")];
    let mut names = Names { minor: 37, ..Names::default() };
    let mut variables = BTreeMap::new();
    for (name, source) in sources {
        variables.insert(name.to_owned(), Program::compile(source, &names));
        names.variables.insert(name);
    }
    let mut environment = Environment::new(&variables, 10_000_000);
    environment.object = Value::from_json(&json!({
        "a": 1, "half": 0.5, "text": "abc", "none": null, "list": [1, 2, 3], "labels": { "k": "v", "l": "w" },
        "large": 18_446_744_073_709_551_615_u64, "nested": { "b": { "c": true } },
    }));
    environment.request = Value::from_json(&json!({ "operation": "CREATE", "userInfo": { "username": "u" } }));
    match Program::compile(expression, &names).evaluate(&environment) {
        Ok(value) => shown(&value),
        Err(Fail::Error(error)) => format!("error: {error}"),
        Err(Fail::Unknown(_)) => "unknown".to_owned(),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let entries = entries.values().map(|(key, value)| format!("{}: {}", shown(key), shown(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Optional(None) => "none".to_owned(),
        Value::Optional(Some(inner)) => format!("some {}", shown(inner)),
        Value::Double(number) => format!("{number:?}"),
        Value::UInt(number) => format!("{number}u"),
        other => other.printed(),
    }
}

/// Compares a table of expressions and results with the evaluation.
fn hold(table: &[(&str, &str)]) {
    for (expression, expected) in table {
        assert_eq!(evaluated(expression), *expected, "{expression}");
    }
}

#[test]
fn lists_are_sorted_unless_a_number_is_not_a_number() {
    let many = vec!["3.0, double('NaN'), 1.0"; 20].join(", ");
    hold(&[
        ("[3.0, 1.0, 2.0].sort()", "[1.0, 2.0, 3.0]"),
        ("[2.0, double('NaN')].sort()", "unknown"),
        (&format!("[{many}].sort()"), "unknown"),
        ("[1, 2, 3, 4].slice(1, 3)", "[2, 3]"),
        ("[1, 2, 3, 4].slice(4, 4)", "[]"),
    ]);
}

#[test]
fn members_are_there_or_an_error_or_an_optional() {
    hold(&[
        ("object.a", "1"),
        ("object.missing", "error: no such key: missing"),
        ("object['missing']", "error: no such key: missing"),
        ("object.text.x", "error: no such key: x"),
        ("object.none.x", "error: no such key: x"),
        ("object.list[3]", "error: index out of bounds: 3"),
        ("object.list['a']", "error: unsupported index type 'string' in list"),
        ("object.list[1.0]", "2"),
        ("oldObject == null", "true"),
        ("has(object.missing)", "false"),
        ("has(object.none)", "true"),
        ("has(object.missing.x)", "error: no such key: missing"),
        ("has(object.?missing.x)", "false"),
        ("object.?missing.x.y", "none"),
        ("object.?nested.b.c", "some true"),
        ("object.?nested.missing", "none"),
        ("object.labels[?'k'].orValue('')", "\"v\""),
        ("object.labels[?'x'].orValue('none')", "\"none\""),
        ("object.list[?9].hasValue()", "false"),
        ("oldObject.?metadata.name.orValue('x')", "\"x\""),
        ("request.userInfo.extra[?'k'].orValue('')", "error: no such key: extra"),
        ("request.userInfo.?extra[?'k'][0].orValue('')", "\"\""),
        ("object.?a.or(optional.of(2)).value()", "1"),
        ("object.?x.or(object.?a)", "some 1"),
        ("object.?x.value()", "error: optional.none() dereference"),
        ("object.?x.orValue(object.y)", "error: no such key: y"),
        ("object.?a.orValue(object.y)", "1"),
        ("object.?a.optMap(x, x + 1).orValue(0)", "2"),
        ("object.?x.optMap(x, x + 1).orValue(0)", "0"),
        ("optional.ofNonZeroValue('')", "none"),
        ("[?object.?a, ?object.?x]", "[1]"),
        ("{?'a': object.?a, ?'x': object.?x}", "{\"a\": 1}"),
        ("optional.of(1) == optional.of(1.0)", "true"),
    ]);
}

#[test]
fn what_decides_swallows_errors_on_both_sides() {
    hold(&[
        ("object.x || true", "true"),
        ("true || object.x", "true"),
        ("object.x || false", "error: no such key: x"),
        ("object.x && false", "false"),
        ("object.x && object.y && true", "error: no such key: x"),
        ("object.a || true", "true"),
        ("object.a || false", "error: no such overload"),
        ("[1, 2].all(x, object.x)", "error: no such key: x"),
        ("[1, 2].all(x, x == 2 ? false : object.x)", "false"),
        ("[1, 2].exists(x, x == 2 || object.x)", "true"),
        ("[1, 2].exists_one(x, x == 2 || object.x)", "error: no such key: x"),
        ("false ? object.x : 1", "1"),
        // The last failing condition is reported, and the first failing body.
        ("[1, 2].filter(x, x == 1 ? object.x : object.y)", "error: no such key: y"),
        ("[1, 2].map(x, x == 1 ? object.x : object.y)", "error: no such key: x"),
        ("int(object.?half.orValue(3))", "unknown"),
        ("int(object.?a.orValue(3))", "1"),
        ("object.a ? 1 : 2", "error: no such overload"),
        // An unknown value is swallowed only without influence on the result.
        ("variables.other || true", "true"),
        ("variables.other || object.x", "unknown"),
        ("object.x || variables.other", "unknown"),
        ("[1, 2].all(x, x == 2 ? variables.other : object.x)", "unknown"),
        (
            "variables.later == 1",
            "error: composited variable \"later\" fails to evaluate: composited variable \"fails\" fails to evaluate: no such key: missing",
        ),
        ("variables.one", "1"),
    ]);
}

#[test]
fn numbers_are_compared_by_value_and_never_wrap_around() {
    hold(&[
        ("0 == 0.0", "true"),
        ("1u == 1", "true"),
        ("object.a == 1.0 && object.half < 1 && 1 > object.half", "true"),
        ("type(object.a) == int && type(object.large) == double", "true"),
        ("1 == '1'", "false"),
        ("{'a': 1} == {'a': 1.0} && [1, 2] != [1]", "true"),
        ("1.0 in [1] && 'k' in object.labels && !(1 in object.labels)", "true"),
        ("{1: 'a'}[1u]", "\"a\""),
        ("9223372036854775807 + 1", "error: integer overflow"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-(-9223372036854775808)", "error: integer overflow"),
        ("0u - 1u", "error: unsigned integer overflow"),
        ("1 / 0", "error: division by zero"),
        ("1 % 0", "error: modulus by zero"),
        ("-7 / 2 == -3 && -7 % 2 == -1", "true"),
        ("1 + 1.0", "error: no such overload"),
        ("object.text < 1", "error: no such overload"),
        ("int('12') + int(2.9) + int(3u)", "17"),
        ("int('x')", "error: type conversion error from 'string' to 'int'"),
        ("int(1e19)", "error: integer overflow"),
        ("string(1) + string(true) + string(0.5)", "\"1true0.5\""),
        ("double('1.5') + 0x10 > 17.0", "error: no such overload"),
        ("0x10 == 16 && 1e3 == 1000", "true"),
        ("--1 == 1 && !!true", "true"),
    ]);
}

#[test]
fn macros_go_through_lists_and_maps() {
    hold(&[
        ("object.list.map(x, x * 2)", "[2, 4, 6]"),
        ("object.list.map(x, x > 1, x * 2)", "[4, 6]"),
        ("object.list.filter(x, x != 2)", "[1, 3]"),
        ("object.labels.all(k, k.size() == 1)", "true"),
        ("object.labels.exists(k, object.labels[k] == 'w')", "true"),
        ("object.labels.all(k, v, k < v)", "true"),
        ("object.list.exists(i, v, i == 2 && v == 3)", "true"),
        ("object.list.transformList(i, v, i + v)", "[1, 3, 5]"),
        ("object.labels.transformMap(k, v, k == 'k', v + '!')", "{\"k\": \"v!\"}"),
        ("object.text.all(x, true)", "error: got 'types.String', expected iterable type"),
        ("[[1], [2]].all(x, x.all(x, x > 0))", "true"),
        ("object.list.exists_one(x, x > 2)", "true"),
        ("[].all(x, false) && ![].exists(x, true)", "true"),
    ]);
}

#[test]
fn a_function_is_there_since_its_minor() {
    let problem = |minor| {
        let names = Names { minor, ..Names::default() };
        Program::compile("[1].includes(1)", &names).problem().map(str::to_owned)
    };
    assert_eq!(problem(36).as_deref(), Some("Kubernetes 1.36 has no function `includes`; it came with 1.37"));
    assert_eq!(problem(37), None);
}

#[test]
fn functions_are_those_of_the_api_server() {
    hold(&[
        ("'abc'.substring(1) + 'abc'.substring(0, 1)", "\"bca\""),
        ("'abc'.substring(2, 1)", "error: invalid substring range. start: 2, end: 1"),
        ("'abc'.substring(4)", "error: index out of range: 4"),
        ("'äbc'.indexOf('b') + 'abcb'.lastIndexOf('b')", "4"),
        ("'a-b-c'.split('-', 2)", "[\"a\", \"b-c\"]"),
        ("'abc'.split('')", "[\"a\", \"b\", \"c\"]"),
        ("['a', 'b'].join('/')", "\"a/b\""),
        ("' a '.trim().upperAscii().replace('A', 'xx')", "\"xx\""),
        ("size('äö') + [1].size() + size({1: 2})", "4"),
        ("'abc'.matches('^a.c$') && matches('a1', '\\\\d')", "true"),
        ("'a1b22'.findAll('[0-9]+')", "[\"1\", \"22\"]"),
        ("'abc'.matches('(?i)A')", "unknown"),
        ("[1, 2].sum() + [3, 1].max() + [2, 3].min()", "8"),
        ("[].max()", "error: max called on empty list"),
        ("[1, 1.5].isSorted() && [1, 2].indexOf(2) == 1", "true"),
        ("[1, 2].includes(2.0) && !['a'].includes('b') && !dyn([]).includes(1)", "true"),
        ("'a'.includes('a') && !'ab'.includes('a') && {'a': 1}.includes({'a': 1}) && null.includes(null)", "true"),
        ("[[1]].includes(1) || [1].includes([1])", "false"),
        ("sets.contains([1, 2], [2.0]) && sets.intersects([1], [1, 2])", "true"),
        ("[[1], [2, 3]].flatten()", "[1, 2, 3]"),
        ("object.list.slice(0, 2).reverse()", "[2, 1]"),
        (r#"r'\d' + "\x41" + '''a'b''' == '\\dAa\'b'"#, "true"),
    ]);
}

#[test]
fn what_is_not_known_is_no_answer() {
    for expression in [
        "authorizer.group('').resource('pods').check('get').allowed()",
        "quantity('1Gi').isGreaterThan(quantity('1Mi'))",
        "timestamp('2024-01-01T00:00:00Z') < timestamp('2025-01-01T00:00:00Z')",
        "'%d'.format([1])",
        "true || isURL('x')",
        "params.x",
        "request.foo",
        "request.options.dryRun",
        "variables.nothing",
        "namespaceObject.metadata.name",
        "nobody == 1",
        "1 +",
        "object.a = 1",
        "'abc",
        "{1: 1, 1: 2}",
        "[].sum()",
        "b'a' in {'a': 1} || true",
        "lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0)) || true",
    ] {
        assert_eq!(evaluated(expression), "unknown", "{expression}");
    }
}

#[test]
fn no_expression_hangs_or_overflows() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(5000), close.repeat(5000));
    let many = 30_000;
    let hostile = [
        deep("(", ")"),
        deep("[", "]"),
        deep("{1:", "}"),
        format!("object{}", ".a".repeat(many)),
        format!("object{}", "[0]".repeat(many / 2)),
        format!("1{}", "+1".repeat(many)),
        format!("{}1", "true?".repeat(5000)),
        format!("'a'{}", ".trim()".repeat(5000)),
        format!("{}1{}", "[1].map(x,".repeat(3000), ")".repeat(3000)),
        "9".repeat(many),
        "1e999999999".to_owned(),
        format!("'{}'", "\\u".repeat(1000)),
        "'a'.matches('((((((a{100}){100}){100}){100}){100}){100})')".to_owned(),
        "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))".to_owned(),
        "lists.range(99999).map(a, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join('b').split('')".to_owned(),
        "lists.range(9223372036854775807)".to_owned(),
        "a".repeat(100_000),
        String::new(),
        "\u{0}".to_owned(),
        "'\u{1F600}'.substring(0, 9223372036854775807)".to_owned(),
    ];
    for expression in hostile {
        let answer = evaluated(&expression);
        let start: String = expression.chars().take(40).collect();
        assert!(answer == "unknown" || answer.starts_with("error"), "{start}: {answer}");
    }
    assert_eq!(evaluated(&format!("{}true", "true && ".repeat(5000))), "true");
    assert_eq!(evaluated(&format!("1{}", "+1".repeat(100))), "101");
    assert_eq!(evaluated(&format!("{}true", "!".repeat(30_000))), "true");
    assert_eq!(evaluated("'a'.replace('', 'b', -9223372036854775808)"), "\"bab\"");
}

/// Returns the verdict of an API server's compiler on an expression, in short.
fn verdict(expression: &str, minor: u32, wanted: ExpectedType) -> String {
    let scope =
        ExpressionScope { minor, authorizer: true, variables: Some(BTreeMap::new()), ..ExpressionScope::default() };
    match compiled(expression, &scope, wanted) {
        Ok(of) => of.to_string(),
        Err(ExpressionError::Syntax(why)) => format!("syntax: {why}"),
        Err(ExpressionError::Meaning(why)) => why,
    }
}

#[test]
fn types_are_those_of_the_compiler() {
    for (expression, expected) in [
        ("[1, 2].map(x, string(x))", "list(string)"),
        ("{'a': [1]}.a[0]", "int"),
        ("[]", "list(dyn)"),
        ("[,]", "list(dyn)"),
        ("[,1]", "syntax: `]` is expected before a number"),
        ("[].map(x, 1)", "list(int)"),
        ("object.?a.optMap(x, x + 1).orValue(2)", "int"),
        ("object.a ? 1 : 'a'", "a choice with `?` and `:` does not take `dyn` and `int` and `string`"),
        ("[1, 'a']", "a list or map holds `int` and `string`, and the API server takes one type"),
        ("'%s %d'.format(['a', 1])", "string"),
        ("'%s'.format([1, 2])", "`%s` has places for 1 values, and `format` gets 2"),
        ("1 + 'a'", "the operator `+` does not take `int` and `string`"),
        ("1 < 1.5", "bool"),
        ("request.name.nosuch()", "there is no function `nosuch`"),
        ("request.nosuch", "`kubernetes.AdmissionRequest` has no field `nosuch`"),
        ("authorizer.requestResource.check('get').allowed()", "bool"),
        (
            "[authorizer].map(authorizer, authorizer.requestResource)",
            "`kubernetes.authorization.Authorizer` has no field `requestResource`",
        ),
        ("Object{}", "there is no type `Object`"),
        ("[1].map(request, .request.name + string(request))", "list(string)"),
        ("google.protobuf.Timestamp{seconds: 1}", "dyn"),
        ("params", "`params` is used, and the policy has no `paramKind`"),
        ("'%d'.format([null])", "`%d` of `format` does not take `null`"),
        ("'%f %s'.format([1.5, request])", "`%s` of `format` does not take `kubernetes.AdmissionRequest`"),
        ("'%x %b %s'.format(['a', true, object])", "string"),
        ("object[null]", "brackets do not take `null_type`"),
        ("object[[1, 'a']] == 1", "brackets take a text, a number or a boolean"),
        ("object[bytes('a')]", "brackets do not take `bytes`"),
        ("object[int]", "brackets do not take types"),
        ("object[int('1')] == object[[1][0]]", "bool"),
        ("int('a') == 1", "`int` fails: type conversion error from 'string' to 'int'"),
        ("int(object.a) == 1", "bool"),
        ("timestamp(null)", "`timestamp` does not take `null`"),
        ("[int].exists(x, x == int)", "`x` stands for types"),
        ("1 +.'a'", "syntax: a name is missing behind `.`"),
        (".has(object.a)", "there is no function `has`"),
        (".true", "syntax: a name is expected before `true`"),
        (".size('a')", "int"),
    ] {
        assert_eq!(verdict(expression, 37, ExpectedType::Any), expected, "{expression}");
    }
}

#[test]
fn a_library_is_taken_in_new_expressions_a_minor_after_it_came() {
    for (expression, first) in [
        ("'a'.contains('a')", 28),
        ("optional.none()", 29),
        ("sets.contains([1], [1])", 30),
        ("ip('::1')", 31),
        ("format.named('uri')", 32),
        ("[1].all(i, v, v == i)", 33),
        ("[1].first()", 33),
        ("semver('1.2.3')", 34),
        ("[1].sortBy(x, x)", 35),
        ("[1].includes(1)", 38),
    ] {
        assert!(
            verdict(expression, first, ExpectedType::Any) == "dyn"
                || !verdict(expression, first, ExpectedType::Any).contains(' '),
            "{expression}"
        );
        if first > 28 {
            assert!(verdict(expression, first - 1, ExpectedType::Any).contains("Kubernetes 1."), "{expression}");
        }
        let scope = ExpressionScope { minor: 37, is_stored: true, ..ExpressionScope::default() };
        assert!(compiled(expression, &scope, ExpectedType::Any).is_ok(), "{expression}");
    }
}

#[test]
fn a_function_may_be_left_out_again() {
    assert_eq!(verdict("duration(size('a'))", 36, ExpectedType::Any), "duration");
    assert!(verdict("duration(1)", 36, ExpectedType::Any).contains("does not take a number"));
    assert_eq!(verdict("duration(size('a'))", 37, ExpectedType::Any), "the function `duration` does not take `int`");
    let selector = "authorizer.requestResource.fieldSelector('a=b').check('get').allowed()";
    assert_eq!(verdict(selector, 32, ExpectedType::Any), "bool");
    assert!(verdict(selector, 31, ExpectedType::Any).contains("it came with 1.32"));
}

#[test]
fn types_that_grow_without_end_are_not_looked_at() {
    for (start, step, end) in [
        ("[1]", ".map(x, {[x]: x})", ""),
        ("[1]", ".map(x, [[x]])", ""),
        ("[[]]", ".map(x, [x, []])", ""),
        ("optional.of(1)", ".optMap(x, {[x]: [x]})", ""),
        ("", "[[],", &"]".repeat(100)),
    ] {
        let expression = format!("{start}{}{end}", step.repeat(100));
        verdict(&expression, 37, ExpectedType::Bool);
    }
    let many = vec!["[]"; 8_000].join(" == ");
    verdict(&many, 37, ExpectedType::Bool);
    let many = format!("[{}]", vec!["[]"; 16_000].join(","));
    verdict(&many, 37, ExpectedType::Bool);
}

#[test]
fn every_line_of_the_table_is_read() {
    let lines = include_str!("declared.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let words = ["library ", "server ", "server-up-to ", "patches", "object "];
    let lines: Vec<&str> = lines.filter(|line| !words.iter().any(|word| line.starts_with(word))).collect();
    let functions = lines.iter().filter(|line| line.starts_with(['+', '-']));
    let repeated = |line: &str| {
        if line.contains("comparable") {
            8
        } else if line.contains("summable") {
            4
        } else {
            1
        }
    };
    let functions_read: usize = functions.clone().map(|line| repeated(line)).sum();
    let fields = lines.len() - functions.count();
    assert_eq!(Declared::get().len(), (functions_read, fields));
}

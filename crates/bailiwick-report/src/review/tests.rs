//! Tests of the forms on reviews of different sizes and with hostile names.

use std::io::Read as _;

use bailiwick_analysis::subject_classes::SubjectClass;
use bailiwick_review::{ChangeReview, ObjectShape, PathChange};
use clap::ValueEnum as _;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde_json::Value;

use super::{ReviewForm, ReviewFormOptions, samples};

const LINKS: &str = "https://forge.example/blob/9e07d1";

fn with_links() -> ReviewFormOptions {
    ReviewFormOptions {
        link_base: Some(LINKS.to_owned()),
        earlier_link_base: Some(LINKS.to_owned()),
        report_url: Some("https://forge.example/report.html".to_owned()),
        ..ReviewFormOptions::default()
    }
}

fn written(form: ReviewForm, review: &ChangeReview) -> String {
    form.write(review, &with_links())
}

fn value(form: ReviewForm, review: &ChangeReview) -> Value {
    serde_json::from_str(&written(form, review)).expect("JSON")
}

/// Hostile parts of names; a name has three of them.
const PARTS: [&str; 40] = [
    "`",
    "``",
    "```",
    "~~~",
    "|",
    "\\|",
    "\\",
    "<img src=x onerror=alert(1)>",
    "</details>",
    "<!--",
    "-->",
    "![x](http://a.b/c)",
    "[x](http://a.b)",
    "[x]: http://a.b",
    "http://a.b",
    "www.a.b",
    "a@b.example",
    "@team",
    "#12",
    "GH-12",
    "# x",
    "\n# x",
    "\r\n",
    "\n\n",
    "---",
    "===",
    "* x",
    "1. x",
    "> x",
    "    x",
    "\u{202e}",
    "\u{200b}",
    "\u{feff}",
    "\u{0}",
    "\u{378}",
    "é🦀",
    "&lt;b&gt;",
    "<script>",
    "${x}",
    "%%{init}%%",
];

/// Returns a name with three parts, another one for each number.
fn hostile(number: usize) -> String {
    let part = |index: usize| PARTS.get(index % PARTS.len()).copied().expect("a part");
    let glue = if number.is_multiple_of(3) { " " } else { "" };
    [part(number), part(number / PARTS.len() * 7 + number + 1), part(number * 13 + 5)].join(glue)
}

/// The headings of the skeleton.
const HEADINGS: [&str; 8] = [
    "Hazards",
    "Diagnostics",
    "Paths",
    "Pods, nodes, applier and lifetimes",
    "Tests",
    "Objects",
    "Findings",
    "more, needs ",
];

/// Compares a comment with the skeleton: no HTML, image, link or heading of a name.
fn assert_skeleton(text: &str) {
    let first = text.lines().next().expect("a line");
    assert!(first.starts_with("<!-- bailiwick:review workspace=") && first.ends_with(" v=1 -->"), "{first}");
    assert!(!first.get(5..first.len() - 3).expect("a comment").contains('-'), "{first}");
    let rest = text.split_once('\n').expect("a line").1;
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_FOOTNOTES;
    let (mut heading, mut cells, mut depth) = (None, 0, 0);
    for event in Parser::new_ext(rest, options | Options::ENABLE_GFM) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => heading = Some((level, String::new())),
            Event::End(TagEnd::Heading(_)) => {
                let (level, title) = heading.take().expect("a heading");
                assert!(level == HeadingLevel::H2 || HEADINGS.contains(&title.as_str()), "{title}: {text}");
            }
            Event::Html(html) => {
                depth += html.matches("<details>").count();
                depth -= html.matches("</details>").count();
                let html = html.trim_end();
                let is_summary = html.starts_with("<summary>Path ") && html.ends_with("</summary>");
                assert!(is_summary || ["<details>", "</details>"].contains(&html), "{html}: {text}");
            }
            Event::InlineHtml(html) => panic!("{html}: {text}"),
            Event::Start(Tag::Image { .. }) | Event::FootnoteReference(_) => panic!("{text}"),
            Event::Start(Tag::Link { dest_url, .. }) => {
                assert!(dest_url.starts_with("https://forge.example/"), "{dest_url}: {text}");
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => panic!("{text}"),
            Event::Start(Tag::TableHead | Tag::TableRow) => cells = 0,
            Event::Start(Tag::TableCell) => cells += 1,
            Event::End(TagEnd::TableHead | TagEnd::TableRow) => assert_eq!(cells, 6, "{text}"),
            Event::Text(words) | Event::Code(words) => {
                let is_shown = |letter: char| !bailiwick_yaml::diag::foreign::is_hidden(letter) || letter == '\n';
                assert!(words.chars().all(is_shown), "{words:?}");
                if let Some((_, title)) = &mut heading {
                    title.push_str(&words);
                }
            }
            _ => {}
        }
    }
    assert_eq!(depth, 0, "{text}");
}

#[test]
fn no_name_becomes_markup_in_a_comment() {
    for number in 0..1_000 {
        let name = hostile(number);
        assert_skeleton(&written(ReviewForm::Markdown, &samples::with_names(&name)));
    }
}

/// `REVIEW_FORMS=DIR` writes the samples for the checks of `tests/browser`.
#[test]
fn samples_are_written() {
    let Some(folder) = std::env::var_os("REVIEW_FORMS") else { return };
    let folder = repository_path(&folder);
    let names = folder.join("names");
    std::fs::create_dir_all(&names).expect("a folder");
    let reviews = [
        ("empty", samples::empty()),
        ("small", samples::small()),
        ("hostile", samples::with_names(&hostile(8))),
        ("huge", samples::huge()),
        ("tenants", samples::with_tenants(100_000)),
    ];
    for (name, review) in reviews {
        for form in ReviewForm::value_variants() {
            let end = form.to_possible_value().expect("a name");
            let file = folder.join(format!("{name}.{}", end.get_name()));
            std::fs::write(file, written(*form, &review)).expect("a file");
        }
    }
    for number in 0..1_000 {
        let text = written(ReviewForm::Markdown, &samples::with_names(&hostile(number)));
        std::fs::write(names.join(format!("{number}.markdown")), text).expect("a file");
    }
}

/// Returns a path below the repository.
fn repository_path(path: &std::ffi::OsStr) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Returns the parts of a page that are tags, with their attributes.
fn tags(page: &str) -> Vec<String> {
    page.split('<').skip(1).filter_map(|part| part.split_once('>')).map(|(tag, _)| tag.to_owned()).collect()
}

#[test]
fn no_name_becomes_markup_in_a_page() {
    // Another harmless name has the same tags, except the numbers of lines and addresses with names.
    let shape = |page: &str| -> Vec<String> {
        let body = page.split_once("</style>").expect("a style").1;
        let body = body.split_once("<script").expect("a script").0;
        let all = tags(body).into_iter().filter(|tag| !tag.contains("wbr") && !tag.starts_with("a href=\"https"));
        all.map(|tag| tag.split(" d=").next().expect("a tag").to_owned()).collect()
    };
    let count = |tags: &[String], name: &str| tags.iter().filter(|tag| tag.starts_with(name)).count();
    let plain = shape(&written(ReviewForm::Html, &samples::with_names("name")));
    for number in (0..1_000).step_by(7) {
        let page = shape(&written(ReviewForm::Html, &samples::with_names(&hostile(number))));
        for name in
            ["img", "script", "!--", "details", "section", "article", "table", "td", "h1", "h2", "h3", "svg", "a "]
        {
            assert_eq!(count(&page, name), count(&plain, name), "{name}, {:?}", hostile(number));
        }
        assert!(page.iter().all(|tag| !tag.contains(" on") && !tag.contains(" style=")), "{page:?}");
    }
}

#[test]
fn no_name_becomes_a_command_or_a_line() {
    for number in 0..200 {
        let review = samples::with_names(&hostile(number));
        let github = written(ReviewForm::Github, &review);
        assert!(github.lines().all(|line| line.starts_with("::")), "{github}");
        let text = written(ReviewForm::Text, &review);
        assert!(text.lines().all(|line| !line.starts_with("::")), "{text}");
        for form in [ReviewForm::Json, ReviewForm::Sarif, ReviewForm::Gitlab] {
            value(form, &review);
        }
    }
}

#[test]
fn a_comment_is_never_longer_than_its_budget() {
    for review in [samples::huge(), samples::small(), samples::empty()] {
        for budget in [0, 40, 100, 300, 700, 1_500, 4_000, 10_000, 30_000, 65_536, 1 << 20] {
            let text = ReviewForm::Markdown.write(&review, &ReviewFormOptions { budget, ..with_links() });
            assert!(text.len() <= budget, "{} of {budget}", text.len());
            if !text.is_empty() {
                assert_skeleton(&text);
            }
        }
    }
}

#[test]
fn a_comment_has_the_numbers_of_left_out_items() {
    let review = samples::huge();
    let text = written(ReviewForm::Markdown, &review);
    let shown = text.lines().filter(|line| line.starts_with("| high |")).count();
    assert!(shown > 5, "{shown}");
    assert!(text.contains(&format!("\nand {} further classes; all of them are in the report\n", 1_000 - shown)));
    assert!(text.contains("\nand 45 further paths; "), "{text}");
    assert!(text.contains("\nand 80 further hazards; "), "{text}");
    let shapes = text.matches("```diff").count() - 1;
    let more = crate::human::grouped(3_000 - shapes);
    assert!(shapes > 20 && text.contains(&format!("\nand {more} further shapes; ")), "{shapes}");
    assert!(text.contains(" further findings; "), "{text}");
    assert!(text.len() > 55_000, "{}", text.len());
    let small = ReviewForm::Markdown.write(&review, &ReviewFormOptions { budget: 1_500, ..with_links() });
    assert!(small.contains("Left out for want of room: "), "{small}");
}

#[test]
fn a_comment_describes_a_whole_file_by_its_kinds() {
    let mut review = samples::small();
    let objects =
        ["Namespace", "Role", "Role", "x`](y)\n@team"].map(|kind| format!("+kind: {kind}\n+metadata:\n+  name: n\n"));
    let file = |objects: &str| format!("--- /dev/null\n+++ b/out/a.yaml\n@@ -0,0 +1,9 @@\n{objects}");
    let shape = |diff: String| ObjectShape { count: 1, targets: Vec::new(), sample: "out/a.yaml".to_owned(), diff };
    let long = objects.concat() + &"+  # a line\n".repeat(40);
    review.objects.shapes = vec![shape(file(&long))];
    let text = written(ReviewForm::Markdown, &review);
    let line = text.lines().find(|line| line.contains("a new file")).expect("a line");
    assert!(line.contains("`out/a.yaml`"), "{line}");
    assert!(line.contains("a new file with 4 objects: 1 `Namespace`, 2 `Role`, 1 ``x`](y)``"), "{line}");
    assert!(!text.contains("a line"), "{text}");
    // A short file, and a changed one, are shown.
    for diff in [file(&objects.concat()), file(&long).replacen("/dev/null", "a/out/a.yaml", 1)] {
        review.objects.shapes = vec![shape(diff)];
        let text = written(ReviewForm::Markdown, &review);
        assert!(text.contains("+kind: Namespace") && !text.contains("a new file"), "{text}");
    }
}

#[test]
fn alike_paths_are_one_entry_with_the_other_subjects() {
    let mut review = samples::small();
    let first = review.paths.first().expect("a path").clone();
    let hostile = "Group/a`|<b>\n@team";
    let class = review.classes.len();
    review.classes.push(SubjectClass {
        id: class,
        template: hostile.to_owned(),
        ..review.classes[first.class].clone()
    });
    review.paths.push(PathChange { id: review.paths.len(), class, ..first.clone() });
    let count = review.paths.len() - 1;
    for form in [ReviewForm::Text, ReviewForm::Markdown, ReviewForm::Html] {
        let (before, text) = (written(form, &samples::small()), written(form, &review));
        assert!(text.contains("; likewise ") && !before.contains("; likewise "), "{form:?}: {text}");
        assert!(form != ReviewForm::Html || !text.contains("<b>"), "{text}");
    }
    let markdown = written(ReviewForm::Markdown, &review);
    assert_eq!(markdown.matches("<summary>Path ").count(), count, "{markdown}");
    // Another severity or certainty is another entry.
    review.paths.last_mut().expect("a path").certainty = "possible".to_owned();
    let markdown = written(ReviewForm::Markdown, &review);
    assert_eq!(markdown.matches("<summary>Path ").count(), count + 1, "{markdown}");
}

#[test]
fn every_form_has_the_verdict() {
    let review = samples::small();
    for form in ReviewForm::value_variants() {
        let text = written(*form, &review).replace('`', "");
        let has_verdict = text.contains(&review.line) || *form == ReviewForm::Gitlab;
        assert!(has_verdict, "{form:?}: {text}");
        assert_eq!(written(*form, &review), written(*form, &review));
    }
    assert!(written(ReviewForm::Text, &review).starts_with(&format!("{}\n", review.line)));
}

#[test]
fn a_comment_has_its_sections_in_order() {
    let text = written(ReviewForm::Markdown, &samples::small());
    let marks = [
        "<!-- bailiwick:review workspace=fleet v=1 -->\n## more, needs `@example/security`: Group/sre becomes cluster-admin\n",
        "\n> [!CAUTION]\n> - `Group/sre` becomes `cluster-admin` on `okd`, `prod`: 2 steps, proven\n",
        "\n### Hazards\n",
        "\n| critical | `Group/sre` | `monitoring`, `platform-ops` on `okd`, `prod` | `create` on `pods` | ",
        "\n**Unchanged:** ",
        "\n```mermaid\ngraph LR\n  n1([\"Group/sre\"]) == \"NEW create-pods in platform-ops\" ==> n2[\"",
        "\n<details>\n<summary>Path 1</summary>\n\n1. **new** `Group/sre` → ",
        "\nCloses this path: a grant in `monitoring` alone\n\n```diff\n",
        "\n### Pods, nodes, applier and lifetimes\n",
        "\n### Tests\n",
        "\n### Objects\n",
        "\n12 files, such as `fleet/out/prod/namespaces/shop-back.yaml`\n\n```diff\n",
        "\n### Findings\n",
        "\nbase `4f1c2ab90412` · head `9e07d13aa844` · `bailiwick review` · exit code 1 · [HTML report](",
    ];
    let mut from = 0;
    for mark in marks {
        let rest = text.get(from..).expect("a rest");
        from += rest.find(mark).unwrap_or_else(|| panic!("{mark} is missing in\n{rest}")) + mark.len() - 1;
    }
}

#[test]
fn every_form_has_the_diagnostics_of_an_invalid_state() {
    let mut review = samples::empty();
    (review.verdict, review.exit, review.line) = (None, 2, "the policies do not compile".to_owned());
    review.diagnostics = vec![samples::diagnostic("the role `x` is not there")];
    for form in ReviewForm::value_variants() {
        let text = written(*form, &review);
        assert!(text.contains("is not there"), "{form:?}: {text}");
    }
}

#[test]
fn json_has_the_first_thousand_members() {
    let review = samples::with_tenants(1_200);
    let members = |options: &ReviewFormOptions| {
        let value: Value = serde_json::from_str(&ReviewForm::Json.write(&review, options)).expect("JSON");
        assert_eq!(value["classes"][1]["count"], 1_200);
        value["classes"][1]["members"].as_array().map(Vec::len)
    };
    assert_eq!(members(&ReviewFormOptions::default()), Some(1_000));
    assert_eq!(members(&ReviewFormOptions { writes_all_members: true, ..ReviewFormOptions::default() }), Some(1_200));
}

#[test]
fn sarif_has_one_result_for_each_power_with_the_steps_to_it() {
    let log = value(ReviewForm::Sarif, &samples::small());
    let run = &log["runs"][0];
    assert_eq!(run["properties"]["verdict"], samples::small().line.as_str());
    let results = run["results"].as_array().expect("results");
    let rules: Vec<&str> = results.iter().filter_map(|result| result["ruleId"].as_str()).collect();
    assert_eq!(
        rules,
        [
            "create-pods/critical",
            "create-pods/critical",
            "namespace-deleted/high",
            "pods-changed/high",
            "test-failing/high",
            "test-disarmed/high",
            "read-secrets/high",
            "lifetime-changed/medium",
            "access-gained/low",
        ]
    );
    let first = &results[0];
    let steps = first["codeFlows"][0]["threadFlows"][0]["locations"].as_array().expect("steps");
    assert_eq!(steps[0]["importance"], "essential");
    assert_eq!(steps[1]["location"]["logicalLocations"][0]["fullyQualifiedName"], "ClusterRole/cluster-admin");
    assert!(steps[1]["location"].get("physicalLocation").is_none());
    assert_eq!(first["locations"][0]["physicalLocation"]["region"]["startLine"], 29);
    assert!(results[1]["message"]["text"].as_str().expect("a text").ends_with("; opens nodes"));
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    for result in results {
        let rule = &rules[result["ruleIndex"].as_u64().expect("a position") as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        let prints = &result["partialFingerprints"];
        assert_eq!(prints["bailiwick/v1"], prints["primaryLocationLineHash"]);
    }
    assert_eq!(
        rules.iter().find(|rule| rule["id"] == "create-pods/critical").expect("a rule")["properties"]["security-severity"],
        "9.5"
    );
}

#[test]
fn sarif_has_lost_paths_on_request() {
    let options = ReviewFormOptions { writes_absent: true, ..with_links() };
    let log: Value = serde_json::from_str(&ReviewForm::Sarif.write(&samples::small(), &options)).expect("JSON");
    let results = log["runs"][0]["results"].as_array().expect("results");
    let absent: Vec<&Value> = results.iter().filter(|result| result["baselineState"] == "absent").collect();
    assert_eq!(absent.len(), 2);
    assert!(absent.iter().all(|result| result["level"] == "none"));
}

#[test]
fn sarif_leaves_out_the_least_results_and_numbers_equal_ones() {
    let mut review = samples::huge();
    let finding = review.findings.new.first().cloned().expect("a finding");
    review.findings.new = (0..100_000)
        .map(|line| bailiwick_review::ReviewedFinding { line: Some(100_000 - line), ..finding.clone() })
        .collect();
    let log = value(ReviewForm::Sarif, &review);
    let run = &log["runs"][0];
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 5_000);
    let note = run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].as_str().expect("a text");
    assert!(note.contains(" results were left out"), "{note}");
    let print = |line: u64| {
        let of_line = |result: &&Value| {
            result["ruleId"] == "read-secrets/high"
                && result["locations"][0]["physicalLocation"]["region"]["startLine"] == line
        };
        results.iter().find(of_line).map(|result| result["partialFingerprints"]["bailiwick/v1"].clone())
    };
    assert_eq!(print(100_000), Some(format!("{}:100000", finding.fingerprint).into()));
    let mut prints: Vec<&str> =
        results.iter().filter_map(|result| result["partialFingerprints"]["bailiwick/v1"].as_str()).collect();
    prints.sort_unstable();
    prints.dedup();
    assert_eq!(prints.len(), 5_000);
}

#[test]
fn github_shows_ten_errors_and_counts_the_rest() {
    let text = written(ReviewForm::Github, &samples::huge());
    assert_eq!(text.matches("::error ").count(), 10);
    assert_eq!(text.matches("::notice ").count(), 1);
    assert!(text.lines().last().expect("a line").contains(" further results"), "{text}");
}

#[test]
fn gitlab_has_no_violation_without_a_result() {
    assert_eq!(written(ReviewForm::Gitlab, &samples::empty()), "[]\n");
    let list = value(ReviewForm::Gitlab, &samples::small());
    assert_eq!(list[0]["severity"], "blocker");
    assert_eq!(list[0]["location"]["lines"]["begin"], 29);
}

#[test]
fn junit_fails_like_the_review() {
    assert!(written(ReviewForm::Junit, &samples::empty()).contains("failures=\"0\" errors=\"0\""));
    let text = written(ReviewForm::Junit, &samples::small());
    assert!(
        text.contains("<testsuite name=\"AccessTest sre-stays-below-admin on prod\" tests=\"2\" failures=\"2\""),
        "{text}"
    );
    assert!(text.contains("<testsuite name=\"hazards\" tests=\"1\" failures=\"1\""), "{text}");
}

#[test]
fn a_page_has_the_policy_of_its_style_and_script() {
    let page = written(ReviewForm::Html, &samples::small());
    for (open, close, source) in [("<style>", "</style>", "style-src"), ("<script>", "</script>", "script-src")] {
        let text = page.split_once(open).expect("an element").1.split_once(close).expect("its end").0;
        assert!(page.contains(&format!("{source} '{}'", crate::html_page::hash(text))), "{source}");
        assert!(text.len() <= 12_000, "{}", text.len());
    }
    assert!(page.contains("<svg viewBox=") && page.contains("<th scope=\"row\">"), "{page}");
    assert!(!page.contains("undefined") || page.matches("undefined").count() == 1, "{page}");
}

#[test]
fn a_page_is_small_and_has_all_members() {
    for count in [0, 180, 100_000] {
        let page = written(ReviewForm::Html, &samples::with_tenants(count));
        assert!(page.len() * 10 <= 600_000 + 35 * count, "{} for {count}", page.len());
    }
    let page = written(ReviewForm::Html, &samples::with_tenants(1_000));
    let block = page.split_once("id=\"members\">\"").expect("a block").1.split_once('"').expect("an end").0;
    let bytes = data_encoding::BASE64.decode(block.as_bytes()).expect("base64");
    let mut text = String::new();
    flate2::read::DeflateDecoder::new(bytes.as_slice()).read_to_string(&mut text).expect("deflate");
    assert_eq!(text.lines().count(), 1_002 + 3 * 2);
}

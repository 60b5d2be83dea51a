"""Renders comments as GitHub does, and compares their elements with the skeleton. README.md describes the call."""

import html.parser
import pathlib
import re
import sys

import cmarkgfm
from cmarkgfm.cmark import Options

ELEMENTS = {
    "h2", "h3", "p", "ul", "ol", "li", "blockquote", "strong", "em", "code", "pre", "table", "thead", "tbody", "tr", "th", "td",
    "a", "details", "summary", "input", "hr",
}
TITLES = {"Hazards", "Diagnostics", "Paths", "Pods, nodes, applier and lifetimes", "Tests", "Objects", "Findings"}


class Elements(html.parser.HTMLParser):
    def __init__(self, name):
        super().__init__()
        self.name, self.heading, self.problems = name, None, []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in ELEMENTS:
            self.problems.append(f"<{tag}>")
        if tag == "a" and not (attributes.get("href") or "").startswith("https://forge.example/"):
            self.problems.append(f"link {attributes.get('href')}")
        if any(attribute.startswith("on") or attribute == "style" for attribute in attributes):
            self.problems.append(f"<{tag}> with {sorted(attributes)}")
        if tag in ("h2", "h3"):
            self.heading = (tag, "")

    def handle_data(self, data):
        if self.heading:
            self.heading = (self.heading[0], self.heading[1] + data)

    def handle_endtag(self, tag):
        if tag in ("h2", "h3") and self.heading:
            if tag == "h3" and self.heading[1] not in TITLES:
                self.problems.append(f"heading {self.heading[1]}")
            self.heading = None


def main(folder):
    files = sorted(pathlib.Path(folder).glob("**/*.markdown"))
    count = 0
    for path in files:
        first, rest = path.read_text(encoding="utf-8").split("\n", 1)
        if not re.fullmatch(r"<!-- bailiwick:review workspace=[A-Za-z0-9._/%]* v=1 -->", first):
            print(f"{path}: {first}")
            count += 1
        elements = Elements(path)
        elements.feed(cmarkgfm.github_flavored_markdown_to_html(rest, options=Options.CMARK_OPT_UNSAFE))
        for problem in elements.problems[:3]:
            print(f"{path}: {problem}")
        count += len(elements.problems)
    print(f"{len(files)} comments, {count} problems")
    return 1 if count or not files else 0


sys.exit(main(sys.argv[1]))

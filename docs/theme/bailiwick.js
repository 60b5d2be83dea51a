// Mends parts of mdBook's pages for keyboards and screen readers.
(() => {
  document.getElementById("mdbook-menu-bar").setAttribute("role", "banner");

  // A label of a hidden checkbox opens the table of contents, and no key reaches it. A button takes its place.
  const label = document.getElementById("mdbook-sidebar-toggle");
  const checkbox = document.getElementById("mdbook-sidebar-toggle-anchor");
  const button = document.createElement("button");
  button.type = "button";
  for (const { name, value } of label.attributes) if (name !== "for") button.setAttribute(name, value);
  button.append(...label.childNodes);
  label.replaceWith(button);
  button.addEventListener("click", () => checkbox.click());
  checkbox.addEventListener("change", () => button.setAttribute("aria-expanded", checkbox.checked));

  // A reader without a mouse scrolls wide code and wide tables with the arrow keys.
  const mark = () => {
    for (const box of document.querySelectorAll("main pre > code, main .table-wrapper")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  mark();
  window.addEventListener("resize", mark);
})();

// Mends parts of mdBook's pages for keyboards and screen readers.
(() => {
  document.getElementById("mdbook-menu-bar").setAttribute("role", "banner");
  document.getElementById("mdbook-search-wrapper").setAttribute("role", "search");
  document.getElementById("mdbook-searchbar").setAttribute("aria-label", "Search this book");

  // A label of a hidden checkbox opens the table of contents, and no key reaches it. A button clicks the label.
  const label = document.getElementById("mdbook-sidebar-toggle");
  const checkbox = document.getElementById("mdbook-sidebar-toggle-anchor");
  const button = document.createElement("button");
  button.id = "contents-button";
  button.type = "button";
  button.className = label.className;
  button.title = label.title;
  button.setAttribute("aria-controls", "mdbook-sidebar");
  button.append(...label.childNodes);
  label.style.display = "none";
  label.after(button);
  const update = () => button.setAttribute("aria-expanded", checkbox.checked);
  update();
  checkbox.addEventListener("change", update);
  button.addEventListener("click", () => label.click());

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

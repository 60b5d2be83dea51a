// The page itself: accessibility in each scheme and width, the keyboard, a shared link, and the page as a file.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { open, pressRun, violations } from "./browser.js";

const pictures = process.env.PICTURES;

export const look = async ({ browser, address, folder, problems }) => {
  const expect = (holds, text) => holds || problems.push(`page: ${text}`);
  let checked = 0;
  for (const [name, options] of [
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    ["phone", { colorScheme: "light", viewport: { width: 360, height: 740 } }],
    ["phone-dark", { colorScheme: "dark", viewport: { width: 360, height: 740 } }],
  ]) {
    const { context, page } = await open(browser, address, problems, options);
    await page.waitForSelector("body[data-state=idle]");
    for (const [index, kind] of [[0, "can-i"], [4, null], [2, "lint"]]) {
      await page.selectOption("#example", String(index));
      await page.click("#load");
      if (kind !== null) await page.selectOption("#kind", kind);
      if (kind === "can-i") await page.fill("#group", "team-a");
      const before = await violations(page);
      const answer = await pressRun(page);
      expect(answer.code !== null, `${name}: example ${index}: ${answer.status}`);
      for (const found of [...before, ...(await violations(page))]) problems.push(`page: ${name}: axe: ${found}`);
      checked += 2;
      const width = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(width <= 0, `${name}: the page is ${width} pixels too wide`);
      if (pictures) {
        mkdirSync(pictures, { recursive: true });
        await page.screenshot({ path: join(pictures, `${name}-${index}.png`), fullPage: true });
      }
    }
    await context.close();
  }
  console.log(`playground: axe-core on ${checked} states`);
  await useKeyboard({ browser, address, problems }, expect);
  await share({ browser, address, problems }, expect);
  await openFile({ browser, folder, problems }, expect);
};

const useKeyboard = async ({ browser, address, problems }, expect) => {
  const { context, page } = await open(browser, address, problems);
  await page.waitForSelector("body[data-state=idle]");
  const reached = new Set();
  for (let presses = 0; presses < 40 && !reached.has("run"); presses += 1) {
    await page.keyboard.press("Tab");
    const [id, outline] = await page.evaluate(() => [document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]);
    reached.add(id);
    expect(outline !== "none", `the focus on ${id} is not visible`);
  }
  for (const id of ["example", "load", "path", "text", "kind", "command", "today", "run"]) {
    expect(reached.has(id), `the keyboard does not reach ${id}`);
  }
  await page.keyboard.press("Enter");
  await page.waitForSelector("body[data-exit-code='0']");
  // A place of a diagnostic leads into its file.
  await page.selectOption("#example", "4");
  await page.click("#load");
  await pressRun(page);
  await page.focus("#places button");
  await page.keyboard.press("Enter");
  const [id, line] = await page.evaluate(() => {
    const text = byId("text");
    return [document.activeElement.id, text.value.slice(0, text.selectionStart).split("\n").length];
  });
  const place = await page.textContent("#places button");
  expect(id === "text" && place.includes(`:${line}:`), `${place} leads to line ${line} of ${id}`);
  await context.close();
};

const share = async ({ browser, address, problems }, expect) => {
  const { context, page } = await open(browser, address, problems);
  await page.waitForSelector("body[data-state=idle]");
  await page.fill("#text", "a: ü\n");
  await page.fill("#command", "lint --from 'a b'");
  await page.click("#share");
  await page.waitForSelector("#shared:not([hidden])");
  const link = await page.inputValue("#link");
  await context.close();
  const opened = await open(browser, link, problems);
  await opened.page.waitForSelector("body[data-from=link]");
  const [text, command] = [await opened.page.inputValue("#text"), await opened.page.inputValue("#command")];
  expect(text === "a: ü\n" && command === "lint --from 'a b'", `a shared link: ${text} ${command}`);
  await opened.context.close();
};

const openFile = async ({ browser, folder, problems }, expect) => {
  const found = [];
  const { context, page } = await open(browser, pathToFileURL(join(folder, "index.html")).href, found);
  expect(await page.isVisible("#notice"), "a page from a file has no notice");
  expect(await page.isDisabled("#run"), "a page from a file has Run");
  await context.close();
  const script = await browser.newContext({ javaScriptEnabled: false });
  const plain = await script.newPage();
  await plain.goto(pathToFileURL(join(folder, "index.html")).href);
  expect(await plain.isVisible("#notice"), "a page without scripts has no notice");
  await script.close();
};

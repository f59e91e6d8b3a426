/**
 * Prints how long an HTML report takes to open: of many modules, and to scroll and filter it, too, or of files.
 *
 *     node tests/web/measure.mjs [MODULES [ROUNDS]]
 *     node tests/web/measure.mjs REPORT.html...
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { launchBrowser } from '../editors/vscode/workbench.mjs';
import { large, rendered } from './reports.mjs';

const files = process.argv.slice(2).filter((name) => name.endsWith('.html'));
const [modules = 10_000, rounds = 5] = files.length > 0 ? [] : process.argv.slice(2).map(Number);
const folder = mkdtempSync(path.join(tmpdir(), 'ridgeline-measure-'));
const browser = await launchBrowser();
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const show = (what, values) =>
  console.log(
    `${what}: median ${median(values).toFixed(0)} ms, ${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)} ms`,
  );

/** From an input until the next frame was painted, by the browser's clock. */
const painted = (page, change) =>
  page.evaluate(`new Promise((resolve) => {
  const start = performance.now();
  (${change})();
  requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
})`);

/** A page on which the report is painted, and how long that took since it was asked for, ms. */
async function opened(file) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.goto(`file://${file}`);
  await page.getByRole('region', { name: 'Closure' }).waitFor();
  return [
    page,
    await page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))),
    ),
  ];
}

async function measureFile(file) {
  const times = [];
  for (let round = 0; round < rounds; ++round) {
    const [page, ms] = await opened(path.resolve(file));
    times.push(ms);
    await page.close();
  }
  show(`${path.basename(file)}, ${(statSync(file).size / 1024).toFixed(0)} KiB, opens`, times);
}

async function measureMany() {
  const file = rendered(folder, large(modules), 'html');
  console.log(
    `${modules} module instances and lines, ${(statSync(file).size / 2 ** 20).toFixed(1)} MiB; ${cpus().length} processors, load ${loadavg()[0].toFixed(1)} when it began`,
  );
  const times = { open: [], scroll: [], filter: [], sort: [], resource: [] };
  for (let round = 0; round < rounds; ++round) {
    const [page, ms] = await opened(file);
    times.open.push(ms);
    for (let i = 1; i <= 10; ++i)
      times.scroll.push(
        await painted(page, `() => { document.querySelector('.lines .scroller').scrollTop = ${i * 20_000}; }`),
      );
    for (const text of ['n', 'ne', 'net.py:5', 'net.py:57', 'net', '']) {
      times.filter.push(
        await painted(
          page,
          `() => { const input = document.querySelector('.modules .filter'); input.value = '${text}'; input.dispatchEvent(new Event('input')); }`,
        ),
      );
    }
    for (let i = 0; i < 4; ++i)
      times.sort.push(await painted(page, `() => document.querySelectorAll('.modules .sort')[${i}].click()`));
    times.resource.push(await painted(page, `() => document.querySelector('input[value=memory]').click()`));
    await page.close();
  }
  for (const [what, values] of Object.entries(times)) show(what, values);
}

try {
  for (const file of files) await measureFile(file);
  if (files.length === 0) await measureMany();
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Prints how long the HTML report of many modules takes: node tests/web/measure.mjs [MODULES [ROUNDS]] */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { launchBrowser } from '../editors/vscode/workbench.mjs';
import { large, rendered } from './reports.mjs';

const [modules = 10_000, rounds = 5] = process.argv.slice(2).map(Number);
const folder = mkdtempSync(path.join(tmpdir(), 'ridgeline-measure-'));
const browser = await launchBrowser();
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const show = (what, values) => console.log(`${what}: median ${median(values).toFixed(0)} ms, ${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)} ms`);

/** From an input until the next frame was painted, by the browser's clock. */
const painted = (page, change) => page.evaluate(`new Promise((resolve) => {
  const start = performance.now();
  (${change})();
  requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
})`);

try {
  const file = rendered(folder, large(modules), 'html');
  console.log(`${modules} module instances and lines, ${(statSync(file).size / 2 ** 20).toFixed(1)} MiB; ${cpus().length} processors, load ${loadavg()[0].toFixed(1)} when it began`);
  const times = { open: [], scroll: [], filter: [], sort: [], resource: [] };
  for (let round = 0; round < rounds; ++round) {
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    await page.goto(`file://${file}`);
    await page.getByRole('region', { name: 'Closure' }).waitFor();
    times.open.push(await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(performance.now()))))));
    for (let i = 1; i <= 10; ++i) times.scroll.push(await painted(page, `() => { document.querySelector('.lines .scroller').scrollTop = ${i * 20_000}; }`));
    for (const text of ['n', 'ne', 'net.py:5', 'net.py:57', 'net', '']) {
      times.filter.push(await painted(page, `() => { const input = document.querySelector('.modules .filter'); input.value = '${text}'; input.dispatchEvent(new Event('input')); }`));
    }
    for (let i = 0; i < 4; ++i) times.sort.push(await painted(page, `() => document.querySelectorAll('.modules .sort')[${i}].click()`));
    times.resource.push(await painted(page, `() => document.querySelector('input[value=memory]').click()`));
    await page.close();
  }
  for (const [what, values] of Object.entries(times)) show(what, values);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}

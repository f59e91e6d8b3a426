/** The page of `ridgeline what-if --format html` in a real browser, of a trace: nothing is run for it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { launchBrowser } from '../editors/vscode/workbench.mjs';
import { binary, root } from './reports.mjs';

let browser;
let folder;
let file;
before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'ridgeline-what-if-'));
  const trace = path.join(folder, 'trace.json');
  execFileSync(
    path.join(root, '.venv/bin/python'),
    [
      '-c',
      'import json,sys; from gpu_trace import GpuTrace; json.dump(GpuTrace(seed=3).document(), open(sys.argv[1], "w"))',
      trace,
    ],
    { cwd: path.join(root, 'tests/integration'), env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' } },
  );
  file = path.join(folder, 'what-if.html');
  execFileSync(binary, ['what-if', trace, '--format', 'html', '--output', file], {
    env: { ...process.env, RIDGELINE_CACHE: path.join(folder, 'cache') },
  });
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

for (const colorScheme of ['light', 'dark']) {
  test(`the page in ${colorScheme} colours fits, draws its intervals and loads nothing`, async () => {
    const context = await browser.newContext({ viewport: { width: 1000, height: 900 }, colorScheme });
    const page = await context.newPage();
    const complaints = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('request', (request) => {
      if (request.url() !== `file://${file}`) complaints.push(request.url());
    });
    await page.goto(`file://${file}`);
    const rows = await page.locator('tbody tr').count();
    assert.ok(rows > 1);
    assert.equal(await page.locator('tbody svg .predicted').count(), rows, 'each row has its prediction');
    const colours = await page.evaluate(() =>
      ['background-color', 'color'].map((name) => getComputedStyle(document.body).getPropertyValue(name)),
    );
    assert.deepEqual(
      colours,
      colorScheme === 'dark' ? ['rgb(22, 24, 29)', 'rgb(216, 220, 228)'] : ['rgb(255, 255, 255)', 'rgb(27, 31, 38)'],
    );
    // The point of each prediction is on the side of the dashed line that its figure says. What may be either has none.
    for (const row of await page.locator('tbody tr').all()) {
      const figure = await row.locator('td').nth(2).innerText();
      if (/^(unclear|no change)/.test(figure)) {
        assert.equal(await row.locator('.predicted circle').count(), 0);
        continue;
      }
      const speedUp = Number.parseFloat(figure);
      const x = Number(await row.locator('.predicted circle').getAttribute('cx'));
      assert.ok(Math.abs(speedUp - 1) < 0.01 || speedUp > 1 === x > 130, `${speedUp} at ${x}`);
    }
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      'no sideways scrolling of the page',
    );
    assert.deepEqual(complaints, []);
    if (process.env.RIDGELINE_PICTURES)
      await page.screenshot({
        path: path.join(process.env.RIDGELINE_PICTURES, `what-if-${colorScheme}.png`),
        fullPage: true,
      });
    await context.close();
  });
}

/** The HTML report in a real browser. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { launchBrowser } from '../editors/vscode/workbench.mjs';
import { large, rendered, sample } from './reports.mjs';

let browser;
let folder;
before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'ridgeline-page-'));
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens a report and hands its page to `use`; whatever the page complains about or asks for fails the test. */
async function open(report, use, { width = 1400, colorScheme = 'light', files, expected } = {}) {
  const file = rendered(folder, report, 'html', files);
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (message) => complaints.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (request.url() !== `file://${file}`) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(`file://${file}`);
  await page.getByRole('region', { name: 'Closure' }).waitFor();
  await use(page);
  assert.deepEqual(
    complaints.filter((complaint) => !expected?.test(complaint)),
    [],
  );
  await context.close();
}

const texts = (locator) => locator.allInnerTexts();
const units = { µs: 1e-3, ms: 1, s: 1e3, min: 6e4, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };
/** What a figure says, in milliseconds or bytes. */
const value = (text) => Number.parseFloat(text) * units[text.split(' ')[1]];
const near = (text, expected, what) =>
  assert.ok(Math.abs(value(text) - expected) <= 0.0051 * Math.abs(expected), `${what}: ${text} for ${expected}`);

test('the figures are those of the JSON report and of the text report', async () => {
  const report = sample();
  const text = readFileSync(rendered(folder, report, 'text'), 'utf8').replace(/\s+/g, ' ');
  await open(report, async (page) => {
    const figures = await texts(page.locator('.card .figure'));
    assert.equal(figures.length, 3);
    for (const figure of figures) assert.ok(text.includes(figure), figure);
    near(figures[1].split(' ±')[0], report.iteration.timeMs, 'iteration');
    near(figures[2], report.memory.peakBytes, 'peak');
    for (const item of await texts(page.locator('.card .legend li'))) assert.ok(text.includes(item.trim()), item);

    const rows = page.getByRole('table', { name: 'Lines' }).getByRole('row');
    const lines = report.lines.toSorted((a, b) => b.timeMs.self - a.timeMs.self);
    for (let i = 0; i < 10; ++i) {
      const cells = await texts(rows.nth(i + 1).getByRole('cell'));
      assert.ok(lines[i].file.endsWith(cells[0].split(':')[0]) && cells[0].endsWith(`:${lines[i].line}`), cells[0]);
      near(cells[2], lines[i].timeMs.self, cells[0]);
      if (lines[i].memoryBytes.atPeak > 0) near(cells[4], lines[i].memoryBytes.atPeak, cells[0]);
    }
    const peak = await page.getByRole('region', { name: 'Memory over time' }).locator('.legend li').first().innerText();
    near(peak.split(' ').slice(-2).join(' '), report.memory.peakBytes, 'peak over time');
  });
});

test('lines and named items add up to the iteration and the peak', async () => {
  await open(sample(), async (page) => {
    const [together, whole] = await texts(page.locator('.sums tfoot tr'));
    assert.deepEqual(together.split('\t').slice(1), whole.split('\t').slice(1));
  });
});

test('names and source lines stay text', async () => {
  const report = sample();
  const hostile = '</script><img src=x onerror="document.title=\'taken\'"><!-- {{x}}';
  report.warnings = [hostile];
  report.breakdown.children[0].name = hostile;
  report.breakdown.children[0].type = hostile;
  report.lines[0].file = `${hostile}.py`;
  report.lines[0].line = 1;
  report.other[0].name = hostile;
  report.skipped[0].message = hostile;
  report.environment.torch = hostile;
  report.environment.inPlaceOf = hostile;
  await open(
    report,
    async (page) => {
      assert.equal(await page.locator('img').count(), 0);
      assert.equal(await page.locator('script').count(), 2);
      assert.notEqual(await page.title(), 'taken');
      assert.ok((await page.locator('.warnings').first().innerText()).includes(hostile));
      const row = page.getByRole('table', { name: 'Lines' }).getByRole('row').nth(1);
      assert.ok((await row.innerText()).includes(hostile));
      assert.ok((await page.locator('.node').nth(1).getAttribute('aria-label')).startsWith(hostile));
      assert.ok((await page.locator('.sums').innerText()).includes(hostile));
    },
    { files: { [`${hostile}.py`]: `${hostile}\n` } },
  );
});

test('no script runs but the one of the page', async () => {
  await open(
    sample(),
    async (page) => {
      const ran = await page.evaluate(() => {
        const script = document.createElement('script');
        script.textContent = 'window.ran = true';
        document.body.append(script);
        return window.ran;
      });
      assert.equal(ran, undefined);
    },
    { expected: /Content Security Policy/ },
  );
});

test('a keyboard is enough', async () => {
  await open(sample(), async (page) => {
    const focused = () =>
      page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent);
    await page.keyboard.press('Tab');
    assert.match(await focused(), /dark theme/);
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(22, 24, 29)');
    await page.keyboard.press('Tab');
    assert.match(await focused(), /more warning/);
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('.warnings').nth(1).isVisible(), true);
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowRight'); // from time to memory
    assert.equal(await page.getByRole('radio', { name: 'memory' }).isChecked(), true);
    assert.ok((await page.locator('.node.memory').count()) > 0);
    await page.keyboard.press('Tab');
    assert.match(await focused(), /^iteration, /);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    const inner = await focused();
    assert.match(inner, /^layer\d, /);
    await page.keyboard.press('Enter'); // opens it, as wide as the page
    assert.equal(await focused(), inner);
    assert.deepEqual((await texts(page.locator('.crumb'))).slice(0, 2), ['iteration', 'ResNet']);
    await page.keyboard.press('Escape');
    assert.equal((await texts(page.locator('.crumb'))).length, 2);

    const table = page.getByRole('table', { name: 'Lines' });
    await page.getByRole('searchbox', { name: 'Filter lines' }).focus();
    await page.keyboard.type('entry.py:34');
    await page.getByText(/^1 of \d+ lines/).waitFor();
    assert.equal(await table.getByRole('row').count(), 2);
    await page.keyboard.press('Escape'); // clears a search field
    await page.getByText(/^20 of 25 lines ·/).waitFor(); // five without time are folded
    await table.getByRole('button', { name: 'Memory' }).focus();
    await page.keyboard.press('Enter');
    assert.equal(await table.getByRole('columnheader', { name: 'Memory' }).getAttribute('aria-sort'), 'descending');
    const held = (await texts(table.locator('.rows .memory'))).map(value);
    assert.deepEqual(
      held,
      held.toSorted((a, b) => b - a),
    );

    const chart = page.getByRole('img', { name: /^Live memory/ });
    await chart.focus();
    await page.keyboard.press('ArrowRight');
    await page.getByText('at 0 ms').waitFor();
  });
});

test('the theme follows the system', async () => {
  await open(
    sample(),
    async (page) => {
      const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(await paper(), 'rgb(22, 24, 29)');
      await page.emulateMedia({ colorScheme: 'light' });
      assert.equal(await paper(), 'rgb(255, 255, 255)');
    },
    { colorScheme: 'dark' },
  );
});

for (const name of ['sample', 'device']) {
  test(`nothing of ${name} is wider than a phone`, async () => {
    await open(
      sample(name),
      async (page) => {
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 400);
      },
      { width: 400 },
    );
  });
}

test('a device is shown with what waits for what', async () => {
  await open(sample('device'), async (page) => {
    const device = page.getByRole('region', { name: 'Device' });
    assert.match(await device.innerText(), /a kernel runs for \d+ %/);
    assert.match(await device.innerText(), /device-bound/);
  });
});

test('what is printed is light and complete', async () => {
  await open(
    sample(),
    async (page) => {
      const shown = await page.evaluate(() => {
        dispatchEvent(new Event('beforeprint'));
        const paper = getComputedStyle(document.body).backgroundColor;
        const rows = document.querySelectorAll('.lines .rows .row').length;
        dispatchEvent(new Event('afterprint'));
        return { paper, rows, after: getComputedStyle(document.body).backgroundColor };
      });
      assert.deepEqual(shown, { paper: 'rgb(255, 255, 255)', rows: sample().lines.length, after: 'rgb(22, 24, 29)' });
    },
    { colorScheme: 'dark' },
  );
});

test('of ten thousand modules only what can be seen is made', async () => {
  await open(large(10_000), async (page) => {
    await page.getByText('10000 lines ·').waitFor();
    assert.ok((await page.locator('*').count()) < 4000);
    const filter = page.getByRole('searchbox', { name: 'Filter module instances' });
    await filter.fill('layer57 › 42');
    await page.getByText('1 of 10000 module instances').waitFor();
    const lines = page.getByRole('table', { name: 'Lines' });
    await lines.evaluate((element) => {
      element.scrollTop = element.scrollHeight;
    });
    await lines.getByText('net.py:10000', { exact: true }).waitFor();
    assert.ok((await page.locator('*').count()) < 4000);
  });
});

/** The breakdown and what it leads to, and how the view is drawn. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownWindow, profiledWindow } from './shared.mjs';
import { until } from './window.mjs';

test('the breakdown goes by keys', async () => {
  const window = await profiledWindow();
  const first = window.view.locator('.aspect.time .row').first();
  await window.focus(first);
  await first.press('Enter');
  await window.view.getByText('MLP', { exact: true }).and(window.view.locator('[aria-current]')).waitFor();
  const inside = window.view.locator('.aspect.time .row:focus');
  await inside.waitFor();
  assert.match(await inside.getAttribute('aria-label'), /% of the step/);
  await inside.press('Backspace');
  await window.view.locator('[aria-current]', { hasText: 'iteration' }).waitFor();
});

test('the view fits into 170 pixels: no figure is cut off', async (t) => {
  const window = await profiledWindow();
  const choose = (list) => window.view.getByRole('radio', { name: list }).check();
  t.after(async () => {
    await choose('Lines');
    await window.resizeSideBar(300);
  });
  for (const width of [170, 300, 600]) {
    await window.resizeSideBar(width);
    for (const list of ['Operations', 'Module types', 'Lines']) {
      await choose(list);
      await until(async () => {
        const { page, view, beyond, cut } = await window.view.locator('html').evaluate((html) => {
          const isCut = (element) =>
            element.scrollWidth > element.clientWidth + 1 || element.getBoundingClientRect().right > html.clientWidth;
          const shown = [
            ...html.querySelectorAll(
              '.figure, .share, .facts, .foot, .notice p, button, label, .path, .calls, figcaption, .tick',
            ),
          ].filter((element) => element.getClientRects().length > 0);
          return {
            page: html.clientWidth,
            view: html.scrollWidth,
            beyond: [...html.querySelectorAll('body *')]
              .filter((element) => element.getBoundingClientRect().right > html.clientWidth)
              .map((element) => element.outerHTML.slice(0, 200)),
            cut: shown.filter(isCut).map((element) => element.outerHTML),
          };
        });
        assert.ok(page <= width && page >= width - 2, `the view is ${page} wide`);
        assert.ok(view <= page, `${view} of ${page}: ${list}: ${beyond.join('\n')}`);
        assert.deepEqual(cut, []);
      });
    }
  }
});

test('the bars in the gutter are explained in the view and at their lines', async () => {
  const window = await profiledWindow();
  await window.view.getByText('Bars in the gutter').click();
  assert.deepEqual(await window.view.locator('.gutter li').allInnerTexts(), ['1 %', '5 %', '15 %', '30 %', '50 %']);
  await window.view.getByText('Bars in the gutter').click();
  await until(async () =>
    assert.match(
      await window.hover('fc2'),
      /In the gutter: left bar, time: [\d.]+ % of the step \((≈ )?[\d.]+ (µs|ms)\)/,
    ),
  );
});

test('of several entry points the view shows the chosen one, whatever file is in the editor', async (t) => {
  const window = await ownWindow(t, { file: null });
  window.write('other.py', window.read('entry.py').replace('= 64)', '= 32)'));
  await window.openFile('entry.py');
  await window.profile();
  await window.openView();
  await window.openFile('other.py');
  await window.profile();
  await window.view.getByText(/^batch size 32$/).waitFor();
  const choice = window.view.getByLabel('Entry file');
  await choice.selectOption({ label: 'entry.py' });
  await window.view.getByText(/^batch size 64$/).waitFor();
  const open = (name) => window.openFile(name);
  await open('entry.py');
  await open('other.py');
  await until(async () => assert.ok(await window.lineWith('= 32)')));
  assert.equal(await window.view.getByText(/^batch size 64$/).count(), 1);
  await window.view.getByLabel('Entry file').selectOption({ label: 'Follow the editor' });
  await window.view.getByText(/^batch size 32$/).waitFor();
  await open('entry.py');
  await window.view.getByText(/^batch size 64$/).waitFor();
});

test('the names of the user are text, not markup', async (t) => {
  const window = await ownWindow(t, { file: null });
  const name = '<img src=x onerror=alert(1)>';
  window.write(
    'entry.py',
    window
      .read('entry.py')
      .replace('self.fc1 = nn.Linear(28 * 28, 512)', `self.add_module("${name}", nn.Linear(28 * 28, 512))`)
      .replace('self.fc1(hidden)', `getattr(self, "${name}")(hidden)`),
  );
  await window.openFile('entry.py');
  await window.profile();
  await window.openView();
  await window.view.locator('.aspect.time .row', { hasText: 'MLP' }).press('Enter');
  await window.view.locator('.aspect.time .row', { hasText: name }).waitFor();
  await window.view.locator('.costs .row', { hasText: name }).first().waitFor();
  assert.equal(await window.view.locator('img').count(), 0);
});

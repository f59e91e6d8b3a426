/** The flat lists of the view: lines, operations and module types. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownProfile, profiledWindow } from './shared.mjs';
import { until } from './window.mjs';

const bytesOf = (text) => {
  const [, number, unit] = /^([\d.]+) (B|KiB|MiB|GiB)$/.exec(text);
  return Number(number) * 1024 ** ['B', 'KiB', 'MiB', 'GiB'].indexOf(unit);
};
const shareOf = (text) => (text === '<0.1 %' ? 0.05 : Number(/^([\d.]+) %$/.exec(text)[1]));
const isDescending = (values) => values.every((value, i) => i === 0 || value <= values[i - 1]);
const header = (window, name) => window.view.locator('.costs').getByRole('columnheader', { name });
const choose = (window, list) => window.view.getByRole('radio', { name: list }).check();
const filter = (window) => window.view.getByRole('searchbox', { name: 'Filter the costliest' });

/** The window with the profile; the panel as it is at first. */
async function listed(t) {
  const window = await profiledWindow();
  await window.view.locator('.costs .row').first().waitFor();
  t.after(async () => {
    await filter(window).fill('');
    await choose(window, 'Lines');
    if ((await header(window, 'Time').getAttribute('aria-sort')) !== 'descending')
      await header(window, 'Time').getByRole('button').click();
  });
  return window;
}

test('the costliest line is the first, with the figures that stand at its end; a click opens it', async (t) => {
  const window = await listed(t);
  const all = window.view.getByRole('button', { name: /^Show all \d+$/ });
  assert.equal((await window.costs()).length, 12);
  await all.click();
  const rows = await window.costs();
  assert.ok(rows.length > 12, String(rows.length));
  await window.view.getByRole('button', { name: 'Show the first 12' }).click();
  assert.ok(isDescending(rows.map(({ share }) => shareOf(share))), JSON.stringify(rows));
  const sum = rows.reduce((whole, { share }) => whole + shareOf(share), 0);
  assert.ok(Math.abs(sum - 100) < 3, `the lines are ${sum} % of the step`);
  const [first] = rows;
  const number = Number(/^entry\.py:(\d+)$/.exec(first.where)[1]);
  const line = (await window.lines())[number];
  assert.ok(
    line.text.includes(first.name) && line.text.includes(first.share),
    `${line.text}: ${JSON.stringify(first)}`,
  );
  const row = window.view.locator('.costs .row').first();
  await window.hoverMarks(row, first.name);
  await row.click();
  await window.cursorIsAt(number);
});

test('the costliest are sorted by a click on a column, and filtered by name and file', async (t) => {
  const window = await listed(t);
  const memory = header(window, 'Memory');
  assert.equal(await header(window, 'Time').getAttribute('aria-sort'), 'descending');
  await memory.getByRole('button').click();
  assert.equal(await memory.getAttribute('aria-sort'), 'descending');
  assert.equal(await header(window, 'Time').getAttribute('aria-sort'), 'none');
  const byMemory = (await window.costs()).map((row) => bytesOf(row.memory));
  assert.ok(isDescending(byMemory) && byMemory[0] > byMemory.at(-1), JSON.stringify(byMemory));
  await memory.getByRole('button').click();
  assert.equal(await memory.getAttribute('aria-sort'), 'ascending');
  assert.ok(isDescending((await window.costs()).map((row) => bytesOf(row.memory)).reverse()));
  await header(window, 'Line').getByRole('button').click();
  const names = (await window.costs()).map(({ name }) => name);
  assert.deepEqual(
    names,
    names.toSorted((a, b) => a.localeCompare(b)),
  );
  await filter(window).fill('ENTRY fc2');
  const found = await window.costs();
  assert.ok(
    found.length >= 1 && found.every(({ name, where }) => name.includes('fc2') && where.startsWith('entry.py:')),
    JSON.stringify(found),
  );
  await filter(window).fill('no such line');
  await window.view.getByText('No line matches.').waitFor();
  assert.deepEqual(await window.costs(), []);
});

test('operations and module types have their totals, and lead into the breakdown', async (t) => {
  const window = await listed(t);
  await choose(window, 'Operations');
  const linear = (await window.costs()).find(({ name }) => name === 'linear');
  assert.ok(linear, JSON.stringify(await window.costs()));
  assert.equal(Number.parseInt(linear.calls), 4);
  await choose(window, 'Module types');
  await window.view.getByText('They overlap, and do not add up.').waitFor();
  const [top, ...rest] = await window.costs();
  assert.equal(top.name, 'MLP');
  assert.equal(top.share, (await window.rows('time')).find(({ name }) => name === 'MLP').share);
  assert.equal(Number.parseInt(rest.find(({ name }) => name === 'Linear').calls), 4);
  await window.view.locator('.costs .row', { hasText: 'MLP' }).first().locator('.more').click();
  await window.view.locator('[aria-current]', { hasText: 'MLP' }).waitFor();
  assert.ok((await window.rows('time')).some(({ name }) => name.startsWith('fc1')));
  await window.view.locator('.aspect.time .row:focus').waitFor();
});

test('the costliest go by keys', async (t) => {
  const window = await listed(t);
  await window.focus(window.view.getByRole('radio', { name: 'Lines' }));
  await window.page.keyboard.press('ArrowRight');
  await window.view.getByRole('radio', { name: 'Operations', checked: true }).waitFor();
  await header(window, 'Operation').waitFor();
  await window.page.keyboard.press('ArrowLeft');
  await header(window, 'Line').waitFor();
  const rows = window.view.locator('.costs .row[tabindex]');
  await window.focus(rows.first());
  await window.page.keyboard.press('ArrowDown');
  const second = window.view.locator('.costs .row:focus');
  assert.equal(await second.getAttribute('tabindex'), '0');
  assert.equal(await window.view.locator('.costs .row[tabindex="0"]').count(), 1);
  const where = await second.locator('.where').innerText();
  assert.equal(where, await rows.nth(1).locator('.where').innerText());
  await window.page.keyboard.press('Space');
  await window.cursorIsAt(where.split(':')[1]);
  await choose(window, 'Module types');
  const model = window.view.locator('.costs .row', { hasText: 'MLP' }).first();
  await model.press('Enter');
  await window.view.locator('[aria-current]', { hasText: 'MLP' }).waitFor();
});

test('what is chosen in the lists stays when the figures change', async (t) => {
  const window = await ownProfile(t);
  await window.view.locator('.costs .row').first().waitFor();
  await choose(window, 'Module types');
  await header(window, 'Memory').getByRole('button').click();
  await filter(window).fill('LP');
  await until(async () =>
    assert.deepEqual(
      (await window.costs()).map(({ name }) => name),
      ['MLP'],
    ),
  );
  await window.replace('class MLP', 'class MyLP');
  await window.replace('return MLP', 'return MyLP');
  await window.save();
  await until(async () =>
    assert.deepEqual(
      (await window.costs()).map(({ name }) => name),
      ['MyLP'],
    ),
  );
  assert.ok(await window.view.getByRole('radio', { name: 'Module types' }).isChecked());
  assert.equal(await header(window, 'Memory').getAttribute('aria-sort'), 'descending');
  assert.equal(await filter(window).inputValue(), 'LP');
});

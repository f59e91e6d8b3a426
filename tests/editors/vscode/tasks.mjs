/** The five tasks of the user study of Skyline (UIST 2020, "User evaluation"), by what is on the screen alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profiledWindow } from './shared.mjs';
import { until } from './workbench.mjs';

/** Reads the costliest part, and if it has parts goes into it, and so on. */
async function costliest(window, kind) {
  const found = [];
  for (let rows = await window.rows(kind); rows.length > 0; ) {
    found.push(rows[0].name);
    if (!rows[0].drills) break;
    const before = await window.view.locator('[aria-current]').innerText();
    await window.view.locator(`.aspect.${kind} .row`).first().dblclick();
    await until(async () => assert.notEqual(await window.view.locator('[aria-current]').innerText(), before));
    rows = await window.rows(kind);
  }
  return found;
}

const bytesOf = (words) => {
  const [, number, unit] = /([\d.]+) (B|KiB|MiB|GiB)/.exec(words);
  return Number(number) * 1024 ** ['B', 'KiB', 'MiB', 'GiB'].indexOf(unit);
};

test('T1: which module takes the most time?', async () => {
  const window = await profiledWindow();
  const path = await costliest(window, 'time');
  assert.equal(path[0], 'MLP');
  assert.match(path[1], /^fc[12]/);
});

test('T2: which module takes the most memory?', async () => {
  const window = await profiledWindow();
  const path = await costliest(window, 'memory');
  assert.equal(path[0], 'MLP');
  assert.match(path[1], /^fc1/); // 784 × 512 weights, and their gradients
});

test('T3: weights or activations?', async () => {
  const window = await profiledWindow();
  const words = Object.fromEntries(await window.view.locator('.peak li').evaluateAll((items) =>
    items.map((item) => [item.querySelector('.name').textContent, item.querySelector('.figure').textContent])));
  assert.ok(bytesOf(words.weights) > bytesOf(words.activations), JSON.stringify(words));
  assert.equal(words.weights, '3.05 MiB'); // 798,474 parameters of 4 bytes
});

test('T4: at which batch size are weights and activations equal?', async () => {
  const window = await profiledWindow();
  const answer = window.view.locator('.answers li', { hasText: 'weights and activations take equal memory' });
  const size = Number(await answer.getByRole('button').innerText());
  assert.ok(size > 64, String(size)); // at 64 there are more weights
});

test('T5: from which batch size on does more bring little?', async () => {
  const window = await profiledWindow();
  // On a machine that is busy with other things the time may show no end of the growth; then the view says that.
  const words = await window.view.locator('.answers').innerText();
  assert.match(words, /\d+\s+gives 95 % of the maximum throughput[^]*samples\/s|The maximum throughput is unknown/);
});

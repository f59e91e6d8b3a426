/** Profiles, scripts and failures, as the extension tells of them. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ownWindow } from './shared.mjs';
import { until } from './window.mjs';

const script = `import sys
import torch
from torch import nn

model = nn.Linear(64, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
print("arguments", *sys.argv[1:], flush=True)
if "--sleep" in sys.argv:
    __import__("time").sleep(600)
while True:
    optimizer.zero_grad()
    loss = model(torch.randn(32, 64)).square().mean()
    loss.backward()
    optimizer.step()
`;

test('a file without providers is not run, and one can be written', async (t) => {
  const window = await ownWindow(t);
  const ran = path.join(window.folder, 'ran');
  window.write('train.py', `open(${JSON.stringify(ran)}, 'w').close()\n`);
  await window.openFile('train.py');
  void window.command('ridgeline.profileFile');
  (await window.message('train.py defines no `model_provider`')).choose('Write Entry Point');
  window.ui.answers.push('MLP');
  await until(async () => assert.equal(window.inFront, 'entry_2.py'));
  assert.ok(!existsSync(ran));
});

test('the view profiles a script as it is', async (t) => {
  const window = await ownWindow(t, { file: null });
  const ran = path.join(window.folder, 'ran');
  window.write('train.py', `${script}    open(${JSON.stringify(ran)}, "w").close()\n`);
  await window.openFile('train.py');
  await window.openView();
  await window.view.getByRole('button', { name: 'Profile this script' }).click();
  await window.view.getByText('batch size 32').first().waitFor();
  await window.statusHas(/samples\/s/);
  assert.ok(existsSync(ran));
});

test('a file that was not run is not called failed, and its view leads to a profile', async (t) => {
  const window = await ownWindow(t, { file: null });
  const ran = path.join(window.folder, 'ran');
  window.write('train.py', `open(${JSON.stringify(ran)}, "w").close()\n`);
  await window.openFile('train.py');
  await window.openView();
  await window.view.getByRole('button', { name: 'Profile this file' }).click();
  const notice = window.view.locator('.notice', { hasText: 'train.py defines no `model_provider`' });
  await notice.waitFor();
  await window.statusHas(/^Ridgeline$/);
  assert.match(window.ui.statusItem.accessibilityInformation.label, /train\.py defines no/);
  assert.deepEqual(await notice.getByRole('button').allInnerTexts(), ['Write entry point', 'Profile as script']);
  assert.equal(await window.view.getByText(/failed|traceback|There is no profile/).count(), 0);
  assert.ok(!existsSync(ran));
  window.ui.answers.push('MLP');
  await notice.getByRole('button', { name: 'Write entry point' }).click();
  await until(async () => assert.equal(window.inFront, 'entry_2.py'));
});

/** An entry whose inputs take the same memory at every batch size, and which trains nothing. */
const doubtful = (entry) =>
  entry
    .replace(
      /def input_provider\(.*\n[^]*?\n\n\n/,
      'def input_provider(batch_size: int = 64):\n    return (torch.randn(64, 28 * 28), torch.randint(10, (64,)))\n\n\n',
    )
    .replace('loss.backward()', 'pass');

test('what a profile warns of is shown in the view, and its places are links', async (t) => {
  const window = await ownWindow(t, { file: null });
  window.write('entry.py', doubtful(window.read('entry.py')));
  await window.openFile('entry.py');
  await window.profile();
  await window.openView();
  const warnings = window.view.locator('.warnings');
  await warnings.locator('summary', { hasText: /^\d warnings: / }).click();
  await warnings.locator('p', { hasText: 'seems to ignore batch_size' }).waitFor();
  const forward = warnings.locator('p', { hasText: 'The iteration has no backward pass' });
  await forward.waitFor();
  await window.resizeSideBar(170);
  await until(async () =>
    assert.ok(
      await window.view
        .locator('html')
        .evaluate(
          (html) =>
            html.clientWidth <= 170 &&
            html.scrollWidth <= html.clientWidth &&
            [...html.querySelectorAll('.notice p, .notice button')].every(
              (element) => element.getBoundingClientRect().right <= html.clientWidth,
            ),
        ),
    ),
  );
  const link = warnings.locator('p', { hasText: 'seems to ignore batch_size' }).getByRole('button');
  const [, line] = /^entry\.py:(\d+)$/.exec(await link.innerText());
  await link.click();
  await window.cursorIsAt(line);
  assert.match(
    Object.entries(await window.lines()).find(([number]) => number === line)[1].text,
    /def input_provider|torch\.randn/,
  );
});

test('a line that is slower than before a save has it in a column of the costliest', async (t) => {
  const window = await ownWindow(t, { file: null });
  window.write(
    'entry.py',
    window
      .read('entry.py')
      .replace('optimizer.zero_grad()', '__import__("time").sleep(0.02)\n        optimizer.zero_grad()'),
  );
  await window.openFile('entry.py');
  await window.profile();
  await window.openView();
  const column = window.view.locator('.costs').getByRole('columnheader', { name: 'Change' });
  const row = window.view.locator('.costs .row', { hasText: '.sleep(' });
  await row.waitFor();
  assert.equal(await column.count(), 0, 'there is no profile before');
  const busy = window.view.getByText('The machine was busy');
  const wasBusy = (await busy.count()) > 0;
  await window.replace('sleep(0.02)', 'sleep(0.08)');
  await window.save();
  await row.filter({ hasText: '0.08' }).waitFor();
  await window.view.locator('.facts .change', { hasText: /\S/ }).waitFor();
  if (wasBusy || (await busy.count()) > 0) return t.skip('the machine was busy: times are not compared');
  await column.waitFor();
  const change = row.locator('.change span');
  assert.match(await change.innerText(), /^\+[1-4]\d\d %$/);
  assert.match(await change.getAttribute('title'), /% slower than in the profile before: [\d.]+ ms, was [\d.]+ ms$/);
  await column.getByRole('button').click();
  assert.equal(await column.getAttribute('aria-sort'), 'descending');
  // A line of some microseconds may have changed by more: the processor has rested longer before it.
  const changes = await window.view.locator('.costs .row .change').allInnerTexts();
  const sizes = changes.map((text) => Number(/^([+-]\d+) %$/.exec(text)?.[1] ?? 0));
  assert.deepEqual(
    sizes,
    sizes.toSorted((a, b) => b - a),
    changes.join(),
  );
  await row.filter({ hasText: '0.08' }).waitFor();
});

test('figures of a step whose time varies a lot look uncertain wherever they are shown', async (t) => {
  const window = await ownWindow(t, { file: null });
  const wait = '__import__("time").sleep(__import__("random").uniform(0, 0.08))\n        optimizer.zero_grad()';
  window.write('entry.py', window.read('entry.py').replace('optimizer.zero_grad()', wait));
  await window.openFile('entry.py');
  await window.profile();
  await window.openView();
  await window.statusHas(/≈ [\d.]+ samples\/s/);
  await window.view
    .getByText(/≈ [\d.]+ samples\/s/)
    .first()
    .waitFor();
  const why = /The iteration time (varies a lot|is that of \d+ iterations)/; // too few of them on a busy machine
  await window.view.getByText(why).first().waitFor();
  const line = async () => (await window.lineWith('self.relu(self.fc1(hidden))')).text;
  await until(async () => assert.match(await line(), /≈/));
  assert.match(window.ui.statusItem.accessibilityInformation.label, why);
  await window.view.locator('.slider.time .interval').waitFor();
  await until(() => window.assertBand('time'));
  const figures = window.view.locator(
    '.charts > div:first-child .head .figure, .aspect.time .head .figure, .aspect.time .row .figure, .costs .row .time .figure',
  );
  await window.view.locator('.costs .row').first().waitFor();
  const texts = await figures.allInnerTexts();
  assert.ok(
    texts.length > 6 && texts.every((text) => /^≈\s[\d.]/.test(text) || /^(0 ms|–)$/.test(text)),
    JSON.stringify(texts),
  );
  await window.resizeSideBar(170);
  await until(async () =>
    assert.ok(await figures.evaluateAll((all) => all.every((figure) => figure.scrollWidth <= figure.clientWidth + 1))),
  );
  await window.resizeSideBar(300);
  await window.view.locator('.aspect.time .row', { hasText: 'MLP' }).press('Enter');
  await until(async () => assert.match(await line(), /% · ≈\s[\d.]+ (µs|ms).* in MLP/));
  await until(async () =>
    assert.match(await window.hover('fc2'), /In the gutter.*left bar, time: [\d.]+ % of the step \(≈ [\d.]+/),
  );
});

test('the status bar shows progress and cancels', async (t) => {
  const window = await ownWindow(t);
  window.write('entry.py', window.read('entry.py').replace('optimizer.zero_grad()', '__import__("time").sleep(600)'));
  assert.ok(await window.lineWith('sleep(600)'));
  await window.clickLens('Profile');
  await window.statusHas(/Profiling/);
  await window.command(window.ui.statusItem.command);
  await until(async () => assert.doesNotMatch(window.status, /Profiling/));
  await window.lens('Profile');
  assert.deepEqual(window.ui.messages, [], 'a cancel is no error');
});

test('another batch size alone is not stale, and the script keeps its own', async (t) => {
  const window = await ownWindow(t, { file: null });
  window.write('train.py', 'BATCH_SIZE = 64\n');
  window.write(
    'entry.py',
    '"""Entry point for Ridgeline, from train.py: a model, its input and one training iteration."""\n' +
      window.read('entry.py'),
  );
  await window.openFile('entry.py');
  await window.profile();
  await window.openView();
  await window.view.locator('.breakdown .row').first().waitFor();
  await window.replace('batch_size: int = 64', 'batch_size: int = 32');
  await window.view.getByText('profiled with 64').waitFor();
  await window.view.getByText('train.py keeps its own batch size.').waitFor();
  assert.deepEqual(await window.view.locator('.notice.stale').allInnerTexts(), []);
  assert.doesNotMatch(window.status, /\(stale\)/);
  const markers = await window.markers();
  assert.ok(markers.length > 0 && markers.every(({ stale }) => !stale));
  await window.view.getByRole('button', { name: 'Go to it' }).click();
  await until(async () => assert.equal(window.inFront, 'train.py'));
});

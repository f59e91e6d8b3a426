import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertDressed } from './dress.mjs';
import { long, ownWindow, profiledWindow, vscode } from './shared.mjs';
import { until } from './workbench.mjs';

const batchSize = async (window) =>
  /batch_size: int = (\d+)/.exec((await window.lineWith('def input_provider')).text)[1];
const shownBatchSize = async (window) =>
  /batch size (\d+)$/.exec(await window.slider('Peak memory').getAttribute('aria-valuetext'))[1];

test('the tests of the view without VS Code dress it as VS Code does', async () =>
  assertDressed(await profiledWindow()));

test('dragging the throughput changes the digits in the code, and one undo brings them back', async (t) => {
  const window = await ownWindow(t);
  await window.profile();
  await window.openView();
  await window.slider('Throughput').waitFor();
  await window.drag('Throughput', 0.2, 0.5, 0.1, 0.3);
  const shown = await until(async () => {
    const size = await batchSize(window);
    assert.notEqual(size, '64');
    await window.view.getByText(`batch size ${size}`).first().waitFor({ timeout: 1000 });
    assert.match(await window.slider('Throughput').getAttribute('aria-valuetext'), new RegExp(`batch size ${size}$`));
    assert.match(await window.slider('Peak memory').getAttribute('aria-valuetext'), new RegExp(`batch size ${size}$`));
    return size;
  });
  await window.view.getByRole('button', { name: 'undo' }).click();
  await until(async () => assert.equal(await batchSize(window), '64'), 20_000);
  await window.view.getByText('profiled with').waitFor({ state: 'detached' });
  await window.focusEditor();
  await window.page.keyboard.press('Control+Y');
  await until(async () => assert.equal(await batchSize(window), shown));
  await window.view.getByText(`batch size ${shown}`).first().waitFor();
});

long('a drag is written once, at its end, also where files are saved by themselves', async (t) => {
  vscode.set({ 'files.autoSave': 'afterDelay', 'files.autoSaveDelay': 50 });
  t.after(() => vscode.set({}));
  const window = await ownWindow(t);
  await window.profile();
  await window.openView();
  await window.slider('Peak memory').waitFor();
  const before = window.read('entry.py');
  await window.hold('Throughput', 0.2);
  let last = '64';
  const moveTo = async (part) => {
    const box = await window.slider('Throughput').boundingBox();
    await window.page.mouse.move(box.x + part * box.width, box.y + 5);
    // As long as it takes to be saved, if there were something to save.
    for (let look = 0; look < 10; ++look) {
      assert.equal(await batchSize(window), '64');
      assert.equal(await window.page.locator('.tab.active.dirty').count(), 0);
      assert.doesNotMatch(await window.status.innerText(), /Profiling/);
      assert.equal(window.read('entry.py'), before);
      await window.page.waitForTimeout(20);
    }
    last = await shownBatchSize(window);
  };
  for (const part of [0.5, 0.4, 0.3, 0.2]) await moveTo(part);
  // By the model of a busy machine, neighbouring places may stand for one batch size. It ends at another than the code's.
  for (const part of [0.6, 0.1, 0.8]) if (last === '64') await moveTo(part);
  await window.page.mouse.up();
  await until(async () => {
    last = await shownBatchSize(window);
    assert.notEqual(last, '64');
    assert.equal(await batchSize(window), last);
  });
  await until(async () => assert.equal(window.read('entry.py'), before.replace('= 64)', `= ${last})`)));
  // What was saved is predicted, and in the background perhaps tried: it is not profiled.
  for (let look = 0; look < 20; ++look) {
    assert.doesNotMatch(await window.status.innerText(), /Profiling/);
    assert.equal(await window.view.getByText('profiled with 64').count(), 1);
    await window.page.waitForTimeout(100);
  }
  await window.focusEditor();
  await window.page.keyboard.press('Control+Z');
  await until(async () => assert.equal(await batchSize(window), '64'));
  await until(async () => assert.equal(window.read('entry.py'), before));
});

long(
  'a batch size that is settled on is tried, and the measured figure takes the place of the predicted one',
  async (t) => {
    const window = await ownWindow(t);
    await window.profile();
    await window.openView();
    const throughput = window.slider('Throughput');
    await window.focus(throughput);
    await throughput.press('ArrowRight'); // a size that no profile samples by itself
    await until(async () => assert.equal(await batchSize(window), '65'));
    await window.view.locator('.knowledge', { hasText: 'predicted' }).waitFor();
    await window.view.locator('.knowledge', { hasText: /^, measured$/ }).waitFor();
    await window.view.locator('.slider.time .note', { hasText: 'measured' }).waitFor();
    await window.lens(/Batch 65: .*measured/).waitFor();
    // One figure, wherever it stands.
    await until(async () => {
      const rate = (await window.view.locator('.slider.time .figure').innerText()).replaceAll('\u00a0', ' ');
      assert.match(rate, /^[\d.e+]+ samples\/s$/);
      const spoken = await throughput.getAttribute('aria-valuetext');
      assert.equal(`${spoken.split(' ')[0]} samples/s`, rate);
      const head = await window.view.locator('.charts > div').first().locator('.head .figure').innerText();
      assert.equal(head, `${rate.split(' ')[0]} at 65`);
      for (const text of [
        await window.lens(/Batch 65: /).innerText(),
        (await window.lineWith('def input_provider')).text,
      ]) {
        assert.ok(
          text.replaceAll('\u00a0', ' ').includes(`${rate} ·`) && text.includes('measured'),
          `${text}, not ${rate}`,
        );
      }
    });
    assert.equal(await window.notification('Ridgeline').count(), 0, 'a trial is quiet');
  },
);

test('drilling in moves the markers, and back and top return', async () => {
  const window = await profiledWindow();
  const forward = 'self.relu(self.fc1(hidden))';
  const whole = await until(async () => {
    const line = await window.lineWith(forward);
    assert.ok(line.marker);
    return line;
  });
  assert.ok((await window.lineWith('optimizer.step()')).marker);
  await window.view.locator('.aspect.time .row', { hasText: 'MLP' }).dblclick();
  await until(async () => {
    assert.equal((await window.lineWith('optimizer.step()')).marker, null);
    assert.match((await window.lineWith(forward)).text, /[\d.]+ % · (≈\s)?[\d.]+ (µs|ms).* in MLP/);
  });
  assert.ok((await window.rows('time')).some(({ name }) => name.includes('fc1')));
  await window.view.getByRole('button', { name: 'Back' }).click();
  await until(async () => {
    assert.deepEqual(await window.lineWith(forward), whole);
    assert.ok((await window.lineWith('optimizer.step()')).marker);
  });
});

test('the chevron drills in and goes to the code of the module; back returns to where the list was', async (t) => {
  const window = await ownWindow(t);
  await window.profile();
  await window.openView();
  await window.page.setViewportSize({ width: 1280, height: 700 });
  const row = window.view.locator('.aspect.memory .row', { hasText: 'MLP' });
  await row.scrollIntoViewIfNeeded();
  await window.view.locator('html').evaluate((html) => html.scrollBy(0, 150));
  const scrolled = () => window.view.locator('html').evaluate((html) => html.scrollTop);
  const before = await scrolled();
  assert.ok(before >= 100, String(before));
  await row.locator('.more').click();
  await window.view.locator('[aria-current]', { hasText: 'MLP' }).waitFor();
  await until(async () => {
    const forward = await window.lineWith('def forward');
    await window.page.getByText(`Ln ${forward.number}, Col 1`).waitFor({ timeout: 1000 });
    assert.ok((await window.lineWith('self.relu(self.fc2(hidden))')).marker, 'its markers are in view');
  });
  await window.view.getByRole('button', { name: 'Back' }).click();
  await window.view.locator('[aria-current]', { hasText: 'iteration' }).waitFor();
  await until(async () => assert.equal(await scrolled(), before));
});

test('a part of the breakdown shows its line, and a click opens it', async () => {
  const window = await profiledWindow();
  await window.view.locator('.aspect.time .row', { hasText: 'MLP' }).press('Enter');
  const row = window.view.locator('.aspect.time .row', { hasText: 'fc2' });
  const called = await window.lineWith('self.fc2(hidden)');
  await window.hoverMarks(row, 'self.fc2(hidden)');
  await row.click();
  await window.page.getByText(`Ln ${called.number}, Col 1`).waitFor();
});

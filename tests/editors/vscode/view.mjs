import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownWindow, profiledWindow, vscode } from './shared.mjs';
import { until } from './workbench.mjs';

const batchSize = async (window) => /batch_size: int = (\d+)/.exec((await window.lineWith('def input_provider')).text)[1];
const shownBatchSize = async (window) => /batch size (\d+)$/.exec(await window.slider('Peak memory').getAttribute('aria-valuetext'))[1];

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

test('a drag is written once, at its end, also where files are saved by themselves', async (t) => {
  vscode.set({ 'files.autoSave': 'afterDelay', 'files.autoSaveDelay': 50 });
  t.after(() => vscode.set({}));
  const window = await ownWindow(t);
  await window.profile();
  await window.openView();
  await window.slider('Peak memory').waitFor();
  const before = window.read('entry.py');
  await window.hold('Throughput', 0.2);
  let last = '64';
  for (const part of [0.5, 0.4, 0.3, 0.2]) {
    const box = await window.slider('Throughput').boundingBox();
    await window.page.mouse.move(box.x + part * box.width, box.y + 5);
    last = await until(async () => {
      const size = await shownBatchSize(window);
      assert.notEqual(size, last);
      return size;
    });
    // As long as it takes to be saved, if there were something to save.
    for (let look = 0; look < 10; ++look) {
      assert.equal(await batchSize(window), '64');
      assert.equal(await window.page.locator('.tab.active.dirty').count(), 0);
      assert.doesNotMatch(await window.status.innerText(), /Profiling/);
      assert.equal(window.read('entry.py'), before);
      await window.page.waitForTimeout(20);
    }
  }
  await window.page.mouse.up();
  await until(async () => assert.equal(await batchSize(window), last));
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

test('Escape ends a drag, and an edit of the code too: nothing is written', async (t) => {
  const window = await ownWindow(t);
  await window.profile();
  await window.openView();
  await window.slider('Peak memory').waitFor();
  await window.hold('Throughput', 0.6, 0.3);
  await until(async () => assert.notEqual(await shownBatchSize(window), '64'));
  await window.page.keyboard.press('Escape');
  await until(async () => assert.equal(await shownBatchSize(window), '64'));
  await window.page.mouse.up();
  await window.hold('Throughput', 0.6, 0.2);
  await until(async () => assert.notEqual(await shownBatchSize(window), '64'));
  window.write('entry.py', window.read('entry.py').replace('= 64)', '= 48)'));
  await until(async () => assert.equal(await batchSize(window), '48'));
  await until(async () => assert.equal(await shownBatchSize(window), '48'));
  await window.page.mouse.up();
  await window.slider('Peak memory').press('ArrowRight'); // is answered after the drag
  await until(async () => assert.equal(await batchSize(window), '49'));
  assert.match(window.read('entry.py'), /= 48\)/);
});

test('the batch size that was chosen can be profiled from the view', async (t) => {
  const window = await ownWindow(t);
  await window.profile();
  await window.openView();
  const memory = window.slider('Peak memory');
  await window.focus(memory);
  await memory.press('PageUp');
  const offer = window.view.locator('.offer');
  await offer.getByText(/^(Predicted|Measured): [\d.]+ MiB, .* per iteration\. The parts below are those of batch size 64\.$/).waitFor();
  await offer.getByRole('button', { name: 'Profile with 128' }).click();
  await offer.waitFor({ state: 'hidden' });
  await window.view.getByText(/^batch size 128$/).waitFor();
  await window.view.getByText('per iteration ·').waitFor();
  assert.equal(await batchSize(window), '128');
});

test('the bars go by keys', async (t) => {
  const window = await ownWindow(t);
  await window.profile();
  await window.openView();
  const memory = window.slider('Peak memory');
  await window.focus(memory);
  for (const [key, size] of [['ArrowRight', '65'], ['PageUp', '130'], ['ArrowLeft', '129'], ['PageDown', '64'], ['Home', '1']]) {
    await memory.press(key);
    await until(async () => assert.equal(await batchSize(window), size));
    await until(async () => assert.match(await memory.getAttribute('aria-valuetext'), new RegExp(`batch size ${size}$`)));
  }
  await memory.press('PageUp');
  await memory.press('End');
  await window.view.getByText('Extrapolated: measured from').filter({ visible: true }).waitFor();
});

test('a batch size that is settled on is tried, and the measured figure takes the place of the predicted one', async (t) => {
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
    for (const text of [await window.lens(/Batch 65: /).innerText(), (await window.lineWith('def input_provider')).text]) {
      assert.ok(text.replaceAll('\u00a0', ' ').includes(`${rate} ·`) && text.includes('measured'), `${text}, not ${rate}`);
    }
  });
  assert.equal(await window.notification('Ridgeline').count(), 0, 'a trial is quiet');
});

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
    assert.match((await window.lineWith(forward)).text, /[\d.]+ % of the step, (≈\s)?[\d.]+ (µs|ms).* \(in MLP\)/);
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
    assert.ok((await window.lineWith('return self.fc4(hidden)')).marker, 'its markers are in view');
  });
  await window.view.getByRole('button', { name: 'Back' }).click();
  await window.view.locator('[aria-current]', { hasText: 'iteration' }).waitFor();
  await until(async () => assert.equal(await scrolled(), before));
});

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

test('a part of the breakdown shows its line, and a click opens it', async () => {
  const window = await profiledWindow();
  await window.view.locator('.aspect.time .row', { hasText: 'MLP' }).press('Enter');
  const row = window.view.locator('.aspect.time .row', { hasText: 'fc2' });
  const called = await window.lineWith('self.fc2(hidden)');
  await window.hoverMarks(row, 'self.fc2(hidden)');
  await row.click();
  await window.page.getByText(`Ln ${called.number}, Col 1`).waitFor();
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
        const { page, view, cut } = await window.view.locator('html').evaluate((html) => {
          const isCut = (element) => element.scrollWidth > element.clientWidth + 1 || element.getBoundingClientRect().right > html.clientWidth;
          const shown = [...html.querySelectorAll('.figure, .share, .facts, .foot, .notice p, button, label, .path, .calls, figcaption, .tick')].filter((element) => element.getClientRects().length > 0);
          return { page: html.clientWidth, view: html.scrollWidth, cut: shown.filter(isCut).map((element) => element.outerHTML) };
        });
        assert.ok(page <= width && page >= width - 2, `the view is ${page} wide`);
        assert.ok(view <= page, `${view} of ${page}`);
        assert.deepEqual(cut, []);
      });
    }
  }
});

test('the memory bar is drawn to the scale of the capacity', async () => {
  const window = await profiledWindow();
  const parts = await window.slider('Peak memory').evaluate((track) => [
    track.querySelector('.fill').getBoundingClientRect().width / track.getBoundingClientRect().width,
    track.getAttribute('aria-valuenow') / track.getAttribute('aria-valuemax')]);
  assert.ok(parts[1] < 0.01 && Math.abs(parts[0] - parts[1]) < 0.05, JSON.stringify(parts));
  await window.view.locator('.slider.memory', { hasText: /capacity [\d.]+ GiB/ }).waitFor();
});

test('charts show throughput and memory against the batch size, with numbers at the axes', async () => {
  const window = await profiledWindow();
  const [throughput, memory] = await Promise.all([0, 1].map((i) => window.view.locator('.charts > div').nth(i).evaluate((chart) => {
    const texts = (selector) => [...chart.querySelectorAll(selector)].map((element) => element.textContent);
    return { head: chart.querySelector('.head').textContent, ticks: texts('.tick'), measured: texts('.point title'), lines: texts('.model').length };
  })));
  await assertJoined(window);
  assert.match(throughput.head, /samples\/s.* at 64$/);
  assert.match(memory.head, /peak memory \(MiB\).* MiB at 64$/);
  for (const { ticks, measured, lines } of [throughput, memory]) {
    assert.ok(ticks.filter((tick) => /^[\d.]+$/.test(tick)).length >= 5, JSON.stringify(ticks));
    assert.ok(ticks.includes('batch size'));
    assert.ok(measured.length >= 2 && measured.every((text) => /^batch size \d+: .*, measured$/.test(text)), JSON.stringify(measured));
    assert.ok(lines >= 1);
  }
});

/** That the line goes through each measured point, and that the interval reaches from the first of them to the last. */
async function assertJoined(window) {
  for (const kind of ['time', 'memory']) {
    const { points, line } = await window.chart(kind);
    for (const [x, y] of points) assert.ok(line.some((one) => Math.abs(one[0] - x) < 0.2 && Math.abs(one[1] - y) < 0.2), `${kind}: ${x} ${y} of ${JSON.stringify(line)}`);
    await window.assertBand(kind);
  }
}

test('the chart marks the largest batch size that fits', async (t) => {
  vscode.set({ 'ridgeline.memoryLimit': '600MiB' });
  t.after(() => vscode.set({}));
  const window = await ownWindow(t, { file: null });
  // 3 MiB more for each sample: less than four times as many fit as are measured.
  window.write('entry.py', window.read('entry.py').replace('logits = model(images)', 'copies = images.repeat(1, 1024, 1, 1)\n        logits = model(copies[:, :1])'));
  await window.openFile('entry.py');
  await window.profile();
  await window.openView();
  const row = window.view.locator('.answers li', { hasText: 'is the largest batch size that fits' });
  const largest = Number(await row.locator('.size').innerText());
  const marks = window.view.locator('.charts .mark', { hasText: /^fits: / });
  await until(async () => assert.deepEqual(await marks.allTextContents(), [`fits: ${largest}`, `fits: ${largest}`]));
  await window.view.locator('.charts .mark', { hasText: 'capacity' }).waitFor();
  // The mark stands where the axis has that number.
  const { mark, ticks } = await window.view.locator('.charts > div').nth(1).evaluate((chart) => ({
    mark: Number(chart.querySelector('line.limit[y1="8"]').getAttribute('x1')),
    ticks: [...chart.querySelectorAll('.tick[text-anchor=middle]')].map((tick) => [Number(tick.getAttribute('x')), Number(tick.textContent)]).filter(([, number]) => Number.isFinite(number)),
  }));
  const [first, last] = [ticks[0], ticks.at(-1)];
  assert.ok(Math.abs(mark - (first[0] + ((last[0] - first[0]) * (largest - first[1])) / (last[1] - first[1]))) < 1, JSON.stringify({ mark, ticks, largest }));
});

test('the bars in the gutter are explained in the view and at their lines', async () => {
  const window = await profiledWindow();
  await window.view.getByText('Bars in the gutter').click();
  assert.deepEqual(await window.view.locator('.gutter li').allInnerTexts(), ['1 %', '5 %', '15 %', '30 %', '50 %']);
  await window.view.getByText('Bars in the gutter').click();
  const hover = await window.hover('fc2');
  await until(async () => assert.match((await hover.innerText()).replaceAll('\u00a0', ' '), /In the gutter: left bar, time: [\d.]+ % of the step \((≈ )?[\d.]+ (µs|ms)\)/));
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
  const open = (name) => window.page.locator('.tab', { hasText: name }).click();
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
  window.write('entry.py', window.read('entry.py')
    .replace('self.fc1 = nn.Linear(28 * 28, 512)', `self.add_module("${name}", nn.Linear(28 * 28, 512))`)
    .replace('self.fc1(hidden)', `getattr(self, "${name}")(hidden)`));
  await window.openFile('entry.py');
  await window.profile();
  await window.openView();
  await window.view.locator('.aspect.time .row', { hasText: 'MLP' }).press('Enter');
  await window.view.locator('.aspect.time .row', { hasText: name }).waitFor();
  await window.view.locator('.costs .row', { hasText: name }).first().waitFor();
  assert.equal(await window.view.locator('img').count(), 0);
});

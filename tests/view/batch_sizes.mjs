/** Batch sizes: chosen by the bars, known from the charts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownProfile, ownWindow, profiledWindow } from './shared.mjs';
import { until } from './window.mjs';

const batchSize = async (window) =>
  /batch_size: int = (\d+)/.exec((await window.lineWith('def input_provider')).text)[1];
const shownBatchSize = async (window) =>
  /batch size (\d+)$/.exec(await window.slider('Peak memory').getAttribute('aria-valuetext'))[1];

test('Escape ends a drag, and an edit of the code too: nothing is written', async (t) => {
  const window = await ownProfile(t);
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
  const window = await ownProfile(t);
  const memory = window.slider('Peak memory');
  await window.focus(memory);
  await memory.press('PageUp');
  const offer = window.view.locator('.offer');
  await offer
    .getByText(
      /^(Predicted|Measured): [\d.]+ MiB, .* per iteration\. Run time, modules and costliest lines below are those of batch size 64\.$/,
    )
    .waitFor();
  await offer.getByRole('button', { name: 'Profile with 128' }).click();
  await offer.waitFor({ state: 'hidden' });
  await window.view.getByText(/^batch size 128$/).waitFor();
  await window.view.getByText('per iteration ·').waitFor();
  assert.equal(await batchSize(window), '128');
});

test('the bars go by keys', async (t) => {
  const window = await ownProfile(t);
  const memory = window.slider('Peak memory');
  await window.focus(memory);
  for (const [key, size] of [
    ['ArrowRight', '65'],
    ['PageUp', '130'],
    ['ArrowLeft', '129'],
    ['PageDown', '64'],
    ['Home', '1'],
  ]) {
    await memory.press(key);
    await until(async () => assert.equal(await batchSize(window), size));
    await until(async () =>
      assert.match(await memory.getAttribute('aria-valuetext'), new RegExp(`batch size ${size}$`)),
    );
  }
  await memory.press('PageUp');
  await memory.press('End');
  await window.view.getByText('Extrapolated: measured from').filter({ visible: true }).waitFor();
});

test('the memory bar is drawn to the scale of the capacity', async () => {
  const window = await profiledWindow();
  const parts = await window
    .slider('Peak memory')
    .evaluate((track) => [
      track.querySelector('.fill').getBoundingClientRect().width / track.getBoundingClientRect().width,
      track.getAttribute('aria-valuenow') / track.getAttribute('aria-valuemax'),
    ]);
  assert.ok(parts[1] < 0.01 && Math.abs(parts[0] - parts[1]) < 0.05, JSON.stringify(parts));
  await window.view.locator('.slider.memory', { hasText: /capacity [\d.]+ GiB/ }).waitFor();
});

test('charts show throughput and memory against the batch size, with numbers at the axes', async () => {
  const window = await profiledWindow();
  const [throughput, memory] = await Promise.all(
    [0, 1].map((i) =>
      window.view
        .locator('.charts > div')
        .nth(i)
        .evaluate((chart) => {
          const texts = (selector) => [...chart.querySelectorAll(selector)].map((element) => element.textContent);
          return {
            head: chart.querySelector('.head').textContent,
            ticks: texts('.tick'),
            measured: texts('.point title'),
            lines: texts('.model').length,
          };
        }),
    ),
  );
  await assertJoined(window);
  assert.match(throughput.head, /samples\/s.* at 64$/);
  assert.match(memory.head, /peak memory \(MiB\).* MiB at 64$/);
  for (const { ticks, measured, lines } of [throughput, memory]) {
    assert.ok(ticks.filter((tick) => /^[\d.]+$/.test(tick)).length >= 5, JSON.stringify(ticks));
    assert.ok(ticks.includes('batch size'));
    assert.ok(
      measured.length >= 2 && measured.every((text) => /^batch size \d+: .*, measured$/.test(text)),
      JSON.stringify(measured),
    );
    assert.ok(lines >= 1);
  }
});

/** That the line goes through each measured point, and that the interval reaches from the first of them to the last. */
async function assertJoined(window) {
  for (const kind of ['time', 'memory']) {
    const { points, line } = await window.chart(kind);
    for (const [x, y] of points)
      assert.ok(
        line.some((one) => Math.abs(one[0] - x) < 0.2 && Math.abs(one[1] - y) < 0.2),
        `${kind}: ${x} ${y} of ${JSON.stringify(line)}`,
      );
    await window.assertBand(kind);
  }
}

test('the chart marks the largest batch size that fits', async (t) => {
  const window = await ownWindow(t, { file: null, settings: { 'ridgeline.memoryLimit': '600MiB' } });
  // 3 MiB more for each sample: less than four times as many fit as are measured.
  window.write(
    'entry.py',
    window
      .read('entry.py')
      .replace(
        'logits = model(images)',
        'copies = images.repeat(1, 1024, 1, 1)\n        logits = model(copies[:, :1])',
      ),
  );
  await window.openFile('entry.py');
  await window.profile();
  await window.openView();
  const row = window.view.locator('.answers li', { hasText: 'is the largest batch size that fits' });
  const largest = Number(await row.locator('.size').innerText());
  const marks = window.view.locator('.charts .mark', { hasText: /^fits: / });
  await until(async () => assert.deepEqual(await marks.allTextContents(), [`fits: ${largest}`, `fits: ${largest}`]));
  await window.view.locator('.charts .mark', { hasText: 'capacity' }).waitFor();
  // The mark stands where the axis has that number.
  const { mark, ticks } = await window.view
    .locator('.charts > div')
    .nth(1)
    .evaluate((chart) => ({
      mark: Number(chart.querySelector('line.limit[y1="8"]').getAttribute('x1')),
      ticks: [...chart.querySelectorAll('.tick[text-anchor=middle]')]
        .map((tick) => [Number(tick.getAttribute('x')), Number(tick.textContent)])
        .filter(([, number]) => Number.isFinite(number)),
    }));
  const [first, last] = [ticks[0], ticks.at(-1)];
  assert.ok(
    Math.abs(mark - (first[0] + ((last[0] - first[0]) * (largest - first[1])) / (last[1] - first[1]))) < 1,
    JSON.stringify({ mark, ticks, largest }),
  );
});

/** The five tasks of the user study of Skyline (UIST 2020, "User evaluation"), by what is on the screen alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profiledWindow } from './shared.mjs';
import { dress } from './window.mjs';

/** A user who counts: clicks, and places that were looked at and are not on the screen until the view is scrolled. */
class User {
  clicks = 0;
  scrolls = 0;

  constructor(window) {
    this.window = window;
  }

  async click(locator) {
    await locator.click();
    ++this.clicks;
  }

  /** What stands there. */
  async look(locator) {
    await locator.waitFor();
    const isOnScreen = () =>
      locator.evaluate((element) => {
        const { top, bottom, left, right } = element.getBoundingClientRect();
        return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
      });
    if (!(await isOnScreen())) {
      await locator.evaluate((element) => element.scrollIntoView({ block: 'center' }));
      assert.ok(await isOnScreen(), 'it fits on the screen');
      ++this.scrolls;
    }
    return locator.innerText();
  }
}

/** The view as it is beside an editor in a window of the usual size, at its top. */
async function user(t) {
  const window = await profiledWindow();
  const size = window.page.viewportSize();
  t.after(() => window.page.setViewportSize(size));
  await window.page.setViewportSize({ width: 300, height: dress.heightIn900 });
  await window.view.locator('html').evaluate((html) => (html.scrollTop = 0));
  return new User(window);
}

/** Goes down from the iteration into the costliest part, and so on, and reads each figure on the way: "Costliest" says the same. */
async function assertCostliest(window, kind, path) {
  for (const [i, name] of path.entries()) {
    const rows = await window.rows(kind);
    assert.equal(rows.find((row) => row.name === name)?.figure, rows[0].figure, `${name} in ${JSON.stringify(rows)}`);
    const isLast = i === path.length - 1;
    assert.equal(rows.find((row) => row.name === name).drills, !isLast);
    if (isLast) break;
    await window.view
      .locator(`.aspect.${kind} .row`)
      .filter({ has: window.view.locator(`.name:text-is("${name}")`) })
      .press('Enter');
    await window.view.locator('[aria-current]', { hasText: name }).waitFor();
  }
}

const steps = (text) =>
  text
    .replace(/^Costliest:\s*/, '')
    .split(/\s*›\s*|\n+/)
    .map((name) => name.trim())
    .filter(Boolean);

const bytesOf = (words) => {
  const [, number, unit] = /([\d.]+) (B|KiB|MiB|GiB)/.exec(words);
  return Number(number) * 1024 ** ['B', 'KiB', 'MiB', 'GiB'].indexOf(unit);
};

for (const [task, kind, what, part] of [
  ['T1', 'time', 'time', /^fc[12]/],
  ['T2', 'memory', 'memory', /^fc1/],
]) {
  // fc1: 784 × 512 weights, and their gradients
  test(`${task}: which module takes the most ${what}, and what in it?`, async (t) => {
    const one = await user(t);
    const path = steps(await one.look(one.window.view.locator(`.aspect.${kind} .path`)));
    assert.equal(one.clicks, 0);
    assert.ok(one.scrolls <= 1, String(one.scrolls));
    assert.equal(path[0], 'MLP');
    assert.match(path[1], part);
    await assertCostliest(one.window, kind, path);
  });

  test(`${task}: one click goes to the code of the costliest module`, async (t) => {
    const one = await user(t);
    const path = one.window.view.locator(`.aspect.${kind} .path`);
    const names = steps(await one.look(path));
    await one.click(path.getByRole('button', { name: names.at(-1) }));
    assert.equal(one.clicks, 1);
    await one.window.view.locator('[aria-current]', { hasText: names.at(-2) }).waitFor();
    assert.ok((await one.window.rows(kind)).some(({ name }) => name === names.at(-1)));
    const called = await one.window.lineWith(`self.${names.at(-2)}(`);
    await one.window.cursorIsAt(called.number);
  });
}

test('T3: weights or activations?', async (t) => {
  const one = await user(t);
  const figure = async (name) => bytesOf(await one.look(one.window.view.locator('.peak li', { hasText: name })));
  const [weights, activations] = [await figure('weights'), await figure('activations')];
  assert.ok(weights > activations);
  assert.equal((weights / 1024 ** 2).toFixed(2), '3.05'); // 798,474 parameters of 4 bytes
  assert.deepEqual([one.clicks, one.scrolls], [0, 0]);
});

test('T4: at which batch size are weights and activations equal?', async (t) => {
  const one = await user(t);
  const answer = await one.look(
    one.window.view.locator('.answers li', { hasText: 'Activations take as much memory as weights' }),
  );
  assert.ok(Number(/from batch size (\d+) on/.exec(answer)?.[1]) > 64, answer); // at 64 there are more weights
  assert.deepEqual([one.clicks, one.scrolls], [0, 0]);
});

test('of the largest batch size that fits, what is known is said', async (t) => {
  const one = await user(t);
  // The capacity is thousands of times what the perceptron needs.
  const known = await one.look(one.window.view.locator('.answers li', { hasText: 'too far from what was measured' }));
  const [, size] =
    /^(\d+) fits by prediction, not checked beyond a batch of \d+; larger ones are too far from what was measured\.$/.exec(
      known,
    );
  assert.ok(Number(size) > 1000 && Number(size) % 1024 === 0, known); // 1024 times the largest that was measured
  assert.deepEqual([one.clicks, one.scrolls], [0, 0]);
});

test('T5: from which batch size on does more bring little?', async (t) => {
  const one = await user(t);
  // On a machine that is busy with other things the time may show no end of the growth; then the view says that.
  const answer = await one.look(one.window.view.locator('.answers li').first());
  assert.match(answer, /larger batch|is enough|more gains little|too unreliable|The maximum throughput is unknown/);
  assert.deepEqual([one.clicks, one.scrolls], [0, 0]);
});

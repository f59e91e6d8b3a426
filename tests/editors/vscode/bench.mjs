/** bench.mjs ROUNDS: what one waits for in VS Code with the MLP, as JSON; tests/bench/run.py makes a table of it. */
import assert from 'node:assert/strict';
import { builtVsix, until, VSCode } from './workbench.mjs';

const rounds = Number(process.argv[2]);
const perSecond = 60;

/** From Ctrl+S until no marker is stale and the frame with them was painted, by the browser's clock. */
async function paintedAfterSave(window, round) {
  await window.replace(`lr=0.01${round - 1 || ''}`, `lr=0.01${round}`);
  await until(async () => {
    const markers = await window.markers();
    assert.ok(markers.length > 0 && markers.every(({ stale }) => stale));
  });
  await window.focusEditor();
  await window.page.evaluate(() => {
    const isFresh = () => {
      const glyphs = [...document.querySelectorAll('.glyph-margin-widgets > .cgmr')];
      return (
        glyphs.length > 0 &&
        glyphs.every(
          (glyph) =>
            !atob(/base64,([^"]+)/.exec(getComputedStyle(glyph).backgroundImage)?.[1] ?? '').includes(' stale'),
        )
      );
    };
    window.painted = new Promise((resolve) => {
      const saved = (event) => {
        if (!event.ctrlKey || event.key.toLowerCase() !== 's') return;
        document.removeEventListener('keydown', saved, true);
        const start = performance.now();
        const look = () =>
          isFresh() ? setTimeout(() => resolve(performance.now() - start)) : requestAnimationFrame(look);
        requestAnimationFrame(look);
      };
      document.addEventListener('keydown', saved, true);
    });
  });
  await window.page.keyboard.press('Control+S');
  return window.page.evaluate(() => window.painted);
}

/** Two seconds of dragging: moves and predictions per second, and how long the last one takes. */
async function dragged(window) {
  const main = window.view.locator('main');
  await main.evaluate(() => {
    window.seen ??= { moves: [], predictions: [] };
    window.seen.moves.length = window.seen.predictions.length = 0;
    if (window.isSeen) return;
    window.isSeen = true;
    window.addEventListener('pointermove', () => window.seen.moves.push(performance.now()), true);
    window.addEventListener(
      'message',
      ({ data }) =>
        data.type === 'preview' && requestAnimationFrame(() => window.seen.predictions.push(performance.now())),
    );
  });
  const box = await window.slider('Throughput').boundingBox();
  const at = (part) => [box.x + part * box.width, box.y + box.height / 2];
  await window.page.mouse.move(...at(0.2));
  await window.page.mouse.down();
  // The page moves the pointer itself: over the wire of the driver not so many moves come in a second.
  await window.slider('Throughput').evaluate(
    (track, perSecond) =>
      new Promise((resolve) => {
        const { left, width } = track.getBoundingClientRect();
        const start = performance.now();
        const timer = setInterval(() => {
          const seconds = (performance.now() - start) / 1000;
          track.dispatchEvent(
            new PointerEvent('pointermove', {
              bubbles: true,
              clientX: left + (0.5 - 0.3 * Math.cos(2 * Math.PI * seconds)) * width,
            }),
          );
          if (seconds > 2) resolve(clearInterval(timer));
        }, 1000 / perSecond);
      }),
    perSecond,
  );
  await window.page.mouse.up();
  await until(async () => {
    const size = /batch size (\d+)$/.exec(await window.slider('Throughput').getAttribute('aria-valuetext'))[1];
    assert.match((await window.lineWith('def input_provider')).text, new RegExp(`= ${size}\\)`));
  });
  const seen = await main.evaluate(() => window.seen);
  const seconds = (seen.moves.at(-1) - seen.moves[0]) / 1000;
  const during = seen.predictions.filter((time) => time <= seen.moves.at(-1));
  return {
    asked: seen.moves.length / seconds,
    answered: during.length / seconds,
    settledMs: Math.max(0, seen.predictions.at(-1) - seen.moves.at(-1)),
  };
}

const vscode = await VSCode.start(builtVsix());
try {
  const window = await vscode.open(vscode.project(), { height: 1200 });
  await window.openFile('entry.py');
  await window.profile();
  const paintedMs = [];
  for (let round = 1; round <= rounds; ++round) paintedMs.push(await paintedAfterSave(window, round));
  await window.openView();
  await window.slider('Throughput').waitFor();
  const drags = [];
  for (let round = 0; round < rounds; ++round) drags.push(await dragged(window));
  console.log(JSON.stringify({ paintedMs, drags }));
} finally {
  await vscode.stop();
}

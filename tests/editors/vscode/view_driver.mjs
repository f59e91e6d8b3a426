/** What a user reads in the Ridgeline view, and does in it: in VS Code, and in a page of its own (../../view). */
import assert from 'node:assert/strict';
import { until } from './until.mjs';

/** `view`, of who extends this, is the document of the view; the mouse is that of `page`. */
export class ViewDriver {
  constructor(page) {
    this.page = page;
  }

  /** What the chart of 'time' or 'memory' draws, in its pixels. */
  chart(kind) {
    return this.view.locator('.charts > div', { has: this.view.locator(`.model.${kind}`) }).evaluate((chart) => {
      const at = (path) =>
        [...path.getAttribute('d').matchAll(/([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
      const axis = [...chart.querySelectorAll('line.axis')].find(
        (one) => one.getAttribute('x1') === one.getAttribute('x2') && one.getAttribute('y1') === '8',
      );
      return {
        points: [...chart.querySelectorAll('.point')].map((point) => [
          Number(point.getAttribute('cx')),
          Number(point.getAttribute('cy')),
        ]),
        line: [...chart.querySelectorAll('.model')].flatMap(at),
        bands: [...chart.querySelectorAll('.band')].map(at),
        top: Number(axis.getAttribute('y1')),
        floor: Number(axis.getAttribute('y2')),
      };
    });
  }

  /** That one interval reaches from the first measured point to the last, within the chart. Two points have none. */
  async assertBand(kind) {
    const { points, bands, top, floor } = await this.chart(kind);
    const said = `${kind}: ${JSON.stringify({ points, bands })}`;
    if (points.length < 3) return assert.deepEqual(bands, [], said);
    assert.equal(bands.length, 1, said);
    const across = bands[0].map(([x]) => x);
    assert.ok(Math.min(...across) < points[0][0] + 0.2 && Math.max(...across) > points.at(-1)[0] - 0.2, said);
    assert.ok(
      bands[0].every(([, y]) => y >= top && y <= floor),
      said,
    );
  }

  slider(name) {
    return this.view.getByRole('slider', { name });
  }

  /** Puts the focus on an element of the view. Keys that are pressed before the editor has moved it there go elsewhere. */
  async focus(element) {
    await until(async () => {
      await element.focus();
      assert.ok(await element.evaluate((it) => it.ownerDocument.hasFocus() && it.ownerDocument.activeElement === it));
    });
  }

  /** What a user reads of a breakdown, the costliest first. */
  rows(kind) {
    return this.view.locator(`.aspect.${kind} .row`).evaluateAll((rows) =>
      rows.map((row) => {
        const text = (name) => row.querySelector(`.${name}`)?.textContent?.trim() ?? '';
        return { name: text('name'), share: text('share'), figure: text('figure'), drills: text('more') !== '' };
      }),
    );
  }

  /** What a user reads of the flat list, from the top. */
  costs() {
    return this.view.locator('.costs .row').evaluateAll((rows) =>
      rows.map((row) => {
        const text = (selector) => row.querySelector(selector)?.textContent?.trim() ?? '';
        return {
          name: text('.name > :first-child'),
          where: text('.where'),
          calls: text('.calls'),
          share: text('.time .share'),
          time: text('.time .figure'),
          memory: text('.memory .figure'),
        };
      }),
    );
  }

  /** Presses at one part of a slider and moves to others. Up to a third of the throughput is a batch far below 64. */
  async hold(name, ...parts) {
    const box = await this.slider(name).boundingBox();
    const at = (part) => [box.x + part * box.width, box.y + box.height / 2];
    await this.page.mouse.move(...at(parts[0]));
    await this.page.mouse.down();
    for (const part of parts.slice(1)) await this.page.mouse.move(...at(part), { steps: 5 });
  }

  /** The same, and lets go. */
  async drag(name, ...parts) {
    await this.hold(name, ...parts);
    await this.page.mouse.up();
  }
}

/** What the bars in the gutter mean. */
import { bounds, type Palette, shapes } from '../glyphs';
import { h } from './dom';

export function legend(): HTMLElement {
  const colours = palette();
  const picture = (time: number, memory: number) => h('svg.glyph', { viewBox: '0 0 16 16', 'aria-hidden': true },
    ...shapes(colours, time, memory).map(({ x, y, width, height, colour }) => h('rect', { x, y, width, height, fill: colour })));
  const levels = bounds.map((bound, i) => h('li', {}, picture(i + 1, i + 1), `${100 * bound} %`));
  return h('details.gutter', {},
    h('summary', {}, 'Bars in the gutter'),
    h('p', {}, 'On the left the time of the line, on the right, in blocks, its memory at the peak. The height and the colour show the share of the step, from:'),
    h('ul', {}, ...levels),
    h('p', {}, 'Dashed bars are stale.'));
}

function palette(): Palette {
  const { classList } = document.body;
  if (classList.contains('vscode-high-contrast-light')) return 'highContrastLight';
  if (classList.contains('vscode-high-contrast')) return 'highContrast';
  return classList.contains('vscode-light') ? 'light' : 'dark';
}

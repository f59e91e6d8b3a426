/** What the bars in the gutter mean. */
import { bounds, type Palette, shapes } from '../glyphs';
import { h } from './dom';

export function legend(): HTMLElement {
  const colours = palette();
  const picture = (time: number, memory: number, isCalled = false) =>
    h(
      'svg.glyph',
      { viewBox: '0 0 16 16', 'aria-hidden': true },
      ...shapes(colours, { time, memory, isCalled }).map(({ x, y, width, height, colour, isOutlined }) =>
        h('rect', { x, y, width, height, ...(isOutlined ? { fill: 'none', stroke: colour } : { fill: colour }) }),
      ),
    );
  const levels = bounds.map((bound, i) => h('li', {}, picture(i + 1, i + 1), `${100 * bound} %`));
  return h(
    'details.gutter',
    {},
    h('summary', {}, 'Bars in the gutter'),
    h(
      'p',
      {},
      'On the left the time of the line, on the right, in blocks, its memory at the peak. The height and the colour show the share of the step or of the peak, from:',
    ),
    h('ul', {}, ...levels),
    h(
      'p',
      {},
      picture(3, 0, true),
      ' Outlined: the time of the line with what it calls, which is at least twice its own. Dashed: stale.',
    ),
  );
}

function palette(): Palette {
  const { classList } = document.body;
  if (classList.contains('vscode-high-contrast-light')) return 'highContrastLight';
  if (classList.contains('vscode-high-contrast')) return 'highContrast';
  return classList.contains('vscode-light') ? 'light' : 'dark';
}

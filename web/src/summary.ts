/** The head of the report: what was profiled, the key figures, and what a reader must know first. */
import { h, marked, place } from '../../editors/vscode/src/view/dom';
import { categories, type Data, type Item, part } from './data';
import { themeSwitch } from './theme';

export function heading({ texts }: Data): HTMLElement {
  return h(
    'header',
    {},
    h(
      'div',
      {},
      h('h1', {}, texts.title),
      h('p.setting', {}, texts.setting),
      texts.provenance === '' ? null : h('p.setting', {}, texts.provenance),
    ),
    themeSwitch(),
  );
}

export function warnings({ texts }: Data): HTMLElement | null {
  const [first, ...others] = texts.notes.filter(({ label }) => label === 'warning' || label === 'skipped');
  if (first === undefined) return null;
  const count = others.length === 1 ? '1 more warning' : `${others.length} more warnings`;
  return h(
    'div',
    {},
    definitions([first], 'dl.notes.warnings'),
    others.length === 0 ? null : h('details', {}, h('summary', {}, count), definitions(others, 'dl.notes.warnings')),
  );
}

/** Labels with their texts, in which code stands between backticks. */
export function definitions(items: Item[], kind = 'dl.notes'): HTMLElement {
  return h(kind, {}, ...items.flatMap(({ label, text }) => [h('dt', {}, label), h('dd', {}, ...marked(text))]));
}

export function keyFigures({ report, texts }: Data): HTMLElement {
  const [throughput, iteration, memory] = texts.figures.map(({ label, text, fraction, note }) => {
    const card = h('div.card', {}, h('h2', {}, label), h('p.figure', {}, text));
    if (fraction !== null) card.append(bar(fraction, label));
    card.append(h('p.note', {}, note));
    return card;
  });
  const phases = texts.phases.map(
    ({ label }) => report.iteration.byPhaseMs[label as keyof typeof report.iteration.byPhaseMs],
  );
  iteration?.append(...stack(texts.phases, phases, (label) => `phase-${label}`));
  const bytes = texts.peak.map(({ label }) => report.memory.byCategory[nameOf(label)]);
  memory?.append(...stack(texts.peak, bytes, (label) => `category-${nameOf(label)}`));
  return h('section.cards', { 'aria-label': 'Key figures' }, throughput ?? null, iteration ?? null, memory ?? null);
}

const nameOf = (label: string) => categories.find(([, text]) => text === label)?.[0] ?? 'temporaries';

function bar(fraction: number, label: string): HTMLElement {
  const fill = h(`div.fill.${label === 'throughput' ? 'time' : 'memory'}`);
  place(fill, 0, fraction);
  return h('div.bar', { 'aria-hidden': true }, fill);
}

/** Parts of a whole as one bar, and the words and figures of each below it. */
export function stack(items: Item[], values: number[], colourOf: (label: string) => string): HTMLElement[] {
  if (items.length === 0) return [];
  const sum = values.reduce((total, value) => total + value, 0);
  const track = h('div.bar', { 'aria-hidden': true });
  let at = 0;
  items.forEach(({ label }, i) => {
    const width = part(values[i] ?? 0, sum);
    const segment = h(`div.fill.${colourOf(label)}`);
    place(segment, at, width);
    track.append(segment);
    at += width;
  });
  const legend = items.map(({ label, text }) =>
    h('li', {}, h(`span.key.${colourOf(label)}`), `${label} `, h('b', {}, text)),
  );
  return [h('div.stack', {}, track, h('ul.legend', {}, ...legend))];
}

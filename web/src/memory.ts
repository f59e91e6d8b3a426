/** Live memory over one recorded iteration, by category, with the peak. */
import uPlot from 'uplot';
import { bytes, duration } from '../../editors/vscode/src/figures';
import { h } from '../../editors/vscode/src/view/dom';
import { categories, type Data } from './data';
import { chart, mark } from './plot';
import { colour } from './theme';

export function memoryOverTime({ report }: Data): HTMLElement | null {
  const over = report.memory.overTime;
  const peakBytes = report.memory.peakBytes;
  if (over === undefined || peakBytes === null || peakBytes === 0) return null;
  const instants = over.timeMs.length;
  const present = categories.filter(([name]) => over.byCategory[name].some((value) => value > 0));
  const values = present.map(([name]) => over.byCategory[name]);
  // Each series is the sum of those below it; the last instant holds until the end.
  const extended = (series: number[]) => [...series, series.at(-1) ?? 0];
  const below = new Array<number>(instants).fill(0);
  const sums = values.map((series) => extended(series.map((value, i) => (below[i] = (below[i] ?? 0) + value))));
  const times = [...over.timeMs, over.recordedMs];
  const stepped = uPlot.paths.stepped?.({ align: 1 });

  const figures = present.map(() => h('b'));
  const when = h('span.when');
  const total = h('b');
  const legend = h(
    'ul.legend',
    { 'aria-live': 'polite' },
    h('li', {}, when, ' ', total),
    ...present
      .map(([name, label], i) => h('li', {}, h(`span.key.category-${name}`), `${label} `, figures[i] ?? null))
      .reverse(),
  );
  const point = (index: number | null) => {
    const at = Math.min(instants - 1, index ?? over.peak);
    const isPeak = at === over.peak;
    when.textContent = isPeak
      ? `at the peak, ${duration(over.timeMs[at] ?? 0)}`
      : `at ${duration(over.timeMs[at] ?? 0)}`;
    total.textContent = bytes(isPeak ? peakBytes : (below[at] ?? 0));
    values.forEach((series, i) => {
      (figures[i] as HTMLElement).textContent = bytes(series[at] ?? 0);
    });
  };
  point(null);
  return h(
    'section',
    { 'aria-label': 'Memory over time' },
    h('div.title', {}, h('h2', {}, 'Memory over one iteration')),
    legend,
    chart({
      label: `Live memory over one iteration; the peak of ${bytes(peakBytes)} is reached after ${duration(over.timeMs[over.peak] ?? 0)}`,
      height: 240,
      end: over.recordedMs,
      most: 1.12 * peakBytes,
      base: 1024,
      axis: bytes,
      xAxis: duration,
      data: [times, ...[...sums].reverse()], // the highest is painted first, and lower ones over it
      series: () =>
        present
          .map(([name]) => {
            const fill = colour(name);
            return { stroke: fill, fill, width: 0, points: { show: false }, ...(stepped ? { paths: stepped } : {}) };
          })
          .reverse(),
      draw: (plot) => mark(plot, over.timeMs[over.peak] ?? 0, `peak ${bytes(peakBytes)}`),
      point,
    }),
    h(
      'p.note',
      {},
      `The recorded iteration in which memory peaked; it took ${duration(over.recordedMs)}, recording included. Shown at ${instants} moments.`,
    ),
  );
}

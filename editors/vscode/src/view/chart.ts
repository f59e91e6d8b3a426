/** Throughput and memory against the batch size: what was measured, and what the models predict with its interval. */
import { about, bytes, estimated, rate } from '../figures';
import type { Curve, Range } from '../messages';
import type { Batch, Summary } from '../protocol';
import { h } from './dom';

const height = 132;
const margin = { top: 8, right: 6, bottom: 30 };
const mostOfInterval = 1.5; // of the greatest figure: how far up an interval is shown
const digit = 6; // pixels of a digit of a tick

interface Plot {
  kind: 'time' | 'memory';
  title: string;
  format: (value: number) => string;
  /** One unit of the axis, and its name. */
  unit: (most: number) => { size: number; name: string };
  measured: [batchSize: number, value: number][];
  predicted: [batchSize: number, range: Range | null][];
  now: number | null;
  /** The same as text. */
  nowText: string;
  limit: { value: number; name: string } | null;
}

/** Two charts, each `width` pixels wide. */
export function charts(summary: Summary, preview: Batch | null, curve: Curve | null, width: number): HTMLElement {
  const now = preview?.batchSize ?? summary.batchSize;
  const { low, high } = summary.sampledBatchSizes;
  const fits = summary.answers.largestThatFits?.batchSize ?? null;
  const reach = Math.max(high, now, ...summary.measured.map(({ batchSize }) => batchSize));
  // A limit that is far away would leave what was measured in a corner.
  const showsLimit = fits !== null && fits <= 4 * reach;
  const end = 1.08 * (showsLimit ? Math.max(reach, fits) : reach);
  const points = (curve?.points ?? []).filter(({ batchSize }) => batchSize <= end);
  const measured = summary.measured.filter(({ timeMs }) => timeMs !== null);
  const plots: Plot[] = [
    {
      kind: 'time',
      title: 'samples/s',
      format: rate,
      unit: () => ({ size: 1, name: '' }),
      measured: measured.map(({ batchSize, timeMs }) => [batchSize, (1000 * batchSize) / (timeMs ?? 1)]),
      predicted: points.map(({ batchSize, samplesPerSecond }) => [batchSize, samplesPerSecond]),
      now:
        preview === null
          ? summary.samplesPerSecond
          : (preview.measured?.samplesPerSecond ?? preview.samplesPerSecond?.value ?? null),
      nowText:
        preview === null
          ? about(summary) + rate(summary.samplesPerSecond)
          : preview.measured !== null
            ? rate(preview.measured.samplesPerSecond)
            : estimated(preview.samplesPerSecond, rate),
      limit: null,
    },
    {
      kind: 'memory',
      title: 'peak memory',
      format: bytes,
      unit: unitOfBytes,
      measured: summary.measured.flatMap(({ batchSize, peakBytes }): [number, number][] =>
        peakBytes === null ? [] : [[batchSize, peakBytes]],
      ),
      predicted: points.map(({ batchSize, peakBytes }) => [batchSize, peakBytes]),
      now: preview === null ? summary.peakBytes : (preview.measured?.peakBytes ?? preview.peakBytes?.value ?? null),
      nowText:
        preview === null
          ? bytes(summary.peakBytes)
          : preview.measured !== null
            ? bytes(preview.measured.peakBytes)
            : estimated(preview.peakBytes, bytes),
      limit: { value: summary.capacityBytes, name: 'capacity' },
    },
  ];
  const notes = [
    `Dots: measured, from ${low} to ${high}. Line: predicted${points.some(({ samplesPerSecond }) => hasInterval(samplesPerSecond)) ? ', with its 95 % interval' : ''}.`,
    high < end ? 'Grey: larger than any that was measured.' : '',
    fits === null ? '' : showsLimit ? '' : `The largest that fits, ${fits}, is beyond the chart.`,
  ];
  return h(
    'figure',
    {},
    h('div.charts', {}, ...plots.map((plot) => chart(plot, { now, end, high, fits: showsLimit ? fits : null, width }))),
    h('figcaption', {}, notes.filter(Boolean).join(' ')),
  );
}

function chart(
  plot: Plot,
  { now, end, high, fits, width }: { now: number; end: number; high: number; fits: number | null; width: number },
): HTMLElement {
  const values = [
    ...plot.measured.map(([, value]) => value),
    ...plot.predicted.flatMap(([, range]) => (range === null ? [] : [range.value])),
    plot.now ?? 0,
    fits === null ? 0 : (plot.limit?.value ?? 0), // what it fits into
  ];
  const greatest = Math.max(...values, 1e-9);
  const upper = Math.max(...plot.predicted.map(([, range]) => range?.high ?? 0), 0);
  const most = 1.1 * Math.max(greatest, Math.min(upper, mostOfInterval * greatest)); // a wide interval leaves room for the figures
  const unit = plot.unit(most);
  const valueTicks = ticks(most / unit.size, 4);
  const left = 8 + digit * Math.max(...valueTicks.map((tick) => tickText(tick).length));
  const floor = height - margin.bottom;
  const x = (batchSize: number) => left + ((width - left - margin.right) * batchSize) / end;
  const y = (value: number) => floor - (floor - margin.top) * Math.min(1, Math.max(0, value / most));
  const point = (batchSize: number, value: number) => `${x(batchSize).toFixed(1)} ${y(value).toFixed(1)}`;
  const svg = h('svg.chart', {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': spoken(plot),
  });
  if (high < end)
    svg.append(h('rect.beyond', { x: x(high), y: margin.top, width: x(end) - x(high), height: floor - margin.top }));
  for (const tick of valueTicks) {
    const at = y(tick * unit.size);
    svg.append(
      h('line.grid', { x1: left, x2: width - margin.right, y1: at, y2: at }),
      h('text.tick', { x: left - 4, y: at + 3.5, 'text-anchor': 'end' }, tickText(tick)),
    );
  }
  for (const tick of ticks(end, Math.max(2, Math.floor((width - left) / 55)))) {
    svg.append(
      h('line.axis', { x1: x(tick), x2: x(tick), y1: floor, y2: floor + 3 }),
      h('text.tick', { x: x(tick), y: floor + 13, 'text-anchor': 'middle' }, tickText(tick)),
    );
  }
  svg.append(
    h('line.axis', { x1: left, x2: width - margin.right, y1: floor, y2: floor }),
    h('line.axis', { x1: left, x2: left, y1: margin.top, y2: floor }),
    h('text.tick', { x: (left + width - margin.right) / 2, y: height - 4, 'text-anchor': 'middle' }, 'batch size'),
  );
  // An interval without an upper bound reaches the top.
  for (const part of runs(plot.predicted, ([, range]) => hasInterval(range))) {
    const upper = part.map(([batchSize, range]) => point(batchSize, range?.high ?? most));
    const lower = part.map(([batchSize, range]) => point(batchSize, range?.low ?? 0)).reverse();
    svg.append(h(`path.band.${plot.kind}`, { d: `M${[...upper, ...lower].join('L')}Z` }));
  }
  for (const part of runs(plot.predicted, ([, range]) => range !== null)) {
    svg.append(
      h(`path.model.${plot.kind}`, {
        d: `M${part.map(([batchSize, range]) => point(batchSize, range?.value ?? 0)).join('L')}`,
      }),
    );
  }
  if (plot.limit !== null && plot.limit.value <= most) {
    svg.append(
      h('line.limit', { x1: left, x2: width - margin.right, y1: y(plot.limit.value), y2: y(plot.limit.value) }),
      h('text.mark', { x: left + 4, y: y(plot.limit.value) + 11 }, plot.limit.name),
    );
  }
  if (fits !== null) {
    const text = `fits: ${fits}`;
    const isLeft = x(fits) - left > digit * text.length;
    svg.append(
      h('line.limit', { x1: x(fits), x2: x(fits), y1: margin.top, y2: floor }),
      h('text.mark', { x: x(fits) + (isLeft ? -4 : 4), y: floor - 5, 'text-anchor': isLeft ? 'end' : 'start' }, text),
    );
  }
  svg.append(h('line.now', { x1: x(now), x2: x(now), y1: margin.top, y2: floor }));
  for (const [batchSize, value] of plot.measured) {
    svg.append(
      h(
        `circle.point.${plot.kind}`,
        { cx: x(batchSize), cy: y(value), r: 3 },
        h('title', {}, `batch size ${batchSize}: ${plot.format(value)}, measured`),
      ),
    );
  }
  if (plot.now !== null) svg.append(h('circle.current', { cx: x(now), cy: y(plot.now), r: 4.5 }));
  const name = unit.name === '' ? plot.title : `${plot.title} (${unit.name})`;
  return h(
    'div',
    {},
    h(
      'div.head',
      {},
      h('span', {}, h(`span.key.${plot.kind}`), ` ${name}`),
      h('span.figure', {}, `${plot.nowText} at ${now}`),
    ),
    svg,
  );
}

function hasInterval(range: Range | null): boolean {
  return range !== null && range.low !== null;
}

/** At most about `count` round numbers from 0 on. */
function ticks(most: number, count: number): number[] {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

function tickText(tick: number): string {
  const text = String(Number(tick.toPrecision(6)));
  return text.length > 6 ? tick.toExponential(0).replace('+', '') : text;
}

function unitOfBytes(most: number): { size: number; name: string } {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const power = Math.min(names.length - 1, Math.max(0, Math.floor(Math.log(most) / Math.log(1024))));
  return { size: 1024 ** power, name: names[power] ?? '' };
}

/** The longest parts of which every item holds. */
function runs<Item>(items: Item[], holds: (item: Item) => boolean): Item[][] {
  const found: Item[][] = [[]];
  for (const item of items) {
    if (holds(item)) found.at(-1)?.push(item);
    else if (found.at(-1)?.length) found.push([]);
  }
  return found.filter(({ length }) => length > 1);
}

function spoken({ title, measured, format }: Plot): string {
  return `${title} against the batch size. Measured: ${measured.map(([batchSize, value]) => `${format(value)} at ${batchSize}`).join('; ')}`;
}

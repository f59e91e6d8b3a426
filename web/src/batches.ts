/** Throughput and memory against the batch size: what was measured, what the models say, and the largest that fits. */
import uPlot from 'uplot';
import { bytes, estimated, rate } from '../../editors/vscode/src/figures';
import { h } from '../../editors/vscode/src/view/dom';
import type { Data, Report } from './data';
import { chart, mark } from './plot';
import { definitions } from './summary';
import { colour } from './theme';

const steps = 64; // of a model's line

interface Measured {
  batchSize: number;
  value: number;
  low: number;
  high: number;
}

/** The last of the pieces that begins at the batch size or before it. */
function pieceAt<Piece extends { fromBatchSize: number }>(pieces: Piece[], batchSize: number): Piece | undefined {
  return pieces.findLast(({ fromBatchSize }) => fromBatchSize <= batchSize) ?? pieces[0];
}

function throughputs({ models: { time }, checks }: Report): Measured[] {
  const of = ({
    batchSize,
    timeMs,
    lowMs,
    highMs,
  }: {
    batchSize: number;
    timeMs: number;
    lowMs: number;
    highMs: number;
  }) => ({
    batchSize,
    value: (1000 * batchSize) / timeMs,
    low: (1000 * batchSize) / highMs,
    high: (1000 * batchSize) / lowMs,
  });
  return [...time.samples, ...checks].map(of);
}

function peaks({ models: { memory }, checks }: Report): Measured[] {
  return [...memory.samples, ...checks].map(({ batchSize, peakBytes }) => ({
    batchSize,
    value: peakBytes,
    low: peakBytes,
    high: peakBytes,
  }));
}

export function batchSizes({ report, texts }: Data): HTMLElement | null {
  const rates = throughputs(report);
  const bytesOf = peaks(report);
  if (report.entry.batchSize === null || rates.length === 0) return null;
  const sampled = Math.max(...rates.map(({ batchSize }) => batchSize));
  const fits = report.answers.largestThatFits.answer;
  // A limit that is far away would leave what was measured in a corner.
  const shown = fits !== null && fits.batchSize <= 4 * sampled ? fits : null;
  const end = 1.08 * Math.max(sampled, shown?.batchSize ?? 0);
  const time = (batchSize: number) => {
    const piece = pieceAt(report.models.time.pieces, batchSize);
    return piece === undefined ? null : (1000 * batchSize) / (piece.interceptMs + piece.slopeMs * batchSize);
  };
  const memory = (batchSize: number) => {
    const piece = pieceAt(report.models.memory.peak?.value ?? [], batchSize);
    if (piece !== undefined) {
      const { interceptBytes, slopeBytes, squareBytes = 0, cubeBytes = 0 } = piece;
      return interceptBytes + batchSize * (slopeBytes + batchSize * (squareBytes + batchSize * cubeBytes));
    }
    const { slopeBytes, interceptBytes } = report.models.memory;
    return slopeBytes === null || interceptBytes === null ? null : interceptBytes + slopeBytes * batchSize;
  };
  const checked = report.answers.largestThatFits.memoryCheckedUpTo ?? 0;
  const bound =
    shown !== null && shown.measured === null && shown.batchSize > checked
      ? ` by prediction (not checked beyond a batch of ${checked})`
      : '';
  const isKnown = report.answers.largestThatFits.obstacle === null;
  const answer =
    shown === null ? '' : ` · the largest that ${isKnown ? 'fits' : 'is known to fit'}: ${shown.batchSize}${bound}`;
  const charts = [
    curve({
      title: 'Throughput, samples/s',
      kind: 'time',
      measured: rates,
      model: time,
      format: rate,
      base: 10,
      end,
      sampled,
      now: report.entry.batchSize,
      fits: shown?.samplesPerSecond
        ? { batchSize: shown.batchSize, text: `${estimated(shown.samplesPerSecond, rate)} at ${shown.batchSize}` }
        : null,
    }),
    curve({
      title: 'Peak memory',
      kind: 'memory',
      measured: bytesOf,
      model: memory,
      format: bytes,
      base: 1024,
      end,
      sampled,
      now: report.entry.batchSize,
      fits: shown?.peakBytes
        ? { batchSize: shown.batchSize, text: `${estimated(shown.peakBytes, bytes)} at ${shown.batchSize}` }
        : null,
    }),
  ];
  // One size makes no curve.
  if (new Set(rates.map(({ batchSize }) => batchSize)).size === 1)
    return texts.outlook.length === 0 ? null : section(definitions(texts.outlook));
  const caption = `Points: measured, with the 95 % interval of the median. Line: the model${sampled < end ? '; dashed beyond what was measured' : ''}${answer}.`;
  return section(h('div.charts', {}, ...charts), h('p.note', {}, caption), definitions(texts.outlook));
}

function section(...parts: HTMLElement[]): HTMLElement {
  return h('section', { 'aria-label': 'Batch size' }, h('div.title', {}, h('h2', {}, 'Batch size')), ...parts);
}

interface Curve {
  title: string;
  kind: 'time' | 'memory';
  measured: Measured[];
  model: (batchSize: number) => number | null;
  format: (value: number) => string;
  base: number;
  end: number;
  sampled: number; // the largest
  now: number;
  fits: { batchSize: number; text: string } | null;
}

function curve({ title, kind, measured, model, format, base, end, sampled, now, fits }: Curve): HTMLElement {
  const sizes = [
    ...new Set([
      ...measured.map(({ batchSize }) => batchSize),
      ...Array.from({ length: steps + 1 }, (_, i) => Math.max(1, (end * i) / steps)),
      sampled,
    ]),
  ].sort((a, b) => a - b);
  const values = sizes.map(model);
  const within = sizes.map((size, i) => (size <= sampled ? (values[i] ?? null) : null));
  const beyond = sizes.map((size, i) => (size >= sampled ? (values[i] ?? null) : null));
  const points = sizes.map((size) => measured.find(({ batchSize }) => batchSize === size)?.value ?? null);
  const most = 1.12 * Math.max(...measured.map(({ high }) => high), ...values.filter((value) => value !== null));
  const figure = h('span.when');
  const at = (size: number) => measured.find(({ batchSize }) => batchSize === size);
  const describe = (index: number | null) => {
    const point = at(index === null ? now : (sizes[index] ?? 0)) ?? at(now);
    if (point === undefined) return;
    const interval = point.low < point.high ? `, ${format(point.low)} to ${format(point.high)}` : '';
    figure.textContent = `batch ${point.batchSize}: ${format(point.value)}${interval}`;
  };
  describe(null);
  const plot = chart({
    label: `${title} against the batch size. Measured: ${measured.map(({ batchSize, value }) => `${format(value)} at ${batchSize}`).join('; ')}`,
    height: 220,
    end,
    most,
    base,
    axis: format,
    xAxis: String,
    data: [sizes, within, beyond, points],
    series: () => {
      const line = { stroke: colour(kind), width: 1.5, points: { show: false } };
      return [
        line,
        { ...line, dash: [5, 4] },
        {
          stroke: colour('ink'),
          width: 0,
          paths: () => null,
          points: { show: true, size: 7, fill: colour(kind), stroke: colour('paper'), width: 1 },
        },
      ];
    },
    draw: (painted) => {
      intervals(painted, measured);
      if (fits !== null) mark(painted, fits.batchSize, fits.text);
    },
    point: describe,
  });
  return h('div', {}, h('h3', {}, title, ' ', figure), plot);
}

function intervals({ ctx, valToPos }: uPlot, measured: Measured[]): void {
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = colour('ink');
  ctx.lineWidth = ratio;
  for (const { batchSize, low, high } of measured.filter((each) => each.low < each.high)) {
    const [x, top, bottom] = [valToPos(batchSize, 'x', true), valToPos(high, 'y', true), valToPos(low, 'y', true)];
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, bottom);
    for (const y of [top, bottom]) {
      ctx.moveTo(x - 3 * ratio, y);
      ctx.lineTo(x + 3 * ratio, y);
    }
    ctx.stroke();
  }
  ctx.restore();
}

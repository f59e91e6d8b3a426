/** Time and memory against the batch size: what was measured, and the model through it. */
import { bytes, duration } from '../figures';
import type { Batch, PeakPiece, Summary, TimePiece } from '../protocol';
import { h } from './dom';

const size = { width: 280, height: 120, left: 4, right: 4, top: 8, bottom: 16 };

type Curve = { name: string; kind: 'time' | 'memory'; format: (value: number) => string; points: [number, number][]; at: (batchSize: number) => number | null };

export function chart(summary: Summary, preview: Batch | null): HTMLElement {
  const now = preview?.batchSize ?? summary.batchSize;
  const { high } = summary.sampledBatchSizes;
  const end = Math.max(high, now) * 1.1;
  const x = (batchSize: number) => size.left + ((size.width - size.left - size.right) * batchSize) / end;
  const svg = h('svg', { viewBox: `0 0 ${size.width} ${size.height}`, role: 'img', 'aria-label': spoken(summary) });
  const floor = size.height - size.bottom;
  if (high < end) svg.append(h('rect.beyond', { x: x(high), y: size.top, width: x(end) - x(high), height: floor - size.top }));
  svg.append(
    h('line.axis', { x1: size.left, x2: size.width - size.right, y1: floor, y2: floor }),
    h('line.now', { x1: x(now), x2: x(now), y1: size.top, y2: floor }),
    h('text.tick', { x: x(now), y: size.height - 4, 'text-anchor': x(now) > size.width * 0.9 ? 'end' : x(now) < size.width * 0.1 ? 'start' : 'middle' }, String(now)));
  const curves = curvesOf(summary);
  for (const curve of curves) {
    const most = Math.max(...curve.points.map(([, value]) => value), curve.at(end) ?? 0);
    const y = (value: number) => floor - ((floor - size.top) * value) / most;
    const line = samples(end).flatMap((batchSize) => {
      const value = curve.at(batchSize);
      return value === null ? [] : [`${x(batchSize).toFixed(1)} ${y(value).toFixed(1)}`];
    });
    if (line.length > 1) svg.append(h(`path.model.${curve.kind}`, { d: `M${line.join('L')}` }));
    for (const [batchSize, value] of curve.points) {
      const mark = curve.kind === 'time' ? h('circle', { cx: x(batchSize), cy: y(value), r: 3 }) : h('rect', { x: x(batchSize) - 2.5, y: y(value) - 2.5, width: 5, height: 5 });
      mark.setAttribute('class', `point ${curve.kind}`);
      mark.append(h('title', {}, `batch ${batchSize}: ${curve.format(value)}`));
      svg.append(mark);
    }
  }
  const legend = curves.map((curve) => {
    const value = curve.at(now);
    return h('li', {}, h(`span.key.${curve.kind}`), `${curve.name} `, h('span.figure', {}, value === null ? '–' : curve.format(value)));
  });
  return h('figure', {}, svg, h('ul.legend', {}, ...legend), h('figcaption', {},
    `against the batch size; measured from ${summary.sampledBatchSizes.low} to ${high}${now > high ? ', shaded beyond' : ''}`));
}

function curvesOf({ measured, models }: Summary): Curve[] {
  const known = (points: [number, number | null][]) => points.filter((point): point is [number, number] => point[1] !== null);
  return [
    { name: 'time', kind: 'time', format: duration, points: known(measured.map((m) => [m.batchSize, m.timeMs])), at: (size) => valueOf(models.timeMs, size, (piece) => piece.interceptMs + piece.slopeMs * size) },
    { name: 'memory', kind: 'memory', format: bytes, points: known(measured.map((m) => [m.batchSize, m.peakBytes])), at: (size) => valueOf(models.peakBytes, size, (piece) => piece.interceptBytes + piece.slopeBytes * size) },
  ];
}

/** A model is straight between the batch sizes at which its pieces begin. */
function valueOf<Piece extends TimePiece | PeakPiece>(pieces: Piece[] | null, batchSize: number, valueIn: (piece: Piece) => number): number | null {
  const piece = pieces?.filter(({ fromBatchSize }, i) => i === 0 || fromBatchSize <= batchSize).at(-1);
  const value = piece === undefined ? 0 : valueIn(piece);
  return value > 0 ? value : null;
}

function samples(end: number): number[] {
  return Array.from({ length: 61 }, (_, i) => Math.max(1, (end * i) / 60));
}

function spoken({ measured }: Summary): string {
  return `Measured: ${measured.map((m) => `batch size ${m.batchSize}, ${duration(m.timeMs)}, ${bytes(m.peakBytes)}`).join('; ')}`;
}

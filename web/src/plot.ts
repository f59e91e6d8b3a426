/** One chart: uPlot with our colours, keys and sizes. Painted again for another theme, another width, and for paper. */
import uPlot from 'uplot';
import { h } from '../../editors/vscode/src/view/dom';
import { colour, onColours } from './theme';

export interface Chart {
  /** What is seen, for those who do not see it. */
  label: string;
  height: number;
  data: uPlot.AlignedData;
  series: () => uPlot.Series[]; // beside x; with today's colours
  end: number; // of x, which begins at 0
  most: number; // of y, likewise
  axis: (value: number) => string;
  xAxis: (value: number) => string;
  bands?: uPlot.Band[];
  /** Painted over the series. */
  draw?: (plot: uPlot) => void;
  /** The index of what the pointer or the arrow keys point to; null: to nothing. */
  point?: (index: number | null) => void;
  /** Ticks of y are multiples of powers of this. */
  base?: number;
}

export const font = '12px system-ui, sans-serif';

export function chart(options: Chart): HTMLElement {
  const element = h('div.plot', { tabindex: 0, role: 'img', 'aria-label': options.label });
  let plot: uPlot | null = null;
  let width = 0;
  const paint = () => {
    if (width === 0) return;
    plot?.destroy();
    plot = new uPlot(settings(options, width), options.data, element);
  };
  new ResizeObserver(() => {
    if (element.clientWidth === width) return;
    width = element.clientWidth;
    paint();
  }).observe(element);
  onColours(paint);
  element.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined || plot === null) return;
    event.preventDefault();
    const xs = plot.data[0];
    const index = Math.min(xs.length - 1, Math.max(0, (plot.cursor.idx ?? (step > 0 ? -1 : xs.length)) + step));
    plot.setCursor({ left: plot.valToPos(xs[index] ?? 0, 'x'), top: plot.over.clientHeight / 2 });
  });
  return element;
}

function settings(options: Chart, width: number): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: colour('faint'),
    font,
    grid: { stroke: colour('grid'), width: 1 },
    ticks: { stroke: colour('grid'), width: 1, size: 4 },
  };
  const split =
    (base: number): uPlot.Axis.Splits =>
    (plot, _axis, _least, most) =>
      ticks(most, base, Math.max(2, Math.floor(plot.height / 60)));
  return {
    width,
    height: options.height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
    scales: { x: { time: false, range: [0, options.end] }, y: { range: [0, options.most] } },
    axes: [
      { ...axis, size: 30, space: 70, values: (_plot, values) => values.map(options.xAxis) },
      { ...axis, size: 64, splits: split(options.base ?? 10), values: (_plot, values) => values.map(options.axis) },
    ],
    series: [{}, ...options.series()],
    bands: options.bands ?? [],
    hooks: {
      draw: options.draw ? [options.draw] : [],
      setCursor: options.point ? [(plot) => options.point?.(plot.cursor.idx ?? null)] : [],
    },
  };
}

/** At most about `count` round numbers from 0 on: 1, 2 or 5 times a power of ten; of 1024 likewise, within a unit. */
function ticks(most: number, base: number, count: number): number[] {
  const unit = base === 10 ? 1 : base ** Math.floor(Math.log(Math.max(most, 1)) / Math.log(base));
  const rough = most / unit / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = unit * power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

/** A vertical line with a text beside it; the text stays inside. */
export function mark({ ctx, bbox, valToPos }: uPlot, x: number, text: string): void {
  const at = Math.round(valToPos(x, 'x', true));
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour('ink');
  ctx.lineWidth = ratio;
  ctx.setLineDash([4 * ratio, 3 * ratio]);
  ctx.beginPath();
  ctx.moveTo(at, bbox.top);
  ctx.lineTo(at, bbox.top + bbox.height);
  ctx.stroke();
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = 'top';
  const isRight = at + ctx.measureText(text).width + 10 * ratio > bbox.left + bbox.width;
  ctx.textAlign = isRight ? 'right' : 'left';
  ctx.fillText(text, at + (isRight ? -5 : 5) * ratio, bbox.top + 2 * ratio);
  ctx.restore();
}

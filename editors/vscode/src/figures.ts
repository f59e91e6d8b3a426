/** Figures as text, while a bar is dragged: the rules of server/report/units.cpp, checked by tests/data/figures.json. */

import type { Estimate, Summary } from './protocol';

const unknown = '–';

function figure(value: number): string {
  if (value < 0) return `-${figure(-value)}`;
  if (value >= 999500)
    return value
      .toExponential(2)
      .replace(/\.?0*e/, 'e')
      .replace(/\+(\d)$/, '+0$1');
  if (value >= 999.5) return String(Number(value.toPrecision(3)));
  return value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

/** In the first unit in which three digits are enough; the number with a unit is how many make one of the next. */
function inUnits(value: number, units: [string, number][]): string {
  let i = 0;
  for (; i + 1 < units.length && value >= 999.5; ++i) value /= units[i]![1];
  return `${figure(value)} ${units[i]![0]}`;
}

export function duration(milliseconds: number | null): string {
  if (milliseconds === null) return unknown;
  if (milliseconds === 0) return '0 ms';
  if (Math.abs(milliseconds) < 0.00005) return '<0.1 µs';
  if (milliseconds < 0) return `-${duration(-milliseconds)}`;
  const microseconds = milliseconds * 1000;
  if (microseconds < 0.95) return `${microseconds.toFixed(1)} µs`;
  return inUnits(microseconds, [
    ['µs', 1000],
    ['ms', 1000],
    ['s', 60],
    ['min', 60],
    ['h', 1],
  ]);
}

export function bytes(count: number | null): string {
  if (count === null || count < 0) return unknown;
  if (count < 1023.5) return `${count.toFixed(0)} B`;
  return inUnits(count / 1024, [
    ['KiB', 1024],
    ['MiB', 1024],
    ['GiB', 1024],
    ['TiB', 1024],
    ['PiB', 1],
  ]);
}

/** A figure of a model with its certainty: "≈ 7.8 GiB" for a guess, "≥ 7.8 GiB" for a bound, plain when it is known. */
export function estimated(estimate: Estimate | null, format: (value: number) => string): string {
  if (estimate === null) return unknown;
  const { value, interval, certainty } = estimate;
  if (certainty === 'known') return format(value);
  if (certainty === 'atLeast' && interval) return `≥ ${format(interval.low)}`;
  if (certainty === 'atMost' && interval?.high) return `≤ ${format(interval.high)}`;
  return `≈ ${format(value)}`;
}

/** Before a time of the profile, or what follows from it: "≈ " where it is uncertain. */
export function about(summary: Pick<Summary, 'uncertainty'> | null): string {
  return summary === null || summary.uncertainty === '' ? '' : '≈ ';
}

/** A time with that before it; what is unknown or nothing is that without it. */
export function timed(milliseconds: number | null, mark: string): string {
  return milliseconds === null || milliseconds === 0 ? duration(milliseconds) : mark + duration(milliseconds);
}

export function share(fraction: number | null): string {
  if (fraction === null) return unknown;
  const percent = fraction * 100;
  if (percent < 0) return `-${share(-fraction)}`;
  if (percent === 0) return '0 %';
  if (percent < 0.05) return '<0.1 %';
  if (percent >= 999.5) return '>999 %';
  return `${percent.toFixed(percent < 9.95 ? 1 : 0)} %`;
}

export function rate(samplesPerSecond: number | null): string {
  return samplesPerSecond === null ? unknown : figure(samplesPerSecond);
}

/** Figures as people read them: at most three significant digits, with the unit; as server/report/units.cpp has them. */

import type { Estimate } from './protocol';

const unknown = '–';

function figure(value: number): string {
  if (value >= 999500) return value.toPrecision(3);
  if (value >= 999.5) return String(Number(value.toPrecision(3)));
  return value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

/** Climbs to the first unit in which three digits are enough; each pair says how many make one of the next. */
function inUnits(value: number, units: [string, number][]): string {
  let i = 0;
  for (; i + 1 < units.length && value >= 999.5; ++i) value /= units[i]![1];
  return `${figure(value)} ${units[i]![0]}`;
}

export function duration(milliseconds: number | null): string {
  if (milliseconds === null) return unknown;
  if (milliseconds === 0) return '0 ms';
  if (milliseconds < 0.00005) return '<0.1 µs';
  const microseconds = milliseconds * 1000;
  if (microseconds < 0.95) return `${microseconds.toFixed(1)} µs`;
  return inUnits(microseconds, [['µs', 1000], ['ms', 1000], ['s', 60], ['min', 60], ['h', 1]]);
}

export function bytes(count: number | null): string {
  if (count === null) return unknown;
  if (count < 1023.5) return `${count.toFixed(0)} B`;
  return inUnits(count / 1024, [['KiB', 1024], ['MiB', 1024], ['GiB', 1024], ['TiB', 1024], ['PiB', 1]]);
}

/** A model's figure as sure as it is: "≈ 7.8 GiB" for a guess, "≥ 7.8 GiB" for a bound, plain where it is known. */
export function estimated(estimate: Estimate | null, words: (value: number) => string): string {
  if (estimate === null) return unknown;
  const { value, interval, certainty } = estimate;
  if (certainty === 'known') return words(value);
  if (certainty === 'atLeast' && interval) return `≥ ${words(interval.low)}`;
  if (certainty === 'atMost' && interval?.high) return `≤ ${words(interval.high)}`;
  return `≈ ${words(value)}`;
}

export function share(fraction: number | null): string {
  if (fraction === null) return unknown;
  const percent = fraction * 100;
  if (percent === 0) return '0 %';
  if (percent < 0.05) return '<0.1 %';
  return `${percent.toFixed(percent < 9.95 ? 1 : 0)} %`;
}

export function rate(samplesPerSecond: number | null): string {
  return samplesPerSecond === null ? unknown : figure(samplesPerSecond);
}

/** The pictures in the gutter: a bar for time and, in blocks, one for memory; higher and hotter the greater the share. */

/** A share belongs to the last level whose bound it reaches; below the first there is no bar. */
export const bounds = [0.01, 0.05, 0.15, 0.3, 0.5];

/** 0: no bar. */
export function level(share: number | null): number {
  return bounds.filter((bound) => (share ?? 0) >= bound).length;
}

/** By level, cool to hot, each readable on the gutter of its kind of theme. */
export const palettes = {
  light: ['#5b8db8', '#3f7f5f', '#b58900', '#d2691e', '#c4161c'],
  dark: ['#6fa8dc', '#7fbf8e', '#e5c453', '#f0953e', '#ff6b5e'],
  highContrastLight: ['#0f4a85', '#0f5c2e', '#6b4e00', '#8a3300', '#a1000b'],
  highContrast: ['#9cdcfe', '#89d185', '#ffe066', '#ffb347', '#ff8080'],
};
export type Palette = keyof typeof palettes;

/** What a line's bars show, as levels. */
export interface Bars {
  time: number;
  memory: number;
  /** The time is that of what the line calls, too. */
  isCalled: boolean;
}

export function barsOf({
  share,
  totalShare,
  peakShare,
  shows,
}: {
  share: number | null;
  totalShare: number | null;
  peakShare: number | null;
  shows: 'self' | 'total' | 'nothing';
}): Bars {
  const time = { self: level(share), total: level(totalShare), nothing: 0 }[shows];
  return { time, memory: level(peakShare), isCalled: shows === 'total' };
}

export interface Shape {
  x: number;
  y: number;
  width: number;
  height: number;
  colour: string;
  isOutlined: boolean;
}

/** Within 16 by 16. */
export function shapes(palette: Palette, { time, memory, isCalled }: Bars): Shape[] {
  const colour = (of: number) => palettes[palette][of - 1] ?? '';
  const bar =
    time === 0
      ? []
      : [{ x: 1.5, y: 15.5 - 3 * time, width: 5, height: 3 * time, colour: colour(time), isOutlined: isCalled }];
  const blocks = Array.from({ length: memory }, (_, i) => ({
    x: 9,
    y: 13.5 - 3 * i,
    width: 5.5,
    height: 2,
    colour: colour(memory),
    isOutlined: false,
  }));
  return [...bar, ...blocks];
}

/** As the text of an SVG file. */
export function picture(palette: Palette, bars: Bars, stale: boolean): string {
  const title = `time ${bars.time} memory ${bars.memory}${stale ? ' stale' : ''}${bars.isCalled ? ' called' : ''}`;
  const drawn = shapes(palette, bars).map(
    ({ x, y, width, height, colour, isOutlined }) =>
      `<rect x="${x}" y="${y}" width="${width}" height="${height}" ${stale || isOutlined ? `fill="none" stroke="${colour}"${stale ? ' stroke-dasharray="1.5 1"' : ''}` : `fill="${colour}"`}/>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" width="16" height="16" opacity="${stale ? 0.6 : 1}"><title>${title}</title>${drawn.join('')}</svg>`;
}

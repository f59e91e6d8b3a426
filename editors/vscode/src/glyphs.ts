/** The pictures in the gutter: a bar for time and, in blocks, one for memory; higher and hotter the greater the share. */
import * as vscode from 'vscode';

/** A share belongs to the last bucket whose bound it reaches; below the first there is no bar. */
const bounds = [0.01, 0.05, 0.15, 0.3, 0.5];

export function bucket(share: number | null): number {
  return bounds.filter((bound) => (share ?? 0) >= bound).length;
}

/** Cool to hot, each readable on the gutter of its kind of theme. */
const palettes = {
  light: ['#5b8db8', '#3f7f5f', '#b58900', '#d2691e', '#c4161c'],
  dark: ['#6fa8dc', '#7fbf8e', '#e5c453', '#f0953e', '#ff6b5e'],
  highContrastLight: ['#0f4a85', '#0f5c2e', '#6b4e00', '#8a3300', '#a1000b'],
  highContrast: ['#9cdcfe', '#89d185', '#ffe066', '#ffb347', '#ff8080'],
};

export function glyph(palette: keyof typeof palettes, time: number, memory: number, stale: boolean): vscode.Uri {
  const height = (level: number) => level * 3;
  const colour = (level: number) => palettes[palette][level - 1];
  const paint = (level: number) =>
    stale ? `fill="none" stroke="${colour(level)}" stroke-dasharray="1.5 1"` : `fill="${colour(level)}"`;
  const bar = time === 0 ? '' : `<rect x="1.5" y="${15.5 - height(time)}" width="5" height="${height(time)}" rx="1" ${paint(time)}/>`;
  const blocks = Array.from({ length: memory }, (_, i) => `<rect x="9" y="${13.5 - 3 * i}" width="5.5" height="2" ${paint(memory)}/>`);
  const title = `time ${time} memory ${memory}${stale ? ' stale' : ''}`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" width="16" height="16" opacity="${stale ? 0.6 : 1}"><title>${title}</title>${bar}${blocks.join('')}</svg>`;
  return vscode.Uri.parse(`data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`);
}

/** What server/report/html_report.cpp puts into the page: the JSON report, and texts that stand elsewhere, too. */
import type { Report } from '../../editors/vscode/src/report';

export type { Report };
export type Node = Report['breakdown'];
export type Line = Report['lines'][number];

export interface Item {
  label: string;
  text: string;
}

export interface Figure extends Item {
  /** Of what it can be at most; null where that is not known. */
  fraction: number | null;
  note: string;
}

export interface Texts {
  title: string;
  setting: string;
  /** When, of what and with what; may be empty. */
  provenance: string;
  figures: Figure[];
  phases: Item[];
  peak: Item[];
  device: Item[];
  waits: Item[];
  notes: Item[];
  outlook: Item[];
  /** Of each line of the report, in its order. */
  lines: {
    place: string;
    source: string | null;
    calls: string;
    energy: { text: string; joules: number } | null;
    attained: { text: string; fraction: number } | null;
  }[];
}

export interface Data {
  report: Report;
  texts: Texts;
}

export function readData(): Data {
  const element = document.getElementById('data');
  return JSON.parse(element?.textContent ?? '') as Data;
}

/** The time of the iteration and the bytes of the peak, of which everything is a part. */
export interface Whole {
  ms: number;
  bytes: number;
}

export function wholeOf(report: Report): Whole {
  return { ms: report.iteration.timeMs, bytes: report.breakdown.peakBytes };
}

export const part = (value: number, whole: number): number => (whole > 0 ? value / whole : 0);

/** As JSON names them and as people read them, from the bottom of a stack up: what stays first. */
export const categories = [
  ['weights', 'weights'],
  ['optimizerState', 'optimizer state'],
  ['gradients', 'gradients'],
  ['inputs', 'inputs'],
  ['activations', 'activations'],
  ['temporaries', 'temporaries'],
] as const;

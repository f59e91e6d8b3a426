/** Lines of code as reports and warnings name them: `file.py:12`, alone or in brackets. */

const mention = /(?<![^\s(])([^\s:()]+\.py):(\d+)\b/g;

export interface Mention {
  /** Where it begins in the text. */
  index: number;
  text: string;
  path: string;
  /** From 1. */
  line: number;
}

export function* mentionsIn(text: string): Generator<Mention> {
  for (const { index, 0: found, 1: path = '', 2: line = '' } of text.matchAll(mention))
    yield { index, text: found, path, line: Number(line) };
}

/** The training script that an entry point was written from: it keeps a batch size of its own. */
import * as vscode from 'vscode';
import type { Script } from './messages';

const mostBytes = 1 << 20;
/** `batch_size=32`, `BATCH_SIZE = 32`, `"--batch-size", type=int, default=32`. */
const batchSize = /batch[-_]?size\b[^#\n]*?=\s*\d+/i;

/**
 * As the first line of the entry point names it, with the line where a number is given as a batch size, if there is one.
 * Null: the entry point was not written from a script beside it.
 */
export async function scriptOf(entry: vscode.Uri): Promise<Script | null> {
  const name = (await textOf(entry))?.match(/^"""Entry point for Ridgeline, from ([^\s/]+\.py):/)?.[1];
  if (name === undefined) return null;
  const script = vscode.Uri.joinPath(entry, '..', name);
  const text = await textOf(script);
  if (text === undefined) return null;
  const line = text.split('\n').findIndex((one) => batchSize.test(one));
  return {
    file: vscode.workspace.asRelativePath(script),
    place: { uri: script.toString(), line: Math.max(line, 0) },
    isFound: line >= 0,
  };
}

/** As the editor has it, else as it is on the disk; undefined: there is none, or it is no script's size. */
async function textOf(file: vscode.Uri): Promise<string | undefined> {
  const open = vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === file.toString());
  if (open !== undefined) return open.getText();
  try {
    if ((await vscode.workspace.fs.stat(file)).size > mostBytes) return undefined;
    return Buffer.from(await vscode.workspace.fs.readFile(file)).toString();
  } catch {
    return undefined;
  }
}

/** Edits of the entry file that the daemon has written. */
import * as vscode from 'vscode';
import type { WorkspaceEdit } from './protocol';

/** Shows a file, so that it can be edited; the focus stays. */
export async function reveal(file: vscode.Uri): Promise<void> {
  if (vscode.window.visibleTextEditors.some(({ document }) => document.uri.toString() === file.toString())) return;
  await vscode.window.showTextDocument(file, { preserveFocus: true, viewColumn: vscode.ViewColumn.One });
}

/**
 * As one undo step; an edit of the workspace would have no undo stops. Only in a file that shows, and in the version of
 * its text that the edit was made for: false where it is another.
 */
export async function apply(edit: WorkspaceEdit): Promise<boolean> {
  const change = edit.documentChanges?.[0];
  const uri = change && vscode.Uri.parse(change.textDocument.uri).toString();
  const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri);
  if (change === undefined || editor === undefined || editor.document.version !== change.textDocument.version)
    return false;
  return editor.edit(
    (builder) => {
      for (const {
        range: { start, end },
        newText,
      } of change.edits) {
        builder.replace(new vscode.Range(start.line, start.character, end.line, end.character), newText);
      }
    },
    { undoStopBefore: true, undoStopAfter: true },
  );
}

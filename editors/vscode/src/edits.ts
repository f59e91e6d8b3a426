/** Edits that the daemon has written: of the entry file, or of a configuration file beside it. */
import * as vscode from 'vscode';
import type { WorkspaceEdit } from './protocol';

/** Shows a file, so that it can be edited; the focus stays. */
export async function reveal(file: vscode.Uri): Promise<void> {
  if (vscode.window.visibleTextEditors.some(({ document }) => document.uri.toString() === file.toString())) return;
  await vscode.window.showTextDocument(file, { preserveFocus: true, viewColumn: vscode.ViewColumn.One });
}

/**
 * As one undo step; an edit of the workspace would have no undo stops. Shows the file where it does not. Only in the
 * version of the text that the edit was made for: false where it is another. Without a version, that is the saved text.
 */
export async function apply(edit: WorkspaceEdit): Promise<boolean> {
  const change = edit.documentChanges?.[0];
  if (change === undefined) return false;
  const uri = vscode.Uri.parse(change.textDocument.uri);
  await reveal(uri);
  const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri.toString());
  const version = change.textDocument.version;
  if (editor === undefined || (version === null ? editor.document.isDirty : editor.document.version !== version))
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

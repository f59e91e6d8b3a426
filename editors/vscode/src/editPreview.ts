/** What an edit would make of a file, beside the file as it is: shown first where the edit is of more than one line. */
import * as vscode from 'vscode';
import { showInformation } from './notify';
import type { WorkspaceEdit } from './protocol';

const scheme = 'ridgeline-edit';
type TextEdits = NonNullable<WorkspaceEdit['documentChanges']>[number]['edits'];

export class EditPreview implements vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly provider = vscode.workspace.registerTextDocumentContentProvider(scheme, {
    provideTextDocumentContent: (uri) => this.texts.get(uri.toString()) ?? '',
  });
  private count = 0;

  /** Whether the edit may be made: one of several lines is shown as a diff, and the user decides. */
  async allows(edit: WorkspaceEdit, title: string): Promise<boolean> {
    const change = edit.documentChanges?.[0];
    const document = vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === uriOf(change));
    if (change === undefined || document === undefined || isOfOneLine(change.edits)) return true;
    const name = vscode.workspace.asRelativePath(document.uri);
    const after = vscode.Uri.from({ scheme, path: document.uri.path, query: String(++this.count) });
    this.texts.set(after.toString(), edited(document, change.edits));
    try {
      await vscode.commands.executeCommand('vscode.diff', document.uri, after, `${name}: ${title}`);
      return (await showInformation(`Write ${title} into ${name}, as the diff shows?`, 'Write', 'Discard')) === 'Write';
    } finally {
      this.texts.delete(after.toString());
      await vscode.window.tabGroups.close(tabsOf(after));
    }
  }

  dispose(): void {
    this.provider.dispose();
  }
}

function uriOf(change: { textDocument: { uri: string } } | undefined): string | undefined {
  return change && vscode.Uri.parse(change.textDocument.uri).toString();
}

function isOfOneLine(edits: TextEdits): boolean {
  const lines = new Set(edits.flatMap(({ range }) => [range.start.line, range.end.line]));
  return lines.size <= 1 && edits.every(({ newText }) => !newText.includes('\n'));
}

/** `edits`: without overlaps. */
function edited(document: vscode.TextDocument, edits: TextEdits): string {
  let text = document.getText();
  const inText = edits.map(({ range, newText }) => ({
    begin: document.offsetAt(new vscode.Position(range.start.line, range.start.character)),
    end: document.offsetAt(new vscode.Position(range.end.line, range.end.character)),
    newText,
  }));
  for (const { begin, end, newText } of inText.sort((a, b) => b.begin - a.begin))
    text = text.slice(0, begin) + newText + text.slice(end);
  return text;
}

function tabsOf(uri: vscode.Uri): vscode.Tab[] {
  return vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .filter(({ input }) => input instanceof vscode.TabInputTextDiff && input.modified.toString() === uri.toString());
}

/** Waits until the user neither types nor moves the cursor: what runs in the background then measures a quiet machine. */
import * as vscode from 'vscode';

const quietMs = 5_000;
const lookMs = 500;

export class Idle implements vscode.Disposable {
  private last = Date.now();
  private readonly disposables: vscode.Disposable[];

  constructor() {
    const touch = (): void => void (this.last = Date.now());
    this.disposables = [
      vscode.workspace.onDidChangeTextDocument(({ document }) => document.uri.scheme === 'file' && touch()),
      vscode.window.onDidChangeTextEditorSelection(
        ({ textEditor }) => textEditor.document.uri.scheme === 'file' && touch(),
      ),
    ];
  }

  /** Resolves with true when that is so, with false as soon as `isOver`. */
  async wait(isOver: () => boolean): Promise<boolean> {
    while (!isOver()) {
      if (Date.now() - this.last >= quietMs) return true;
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
    return false;
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }
}

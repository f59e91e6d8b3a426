/** Another batch size, asked for by dragging: predicted at once, written into the code as one undo step. */
import * as vscode from 'vscode';
import { type ApplyWorkspaceEditParams, type ApplyWorkspaceEditResult, TextDocumentEdit } from 'vscode-languageclient/node';
import type { Daemon } from './daemon';
import type { Profiles } from './profiles';
import type { Batch, Prediction, Question } from './protocol';

interface Wish {
  question: Question;
  gesture: number;
}

export class BatchSize implements vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChange = this.emitter.event;
  preview: Batch | null = null;
  obstacle: string | null = null;
  private wish: Wish | undefined;
  private asking = false;
  private writing: { batchSize: number; gesture: number } | undefined;
  private isWriting = false;
  private profileId: string | undefined;
  /** Where the batch size stands, once it was written: what is before it on its line, and the line. */
  private literal: { line: number; before: string } | undefined;
  private editing = false;
  private lastGesture = -1;
  private readonly disposables: vscode.Disposable[];

  constructor(private readonly daemon: Daemon, private readonly profiles: Profiles) {
    this.disposables = [
      profiles.onDidChange(() => {
        if (profiles.summary?.profileId === this.profileId) return;
        this.profileId = profiles.summary?.profileId;
        this.show(null, null);
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.textChanged(document)),
    ];
  }

  /** One prediction at a time; of the wishes that come meanwhile, the last counts. */
  async ask(question: Question, gesture: number): Promise<void> {
    this.wish = { question, gesture };
    if (this.asking) return;
    this.asking = true;
    while (this.wish !== undefined) {
      const wish: Wish = this.wish;
      this.wish = undefined;
      const batch = await this.predict(wish.question);
      if (batch !== null) void this.write(batch.batchSize, wish.gesture);
    }
    this.asking = false;
  }

  async undo(): Promise<void> {
    if (this.profiles.entry === undefined) return;
    await vscode.window.showTextDocument(this.profiles.entry);
    await vscode.commands.executeCommand('undo');
  }

  /** The edits of one gesture become one undo step, which an edit of the workspace does not offer. */
  async apply(params: ApplyWorkspaceEditParams, otherwise: () => Promise<ApplyWorkspaceEditResult>): Promise<ApplyWorkspaceEditResult> {
    const change = params.edit.documentChanges?.find(TextDocumentEdit.is);
    const uri = change && vscode.Uri.parse(change.textDocument.uri).toString();
    const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri);
    const gesture = this.writing?.gesture;
    if (change === undefined || editor === undefined) return otherwise();
    if (editor.document.version !== change.textDocument.version) return { applied: false, failureReason: 'the text was changed meanwhile' };
    const edits = (await this.daemon.client?.protocol2CodeConverter.asTextEdits(change.edits.filter((edit) => 'newText' in edit))) ?? [];
    const start = edits[0]?.range.start;
    if (start !== undefined) this.literal = { line: start.line, before: editor.document.lineAt(start.line).text.slice(0, start.character) };
    if (gesture === undefined) return otherwise(); // asked for in the editor: the bars follow the text
    this.editing = true;
    const applied = await editor.edit(
      (builder) => edits.forEach((edit) => builder.replace(edit.range, edit.newText)),
      { undoStopBefore: gesture !== this.lastGesture, undoStopAfter: false });
    this.editing = false;
    this.lastGesture = gesture;
    return { applied };
  }

  dispose(): void {
    this.emitter.dispose();
    for (const disposable of this.disposables) disposable.dispose();
  }

  private async predict(question: Question): Promise<Batch | null> {
    const summary = this.profiles.summary;
    if (summary === null) return null;
    try {
      const { batch, obstacle } = await this.daemon.request<Prediction>('ridgeline/predict', { profileId: summary.profileId, ...question });
      this.show(batch ?? this.preview, obstacle);
      return batch;
    } catch (error) {
      this.show(this.preview, error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  private async write(batchSize: number, gesture: number): Promise<void> {
    this.writing = { batchSize, gesture };
    if (this.isWriting) return;
    this.isWriting = true;
    const entry = this.profiles.entry;
    try {
      if (entry !== undefined) await this.reveal(entry);
      for (let written = -1; entry !== undefined && this.writing.batchSize !== written; ) {
        written = this.writing.batchSize;
        await this.daemon.request('ridgeline/setBatchSize', { textDocument: { uri: entry.toString() }, batchSize: written });
      }
    } catch (error) {
      this.show(this.preview, error instanceof Error ? error.message : String(error));
    }
    this.isWriting = false;
    this.writing = undefined;
  }

  private async reveal(entry: vscode.Uri): Promise<void> {
    if (vscode.window.visibleTextEditors.some(({ document }) => document.uri.toString() === entry.toString())) return;
    await vscode.window.showTextDocument(entry, { preserveFocus: true, viewColumn: vscode.ViewColumn.One });
  }

  /** Undone, redone or typed: the bars follow the digits. */
  private textChanged(document: vscode.TextDocument): void {
    if (this.editing || this.literal === undefined || document.uri.toString() !== this.profiles.entry?.toString()) return;
    const line = this.literal.line < document.lineCount ? document.lineAt(this.literal.line).text : '';
    const digits = line.startsWith(this.literal.before) ? /^\d+/.exec(line.slice(this.literal.before.length))?.[0] : undefined;
    if (digits === undefined || Number(digits) === this.profiles.summary?.batchSize) this.show(null, null);
    else if (Number(digits) !== this.preview?.batchSize) void this.predict({ batchSize: Number(digits) });
  }

  private show(preview: Batch | null, obstacle: string | null): void {
    this.preview = preview;
    this.obstacle = obstacle;
    this.emitter.fire();
  }
}

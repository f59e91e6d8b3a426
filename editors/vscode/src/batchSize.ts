/** Another batch size, asked for by dragging: predicted at once, written into the code as one undo step. */
import * as vscode from 'vscode';
import { type ApplyWorkspaceEditParams, type ApplyWorkspaceEditResult, TextDocumentEdit } from 'vscode-languageclient/node';
import type { Daemon } from './daemon';
import type { Profiles } from './profiles';
import type { Batch, Prediction, Question } from './protocol';

const restMs = 100; // without a key, before the daemon is asked what stands in the code now

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
  private revision: number | undefined;
  private editing = false;
  private lastGesture = -1;
  private shown = 0;
  private rest: NodeJS.Timeout | undefined;
  private readonly disposables: vscode.Disposable[];

  constructor(private readonly daemon: Daemon, private readonly profiles: Profiles) {
    this.disposables = [
      profiles.onDidChange(() => {
        const { profileId, revision } = profiles.summary ?? {};
        const [before, seen] = [this.profileId, this.revision];
        [this.profileId, this.revision] = [profileId, revision];
        if (profileId !== before) this.show(null, null);
        else if (revision !== seen) this.refresh(); // a batch size was tried
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.textChanged(document)),
    ];
  }

  /** At once, where the batches that are known answer; else the daemon is asked, for one wish at a time: the last. */
  async ask(question: Question, gesture: number): Promise<void> {
    const batch = answerOf(this.profiles.knownBatches(), question);
    if (batch !== undefined) {
      this.wish = undefined;
      this.show(batch, null);
      return this.write(batch.batchSize, gesture);
    }
    this.wish = { question, gesture };
    if (this.asking) return;
    this.asking = true;
    while (this.wish !== undefined) {
      const wish: Wish = this.wish;
      this.wish = undefined;
      const found = await this.predict(wish.question);
      if (found !== null) void this.write(found.batchSize, wish.gesture);
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
    clearTimeout(this.rest);
    this.emitter.dispose();
    for (const disposable of this.disposables) disposable.dispose();
  }

  private async predict(question: Question): Promise<Batch | null> {
    const summary = this.profiles.summary;
    if (summary === null) return null;
    const shown = this.shown;
    try {
      const { batch, message } = await this.daemon.request<Prediction>('ridgeline/predict', { profileId: summary.profileId, ...question });
      if (shown !== this.shown) return null; // what was shown meanwhile is newer
      this.show(batch ?? this.preview, message);
      return batch;
    } catch (error) {
      this.show(this.preview, error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  private refresh(): void {
    this.profiles.knownBatches();
    if (this.preview !== null && this.wish === undefined) void this.predict({ batchSize: this.preview.batchSize });
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

  /** Undone, redone or typed: the bars follow the code. */
  private textChanged(document: vscode.TextDocument): void {
    if (this.editing || document.uri.toString() !== this.profiles.entry?.toString()) return;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => void this.follow(), restMs);
  }

  private async follow(): Promise<void> {
    const batchSize = await this.profiles.batchSizeInCode();
    if (this.writing !== undefined || batchSize === (this.preview?.batchSize ?? this.profiles.summary?.batchSize)) return;
    if (batchSize === null || batchSize === this.profiles.summary?.batchSize) return this.show(null, null);
    const batch = answerOf(this.profiles.knownBatches(), { batchSize });
    if (batch === undefined) await this.predict({ batchSize });
    else this.show(batch, null);
  }

  private show(preview: Batch | null, obstacle: string | null): void {
    ++this.shown;
    this.preview = preview;
    this.obstacle = obstacle;
    this.emitter.fire();
  }
}

/** The batch that the daemon would answer with, of those by batch size; undefined: it has to be asked. */
function answerOf(batches: Batch[], question: Question): Batch | undefined {
  if ('batchSize' in question) return batches.find(({ batchSize }) => batchSize === question.batchSize);
  if ('samplesPerSecond' in question) return batches.find((batch) => (batch.samplesPerSecond?.value ?? 0) >= question.samplesPerSecond);
  return batches.filter(({ peakBytes }) => peakBytes !== null && peakBytes.value <= question.bytes).at(-1);
}

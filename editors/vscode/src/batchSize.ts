/** Another batch size, requested by dragging: predicted at once, written into the code as one undo step. */
import * as vscode from 'vscode';
import type { Daemon } from './daemon';
import type { Question } from './messages';
import type { Profiles } from './profiles';
import type { Batch, Prediction, WorkspaceEdit } from './protocol';

const restMs = 100; // after the last change of the text, before the daemon is asked for the batch size in it

/** A question that waits to be answered and written into the code. */
interface Pending {
  question: Question;
  isShown: boolean;
  gesture: number;
}

export class BatchSize implements vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChange = this.emitter.event;
  preview: Batch | null = null;
  obstacle: string | null = null;
  private pending: Pending | undefined;
  private isAnswering = false;
  private profileId: string | undefined;
  private revision: number | undefined;
  private isEditing = false;
  private lastGesture = -1;
  private shown = 0;
  private rest: NodeJS.Timeout | undefined;
  private readonly disposables: vscode.Disposable[];

  constructor(private readonly daemon: Daemon, private readonly profiles: Profiles) {
    this.disposables = [
      profiles.onDidChange(() => {
        const { profileId, revision } = profiles.summary ?? {};
        const [profileBefore, revisionBefore] = [this.profileId, this.revision];
        [this.profileId, this.revision] = [profileId, revision];
        if (profileId !== profileBefore) this.show(null, null);
        else if (revision !== revisionBefore) this.refresh(); // a batch size was tried
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.textChanged(document)),
    ];
  }

  /** Shows the batch size that answers and writes it into the code, for one question at a time: of later ones the last. */
  async ask(question: Question, gesture: number): Promise<void> {
    const known = answerOf(this.profiles.knownBatches(), question);
    if (known !== undefined) this.show(known, null);
    this.pending = { question: known === undefined ? question : { batchSize: known.batchSize }, isShown: known !== undefined, gesture };
    if (this.isAnswering) return;
    this.isAnswering = true;
    while (this.pending !== undefined) {
      const next: Pending = this.pending;
      this.pending = undefined;
      try {
        await this.answer(next);
      } catch (error) {
        this.show(this.preview, error instanceof Error ? error.message : String(error));
      }
    }
    this.isAnswering = false;
  }

  async undo(): Promise<void> {
    if (this.profiles.entry === undefined) return;
    await vscode.window.showTextDocument(this.profiles.entry);
    await vscode.commands.executeCommand('undo');
  }

  dispose(): void {
    clearTimeout(this.rest);
    this.emitter.dispose();
    for (const disposable of this.disposables) disposable.dispose();
  }

  private async answer({ question, isShown, gesture }: Pending): Promise<void> {
    const entry = this.profiles.entry;
    if (entry === undefined) return;
    await this.reveal(entry); // the edit is of an open text
    const prediction = await this.predict(question, !isShown);
    if (prediction?.edit) await this.write(prediction.edit, gesture);
    else if (prediction?.batch && prediction.noEditReason !== '') this.show(this.preview, prediction.noEditReason);
  }

  private async predict(question: Question, shows = true): Promise<Prediction | null> {
    const summary = this.profiles.summary;
    if (summary === null) return null;
    const shown = this.shown;
    try {
      const prediction = await this.daemon.request('ridgeline/predict', { profileId: summary.profileId, ...question });
      if (shows && shown !== this.shown) return null; // what was shown meanwhile is newer
      if (shows) this.show(prediction.batch ?? this.preview, prediction.message);
      return prediction;
    } catch (error) {
      this.show(this.preview, error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  private refresh(): void {
    this.profiles.knownBatches();
    if (this.preview !== null && !this.isAnswering) void this.predict({ batchSize: this.preview.batchSize });
  }

  /** The edits of one gesture become one undo step, which an edit of the workspace does not offer. */
  private async write(edit: WorkspaceEdit, gesture: number): Promise<void> {
    const change = edit.documentChanges?.[0];
    const uri = change && vscode.Uri.parse(change.textDocument.uri).toString();
    const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri);
    if (change === undefined || editor === undefined || editor.document.version !== change.textDocument.version) return; // edited meanwhile
    this.isEditing = true;
    try {
      await editor.edit((builder) => {
        for (const { range: { start, end }, newText } of change.edits) {
          builder.replace(new vscode.Range(start.line, start.character, end.line, end.character), newText);
        }
      }, { undoStopBefore: gesture !== this.lastGesture, undoStopAfter: false });
    } finally {
      this.isEditing = false;
    }
    this.lastGesture = gesture;
  }

  private async reveal(entry: vscode.Uri): Promise<void> {
    if (vscode.window.visibleTextEditors.some(({ document }) => document.uri.toString() === entry.toString())) return;
    await vscode.window.showTextDocument(entry, { preserveFocus: true, viewColumn: vscode.ViewColumn.One });
  }

  /** Undone, redone or typed: the bars follow the code. */
  private textChanged(document: vscode.TextDocument): void {
    if (this.isEditing || document.uri.toString() !== this.profiles.entry?.toString()) return;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => void this.follow(), restMs);
  }

  private async follow(): Promise<void> {
    const batchSize = await this.profiles.batchSizeInCode();
    if (this.isAnswering || batchSize === (this.preview?.batchSize ?? this.profiles.summary?.batchSize)) return;
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

/** The batch that the daemon would answer with, among known ones by batch size; undefined: the daemon must be asked. */
function answerOf(batches: Batch[], question: Question): Batch | undefined {
  if ('batchSize' in question) return batches.find(({ batchSize }) => batchSize === question.batchSize);
  if ('samplesPerSecond' in question) return batches.find((batch) => (batch.samplesPerSecond?.value ?? 0) >= question.samplesPerSecond);
  return batches.filter(({ peakBytes }) => peakBytes !== null && peakBytes.value <= question.bytes).at(-1);
}

/** Another batch size: shown while a bar is dragged, and written into the code when the bar is released. */
import * as vscode from 'vscode';
import type { Daemon } from './daemon';
import { apply, reveal } from './edits';
import { writeArguments } from './launch';
import type { Question } from './messages';
import type { Profiles } from './profiles';
import type { Batch, Prediction, WorkspaceEdit } from './protocol';

const restMs = 100; // after the last change of the text, before the daemon is asked for the batch size in it

/** One drag, or one run of keys: from its first question until it is committed or cancelled. */
interface Gesture {
  /** The one to be answered next; undefined: none. */
  question: Question | undefined;
  /** The last answer. */
  batch: Batch | undefined;
  /** The text of the entry file was edited meanwhile: nothing is written any more. */
  isOutdated: boolean;
}

export class BatchSize implements vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChange = this.emitter.event;
  /** What is shown in place of the profile's own batch size. */
  preview: Batch | null = null;
  /** Whether the code has the batch size that is shown. */
  isInCode = true;
  obstacle: string | null = null;
  private gesture: Gesture | undefined;
  private writing: Gesture | undefined;
  private isEditing = false;
  /** Answers and edits, one after the other. */
  private turn: Promise<void> = Promise.resolve();
  private profileId: string | undefined;
  private revision: number | undefined;
  private shown = 0;
  private rest: NodeJS.Timeout | undefined;
  private readonly disposables: vscode.Disposable[];

  constructor(
    private readonly daemon: Daemon,
    private readonly profiles: Profiles,
    private readonly profile: (entry: vscode.Uri) => unknown,
  ) {
    this.disposables = [
      profiles.onDidChange(() => {
        const { profileId, revision } = profiles.summary ?? {};
        const [profileBefore, revisionBefore] = [this.profileId, this.revision];
        [this.profileId, this.revision] = [profileId, revision];
        if (profileId !== profileBefore) {
          this.show(null, null);
          this.queue(() => this.follow());
        } else if (revision !== revisionBefore) {
          this.refresh(); // a batch size was tried
        }
      }),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0) this.textChanged(document);
      }),
    ];
  }

  /** Shows the batch size that answers; of several questions that wait, only the last is answered. The code stays as it is. */
  ask(question: Question): void {
    const gesture = (this.gesture ??= { question: undefined, batch: undefined, isOutdated: false });
    if (gesture.isOutdated) return;
    const known = answerOf(this.profiles.knownBatches(), question);
    if (known !== undefined) {
      gesture.question = undefined;
      this.answered(gesture, known, null);
      return;
    }
    const waits = gesture.question !== undefined;
    gesture.question = question;
    if (!waits) this.queue(() => this.answer(gesture));
  }

  /** Ends the gesture: writes its batch size into the code, as one undo step. */
  commit(): void {
    const gesture = this.gesture;
    this.gesture = undefined;
    if (gesture !== undefined) this.queue(() => this.write(gesture));
  }

  /** Ends the gesture and shows the batch size in the code. */
  cancel(): void {
    if (this.gesture === undefined) return;
    this.gesture.isOutdated = true;
    this.gesture = undefined;
    this.queue(() => this.follow());
  }

  /** Resolves when all that was committed is written. */
  settled(): Promise<void> {
    return this.turn;
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

  private queue(action: () => Promise<void>): void {
    this.turn = this.turn
      .then(action)
      .catch((error: unknown) =>
        this.show(this.preview, error instanceof Error ? error.message : String(error), this.isInCode),
      );
  }

  private async answer(gesture: Gesture): Promise<void> {
    const question = gesture.question;
    gesture.question = undefined;
    if (question === undefined || gesture.isOutdated) return;
    const shown = this.shown;
    const prediction = await this.predict(question);
    if (prediction === null || shown !== this.shown || gesture.isOutdated) return; // what was shown meanwhile is newer
    this.answered(gesture, prediction.batch, prediction.message);
  }

  private answered(gesture: Gesture, batch: Batch | null, obstacle: string | null): void {
    gesture.batch = batch ?? gesture.batch;
    if (this.gesture === gesture || this.gesture === undefined) this.show(batch ?? this.preview, obstacle, false);
  }

  private async write(gesture: Gesture): Promise<void> {
    const entry = this.profiles.entry;
    if (gesture.isOutdated) return this.follow();
    if (gesture.batch === undefined || entry === undefined) return this.show(this.preview, this.obstacle); // why there is none
    this.writing = gesture;
    try {
      await reveal(entry); // the edit is of an open text
      const prediction = await this.predict({ batchSize: gesture.batch.batchSize });
      if (gesture.isOutdated) return await this.follow();
      if (prediction?.edit) await this.edit(prediction.edit);
      else if (prediction?.arguments) void writeArguments(entry, prediction.arguments, () => this.profile(entry));
      else if (prediction !== null && prediction.noEditReason !== '')
        return this.show(this.preview, prediction.noEditReason, false);
    } finally {
      this.writing = undefined;
    }
    if (this.gesture === undefined) await this.follow();
  }

  private async predict(question: Question): Promise<Prediction | null> {
    const summary = this.profiles.summary;
    return summary === null
      ? null
      : this.daemon.request('ridgeline/predict', { profileId: summary.profileId, ...question });
  }

  private async edit(edit: WorkspaceEdit): Promise<void> {
    this.isEditing = true;
    try {
      await apply(edit);
    } finally {
      this.isEditing = false;
    }
  }

  /** Undone, redone or typed: the bars follow the code, also when one of them is being dragged. */
  private textChanged(document: vscode.TextDocument): void {
    if (this.isEditing || document.uri.toString() !== this.profiles.entry?.toString()) return;
    for (const gesture of [this.gesture, this.writing]) if (gesture !== undefined) gesture.isOutdated = true;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.queue(() => this.follow()), restMs);
  }

  /** Shows the batch size in the code, unless another is being chosen. */
  private async follow(): Promise<void> {
    const shown = this.shown;
    const batchSize = await this.profiles.batchSizeInCode();
    if (shown !== this.shown || (this.gesture !== undefined && !this.gesture.isOutdated)) return;
    if (batchSize === null || batchSize === this.profiles.summary?.batchSize) return this.show(null, null);
    if (batchSize === this.preview?.batchSize) return this.show(this.preview, null);
    const known = answerOf(this.profiles.knownBatches(), { batchSize });
    if (known !== undefined) return this.show(known, null);
    const prediction = await this.predict({ batchSize });
    if (prediction !== null && shown === this.shown) this.show(prediction.batch, prediction.message);
  }

  /** A batch size that was tried has other figures. */
  private refresh(): void {
    this.profiles.knownBatches();
    const preview = this.preview;
    if (preview === null || this.gesture !== undefined) return;
    this.queue(async () => {
      const prediction = await this.predict({ batchSize: preview.batchSize });
      if (prediction?.batch && this.preview === preview) this.show(prediction.batch, prediction.message, this.isInCode);
    });
  }

  private show(preview: Batch | null, obstacle: string | null, isInCode = true): void {
    ++this.shown;
    this.preview = preview;
    this.obstacle = obstacle;
    this.isInCode = isInCode;
    this.emitter.fire();
  }
}

/** What was measured where the batch size ran, else what is predicted. */
const throughputOf = ({ measured, samplesPerSecond }: Batch) =>
  measured?.samplesPerSecond ?? samplesPerSecond?.value ?? null;
const peakOf = ({ measured, peakBytes }: Batch) => measured?.peakBytes ?? peakBytes?.value ?? null;

/** The batch that the daemon would answer with, among known ones by batch size; undefined: the daemon must be asked. */
function answerOf(batches: Batch[], question: Question): Batch | undefined {
  if ('batchSize' in question) return batches.find(({ batchSize }) => batchSize === question.batchSize);
  if ('samplesPerSecond' in question)
    return batches.find((batch) => (throughputOf(batch) ?? 0) >= question.samplesPerSecond);
  return batches.filter((batch) => (peakOf(batch) ?? Infinity) <= question.peakBytes).at(-1);
}

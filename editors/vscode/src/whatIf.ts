/** What changes of the step would bring: asked for and tried by the user, for the entry that the view shows. */
import * as vscode from 'vscode';
import { LSPErrorCodes, ResponseError } from 'vscode-languageclient/node';
import type { Daemon } from './daemon';
import { EditPreview } from './editPreview';
import { apply, reveal } from './edits';
import { Idle } from './idle';
import { writeArguments } from './launch';
import type { WhatIfState } from './messages';
import type { Profiles } from './profiles';
import { mayRun } from './profiling';
import type { ChangeAnswer, WhatIf as Answer } from './protocol';

export class WhatIf implements vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChange = this.emitter.event;
  private answer: Answer | null = null;
  /** Rows of the answer that is on its way, as they come. */
  private first: ChangeAnswer[] = [];
  private readonly idle = new Idle();
  private readonly preview = new EditPreview();
  /** The profile that the answer is of. */
  private profileId: string | undefined;
  private running: { change: string[] | null; cancel: vscode.CancellationTokenSource } | undefined;
  private failure: string | null = null;
  /** The change that was written last, as long as that was the last edit. */
  private written: { change: string[]; entry: string; uri: string; version: number } | undefined;
  private entry: string | undefined;
  private readonly disposables: vscode.Disposable[];

  constructor(
    private readonly daemon: Daemon,
    private readonly profiles: Profiles,
    private readonly profile: (entry: vscode.Uri) => unknown,
  ) {
    this.disposables = [
      this.idle,
      this.preview,
      profiles.onDidChange(() => this.followEntry()),
      profiles.onDidProgress(() => this.running && this.emitter.fire()),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.forgetWritten(document)),
    ];
  }

  get state(): WhatIfState {
    const { summary, progress } = this.profiles;
    return {
      changes: this.first.length > 0 ? this.first : (this.answer?.changes ?? null),
      applied: summary?.applied ?? null,
      written: this.written?.entry === this.entry ? (this.written?.change ?? null) : null,
      tryText: this.untried().length === 0 ? '' : (this.answer?.tryText ?? ''),
      basis: this.answer?.basisText ?? null,
      warnings: this.answer?.warnings ?? [],
      isOutdated:
        this.answer !== null &&
        this.first.length === 0 &&
        (summary?.profileId !== this.profileId || summary?.stale === true),
      running:
        this.running === undefined ? null : { change: this.running.change, message: progress?.message ?? 'Waiting' },
      failure: this.failure,
    };
  }

  /** Predicts the usual changes; then, where the user has said so, tries them in the background, while nobody types. */
  async ask(): Promise<void> {
    if ((await this.predict()) && vscode.workspace.getConfiguration('ridgeline').get('tryChanges') === true)
      await this.tryAll(true);
  }

  /** Also predicts the best combination of changes, whose peak memory is within the limit that the user is asked for. */
  async search(): Promise<void> {
    const typed = await vscode.window.showInputBox({
      title: 'Find the Best Combination of Changes',
      prompt: 'Most peak memory in GiB. Empty: no limit.',
      validateInput: (text) => (text.trim() === '' || Number(text) > 0 ? undefined : 'A number of GiB, such as 8'),
    });
    if (typed === undefined) return;
    const limit = typed.trim() === '' ? {} : { memoryBytes: Math.round(Number(typed) * 2 ** 30) };
    await this.predict({ search: true, ...limit });
  }

  private predict(options: { search?: boolean; memoryBytes?: number } = {}): Promise<boolean> {
    return this.run(null, async (textDocument, token) => {
      const entry = this.entry;
      const show = ({ changes }: { changes: ChangeAnswer[] }): void => {
        if (this.running?.change !== null || this.entry !== entry) return;
        for (const row of changes)
          this.first = [...this.first.filter(({ change }) => !isSame(change, row.change)), row];
        this.emitter.fire();
      };
      try {
        const answer = await this.daemon.requestInParts('ridgeline/whatIf', { textDocument, ...options }, show, token);
        return () => {
          this.answer = answer;
          this.profileId = this.profiles.summary?.profileId;
        };
      } finally {
        this.first = [];
      }
    });
  }

  /** Runs one of them. False: it did not come to its end. */
  try(change: string[]): Promise<boolean> {
    return this.run(change, async (textDocument, token) => {
      const row = await this.daemon.request('ridgeline/try', { textDocument, change }, token);
      return () => this.replace(row);
    });
  }

  /** Runs those that were not tried, one after the other, until one does not come to its end: cancelled, or failed. The
   * daemon runs what else is asked for between them. `whenIdle`: each waits until nobody types. */
  async tryAll(whenIdle = false): Promise<void> {
    const answer = this.answer;
    const isOver = (): boolean =>
      this.answer === null || this.state.isOutdated || (whenIdle && this.running !== undefined);
    for (const { change } of this.untried()) {
      if (
        isOver() ||
        (whenIdle && !(await this.idle.wait(isOver))) ||
        answer?.uri !== this.answer?.uri ||
        !(await this.try(change))
      )
        return;
    }
  }

  /** What is unclear comes first, and what takes long last. */
  private untried(): ChangeAnswer[] {
    const rank = ({ change, predicted }: ChangeAnswer): number =>
      change.includes('compile') ? 2 : predicted?.verdict === 'unclear' ? 0 : 1;
    return (this.answer?.changes ?? [])
      .filter(({ applies, tried, notTried }) => applies && tried === null && notTried === '')
      .sort((a, b) => rank(a) - rank(b));
  }

  /** Writes one of them into the entry file, as one undo step; one of several lines once the user has seen it. */
  async apply(change: string[]): Promise<void> {
    const entry = this.profiles.entry;
    if (entry === undefined) return;
    try {
      await reveal(entry); // the edit is of an open text
      const {
        edit,
        noEditReason,
        arguments: args,
      } = await this.daemon.request('ridgeline/changeEdit', {
        textDocument: { uri: entry.toString() },
        change,
      });
      if (args !== null) return void writeArguments(entry, args, () => this.profile(entry));
      const title = this.answer?.changes.find((row) => String(row.change) === String(change))?.title;
      if (edit !== null && !(await this.preview.allows(edit, title ?? change.join(' + ')))) return;
      const isWritten = edit !== null && (await apply(edit));
      this.failure = edit === null ? noEditReason : isWritten ? null : 'The text changed meanwhile: apply it again.';
      const document = this.documentOf(edit?.documentChanges?.[0]?.textDocument.uri ?? entry.toString());
      if (isWritten && document !== undefined)
        this.written = {
          change,
          entry: entry.toString(),
          uri: document.uri.toString(),
          version: document.version,
        };
    } catch (error) {
      this.failure = error instanceof Error ? error.message : String(error);
    }
    this.emitter.fire();
  }

  /** Takes back the change that was written last. */
  async undo(): Promise<void> {
    const written = this.written;
    const document = written && this.documentOf(written.uri);
    if (written === undefined || document?.version !== written.version) return;
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.One }); // `undo` is of what has the focus
    await vscode.commands.executeCommand('undo');
  }

  private documentOf(uri: string): vscode.TextDocument | undefined {
    return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri);
  }

  private forgetWritten(document: vscode.TextDocument): void {
    if (this.written?.uri !== document.uri.toString() || this.written.version === document.version) return;
    this.written = undefined;
    this.emitter.fire();
  }

  cancel(): void {
    this.running?.cancel.cancel();
  }

  dispose(): void {
    this.cancel();
    this.emitter.dispose();
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** `request` returns what its answer changes: nothing, once another entry is shown. Whether it came to its end. */
  private async run(
    change: string[] | null,
    request: (textDocument: { uri: string }, token: vscode.CancellationToken) => Promise<() => void>,
  ): Promise<boolean> {
    const entry = this.profiles.entry;
    if (entry === undefined || this.running !== undefined || !(await mayRun())) return false;
    const running = (this.running = { change, cancel: new vscode.CancellationTokenSource() });
    this.failure = null;
    this.profiles.progress = null;
    this.emitter.fire();
    let isDone = false;
    try {
      const apply = await request({ uri: entry.toString() }, running.cancel.token);
      if (this.running === running) apply();
      isDone = this.running === running;
    } catch (error) {
      const isCancelled = error instanceof ResponseError && error.code === LSPErrorCodes.RequestCancelled;
      if (this.running === running && !isCancelled)
        this.failure = error instanceof Error ? error.message : String(error);
    } finally {
      running.cancel.dispose();
      if (this.running === running) {
        this.running = undefined;
        this.emitter.fire();
      }
    }
    return isDone;
  }

  private replace(row: ChangeAnswer): void {
    if (this.answer === null) return;
    const changes = this.answer.changes.map((one) => (isSame(one.change, row.change) ? row : one));
    this.answer = { ...this.answer, changes };
  }

  /** What is known of another entry is asked for anew: the daemon still has it. */
  private followEntry(): void {
    const entry = this.profiles.entry?.toString();
    if (entry !== this.entry) {
      this.entry = entry;
      this.running?.cancel.cancel();
      this.running = undefined;
      this.answer = this.failure = null;
    }
    this.emitter.fire();
  }
}

function isSame(a: string[], b: string[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

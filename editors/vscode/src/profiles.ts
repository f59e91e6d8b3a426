/** The state of the profiles: the entry that the user is looking at, its figures, and the node being explored. */
import * as vscode from 'vscode';
import type { Daemon } from './daemon';
import type { Batch, Breakdown, Changed, Requests, Summary } from './protocol';

export type Costliest = Requests['ridgeline/costliest']['result'];

export interface Progress {
  message: string;
  percentage: number | null;
}

export class Profiles implements vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChange = this.emitter.event;
  private readonly progressEmitter = new vscode.EventEmitter<void>();
  /** No figure changes then. Not more than ten times a second: the step that is timed needs the processor. */
  readonly onDidProgress = this.progressEmitter.event;
  private readonly answeredEmitter = new vscode.EventEmitter<void>();
  /** The predictions for many batch sizes, or the flat lists, have arrived. */
  readonly onDidAnswer = this.answeredEmitter.event;
  private progressTimer: NodeJS.Timeout | undefined;
  /** The entry file that the user looks at. */
  entry: vscode.Uri | undefined;
  /** Whether the user has chosen it: it stays when another file is opened. */
  isChosen = false;
  summary: Summary | null = null;
  breakdown: Breakdown | null = null;
  path: { node: string; name: string }[] = [];
  private batches: { of: string; known: Batch[] } = { of: '', known: [] };
  private costs: { of: string; known: Costliest | null } = { of: '', known: null };
  progress: Progress | null = null;
  private readonly known = new Map<string, Changed>();
  private latest = 0;

  constructor(private readonly daemon: Daemon) {
    daemon.listen('ridgeline/profileChanged', (change) => this.update(change));
    daemon.onState((state) => {
      if (state === 'running') return void this.start();
      this.known.clear(); // a restarted daemon sends its profiles again
      this.progress = null;
      this.emitter.fire();
    });
    vscode.window.onDidChangeActiveTextEditor((editor) => this.follow(editor));
  }

  get state(): Changed | undefined {
    return this.entry && this.known.get(this.entry.toString());
  }

  /** The entry files that have a profile, or had one that failed. */
  get entries(): vscode.Uri[] {
    return [...this.known.values()]
      .filter(({ state, profiling }) => state !== 'none' || profiling)
      .map(({ uri }) => vscode.Uri.parse(uri));
  }

  get isExploring(): boolean {
    return this.breakdown !== null && this.breakdown.node !== '';
  }

  /** The batch size in the text now; null when it is not a number there. */
  async batchSizeInCode(): Promise<number | null> {
    const summary = this.entry && (await this.summaryOf(this.entry));
    return summary?.batchSizeInCode ?? null;
  }

  /** The daemon's predictions for many batch sizes, ascending: a bar can be moved to them without a request. Empty until they have arrived. */
  knownBatches(): Batch[] {
    if (this.summary === null) return [];
    const { profileId } = this.summary;
    const of = `${profileId} ${this.summary.revision}`;
    if (this.batches.of !== of) {
      const batches = (this.batches = { of, known: [] as Batch[] });
      void this.daemon.request('ridgeline/predictions', { profileId }).then(
        (answer) => {
          batches.known = answer.batches;
          if (this.batches === batches) this.answeredEmitter.fire();
        },
        () => undefined,
      ); // the profile is gone: the next one has others
    }
    return this.batches.known;
  }

  /** The costliest lines, operations and module types; null until they have arrived. */
  costliest(): Costliest | null {
    if (this.summary === null) return null;
    const { profileId } = this.summary;
    if (this.costs.of !== profileId) {
      const costs = (this.costs = { of: profileId, known: null as Costliest | null });
      void this.daemon.request('ridgeline/costliest', { profileId }).then(
        (answer) => {
          costs.known = answer;
          if (this.costs === costs) this.answeredEmitter.fire();
        },
        () => undefined,
      ); // the profile is gone: the next one has others
    }
    return this.costs.known;
  }

  /** Whether profiling the file runs it as a training script. */
  async isScript(file: vscode.Uri): Promise<boolean> {
    const { target } = await this.daemon.request('ridgeline/status', { textDocument: { uri: file.toString() } });
    return target !== null && 'isScript' in target && target.isScript;
  }

  /** The entry that a file is part of, as far as the profiles show; otherwise the file. */
  async entryOf(file: vscode.Uri): Promise<vscode.Uri> {
    const summary = await this.summaryOf(file);
    return summary?.uri === undefined ? file : vscode.Uri.parse(summary.uri);
  }

  /** Drills into a node, or back out of it; "" is the whole iteration. */
  async explore(node: string): Promise<void> {
    if (this.summary !== null) await this.load(this.summary, node);
  }

  showProgress(progress: Progress | null): void {
    this.progress = progress;
    this.progressTimer ??= setTimeout(() => {
      this.progressTimer = undefined;
      this.progressEmitter.fire();
    }, 100);
  }

  dispose(): void {
    clearTimeout(this.progressTimer);
    this.emitter.dispose();
    this.progressEmitter.dispose();
    this.answeredEmitter.dispose();
  }

  private update(change: Changed): void {
    const uri = vscode.Uri.parse(change.uri);
    this.known.set(uri.toString(), change);
    if (!change.profiling) this.progress = null;
    if (this.entry === undefined) this.select(uri);
    if (uri.toString() === this.entry?.toString()) void this.reload();
    else this.emitter.fire();
  }

  /** Stays with an entry, or follows the file in the editor again. */
  async choose(entry: vscode.Uri | undefined): Promise<void> {
    this.isChosen = entry !== undefined;
    if (entry === undefined) return this.follow(vscode.window.activeTextEditor);
    this.select(entry);
    await this.reload();
  }

  /** Switches to the figures of another entry, once they have arrived. */
  select(entry: vscode.Uri): void {
    if (entry.toString() === this.entry?.toString()) return;
    this.entry = entry;
    this.summary = this.breakdown = null;
    this.path = [];
  }

  /** The daemon has started: it knows of profiles that were made before. */
  private async start(): Promise<void> {
    try {
      const { entries } = await this.daemon.request('ridgeline/status', {});
      for (const one of entries) this.known.set(vscode.Uri.parse(one.uri).toString(), one);
    } catch {
      return; // it has ended again
    }
    if (this.isChosen) await this.reload();
    else await this.follow(vscode.window.activeTextEditor);
  }

  /** Another file was opened: the figures become those of the entry that it is part of, if there are any. */
  private async follow(editor: vscode.TextEditor | undefined): Promise<void> {
    if (editor?.document.languageId !== 'python' || editor.document.uri.scheme !== 'file') return;
    const file = editor.document.uri;
    if (this.isChosen) return;
    const summary = await this.summaryOf(file);
    if (this.isChosen) return;
    if (summary?.uri !== undefined) this.select(vscode.Uri.parse(summary.uri));
    else if (this.summary === null || this.known.has(file.toString())) this.select(file);
    await this.reload();
  }

  private async reload(): Promise<void> {
    const turn = ++this.latest;
    const summary = this.entry === undefined ? null : await this.summaryOf(this.entry);
    if (turn !== this.latest) return;
    if (summary === null) {
      this.summary = this.breakdown = null;
      this.emitter.fire();
      return;
    }
    await this.load(summary, this.breakdown?.node ?? '');
  }

  /** The summary with one of its nodes; with the whole iteration when that node no longer exists. */
  private async load(summary: Summary, node: string): Promise<void> {
    const turn = ++this.latest;
    const before = this.path;
    const steps = node === '' ? [] : node.split('.').map((_, i, parts) => parts.slice(0, i + 1).join('.'));
    try {
      const nodes = await Promise.all(['', ...steps].map((id) => this.breakdownOf(summary, id)));
      if (turn !== this.latest) return;
      const path = nodes.map(({ node: id, name }) => ({ node: id, name }));
      // A new profile may have another tree: a node with the same id but another name is not what the user explores.
      const moved =
        summary.profileId !== this.summary?.profileId &&
        path.some(({ name }, i) => before[i] !== undefined && before[i].name !== name);
      this.summary = summary;
      this.path = moved ? path.slice(0, 1) : path;
      this.breakdown = (moved ? nodes[0] : nodes.at(-1)) ?? null;
      this.emitter.fire();
    } catch {
      if (turn === this.latest && node !== '') await this.load(summary, '');
    }
  }

  private breakdownOf(summary: Summary, node: string): Promise<Breakdown> {
    return this.daemon.request('ridgeline/breakdown', { profileId: summary.profileId, node });
  }

  private async summaryOf(file: vscode.Uri): Promise<Summary | null> {
    if (this.daemon.state !== 'running') return null;
    try {
      return await this.daemon.request('ridgeline/summary', { textDocument: { uri: file.toString() } });
    } catch {
      return null; // the daemon exited meanwhile
    }
  }
}

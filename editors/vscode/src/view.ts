/** The Ridgeline view: sends what there is to show, and does what is asked for there. */
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { BatchSize } from './batchSize';
import type { Daemon } from './daemon';
import {
  type Cost,
  type CurvePoint,
  type FromView,
  type Range,
  type Script,
  type ToView,
  type ViewCommand,
  viewCommands,
  type ViewState,
} from './messages';
import { activeNotebook, canExport } from './notebook';
import type { Jobs } from './jobs';
import type { Profiles } from './profiles';
import type { Batch, Breakdown, CostRow, Estimate, Place } from './protocol';
import type { Reports } from './reports';
import { scriptOf } from './script';
import type { WhatIf } from './whatIf';

export class View implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private curveSent = '';
  private costsSent = '';
  private canExport = false;
  private script: { of: string; known: Script | null } = { of: '', known: null };
  /** Whether the file that has no profile yet would run as a script. */
  private unprofiled = { file: '', isScript: false };
  private readonly highlight = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('editor.findMatchHighlightBackground'),
    border: '1px solid',
    borderColor: new vscode.ThemeColor('editor.findMatchHighlightBorder'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.findMatchForeground'),
  });
  private readonly disposables: vscode.Disposable[];

  constructor(
    private readonly root: vscode.Uri,
    private readonly daemon: Daemon,
    private readonly profiles: Profiles,
    private readonly batchSize: BatchSize,
    private readonly whatIf: WhatIf,
    private readonly jobs: Jobs,
    private readonly reports: Reports,
  ) {
    this.disposables = [
      this.highlight,
      daemon.onState(() => this.send()),
      profiles.onDidChange(() => {
        this.send();
        void this.followScript();
        void this.followUnprofiled();
      }),
      profiles.onDidProgress(() => this.send()),
      profiles.onDidAnswer(() => this.sendAnswers()),
      vscode.window.onDidChangeActiveNotebookEditor(() => void this.notebookChanged()),
      batchSize.onDidChange(() => this.post({ type: 'preview', ...this.preview() })),
      whatIf.onDidChange(() => this.post({ type: 'whatIf', whatIf: whatIf.state })),
      jobs.onDidChange(() => this.post({ type: 'ranks', ranks: jobs.state })),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.send()),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.webview.options = {
      enableScripts: true,
      localResourceRoots: [vscode.Uri.joinPath(this.root, 'dist'), vscode.Uri.joinPath(this.root, 'media')],
    };
    view.webview.onDidReceiveMessage((message: FromView) => this.received(message));
    view.onDidChangeVisibility(() => this.sendAnswers());
    view.onDidDispose(() => (this.view = undefined));
    view.webview.html = this.html(view.webview);
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  private received(message: FromView): void {
    switch (message.type) {
      case 'ready':
        this.curveSent = this.costsSent = '';
        void this.notebookChanged();
        return this.send();
      case 'choose':
        return void this.profiles.choose(this.profiles.entries.find((entry) => entry.toString() === message.uri));
      case 'command':
        return void this.run(message.command);
      case 'explore':
        return void this.explore(message.node);
      case 'highlight':
        return this.mark(message.place);
      case 'open':
        return void this.open(message.place);
      case 'openMention':
        return void this.reports.open(message.path, message.line);
      case 'ask':
        return this.batchSize.ask(message.question);
      case 'commit':
        return this.batchSize.commit();
      case 'cancel':
        return this.batchSize.cancel();
      case 'askWhatIf':
        return void this.whatIf.ask();
      case 'searchWhatIf':
        return void this.whatIf.search();
      case 'tryChange':
        return void this.whatIf.try(message.change);
      case 'tryAllChanges':
        return void this.whatIf.tryAll();
      case 'applyChange':
        return void this.whatIf.apply(message.change);
      case 'undoChange':
        return void this.whatIf.undo();
      case 'cancelWhatIf':
        return this.whatIf.cancel();
      case 'openJobReport':
        return void this.jobs.openReport();
      case 'predictJobChanges':
        return void this.jobs.predictChanges();
      case 'optimizeJob':
        return void this.jobs.optimize();
      case 'closeJob':
        return this.jobs.close();
    }
  }

  /** Goes to the code of the node that is explored: its lines are those that are marked then. */
  private async explore(node: string): Promise<void> {
    await this.profiles.explore(node);
    const { breakdown } = this.profiles;
    if (breakdown === null || breakdown.node !== node || node === '') return;
    const place = breakdown.forward ?? breakdown.location ?? breakdown.definition;
    if (place === null) return;
    const editor = await this.open(place);
    editor.revealRange(
      new vscode.Range(place.line, 0, lastCall(breakdown, place), 0),
      vscode.TextEditorRevealType.InCenterIfOutsideViewport,
    );
  }

  /** The Jupyter extension is started by the first notebook: whether it can export is known only then. */
  private async notebookChanged(): Promise<void> {
    this.canExport = await canExport();
    this.send();
  }

  /** The script that the entry point was written from, once for each profile. */
  private async followScript(): Promise<void> {
    const { entry, summary } = this.profiles;
    const of = entry === undefined || summary === null ? '' : `${entry.toString()} ${summary.profileId}`;
    if (of === this.script.of) return;
    const script = (this.script = { of, known: null as Script | null });
    script.known = entry === undefined || of === '' ? null : await scriptOf(entry);
    if (this.script === script && script.known !== null) this.send();
  }

  private async followUnprofiled(): Promise<void> {
    const { entry, summary } = this.profiles;
    const file = entry === undefined || summary !== null ? '' : entry.toString();
    if (file === this.unprofiled.file) return;
    const unprofiled = (this.unprofiled = { file, isScript: false as boolean });
    if (entry === undefined || file === '') return;
    unprofiled.isScript = await this.profiles.isScript(entry).catch(() => false);
    if (this.unprofiled === unprofiled && unprofiled.isScript) this.send();
  }

  private send(): void {
    this.post({ type: 'state', state: this.state() });
    this.sendAnswers();
  }

  /** The predictions and the flat lists, where they have arrived; else requests them. */
  private sendAnswers(): void {
    if (this.view?.visible !== true) return;
    this.sendCurve();
    this.sendCosts();
  }

  private sendCosts(): void {
    const costliest = this.profiles.costliest();
    if (costliest === null || costliest.profileId === this.costsSent) return;
    this.costsSent = costliest.profileId;
    const { profileId, lines, operations, moduleTypes } = costliest;
    this.post({
      type: 'costs',
      costs: {
        profileId,
        lines: lines.map(cost),
        operations: operations.map(cost),
        moduleTypes: moduleTypes.map(cost),
      },
    });
  }

  private sendCurve(): void {
    const { summary } = this.profiles;
    if (summary === null) return;
    const batches = this.profiles.knownBatches();
    const of = `${summary.profileId} ${summary.revision} ${batches.length}`;
    if (batches.length === 0 || of === this.curveSent) return;
    this.curveSent = of;
    this.post({
      type: 'curve',
      curve: { profileId: summary.profileId, revision: summary.revision, points: batches.map(curvePoint) },
    });
  }

  private post(message: ToView): void {
    void this.view?.webview.postMessage(message);
  }

  private state(): ViewState {
    const { entry, entries, isChosen, state, progress, summary, breakdown, path } = this.profiles;
    return {
      daemon: this.daemon.state,
      trusted: vscode.workspace.isTrusted,
      file: entry === undefined ? null : vscode.workspace.asRelativePath(entry),
      isScript: this.unprofiled.isScript,
      notebook: this.notebook(),
      entries: entries.map((uri) => ({
        uri: uri.toString(),
        file: vscode.workspace.asRelativePath(uri),
        isShown: uri.toString() === entry?.toString(),
      })),
      isChosen,
      profiling: state?.profiling ? (progress ?? { message: 'Waiting', percentage: null }) : null,
      summary,
      breakdown,
      path,
      failure: state?.failure ?? null,
      script: this.script.known,
      ...this.preview(),
      whatIf: this.whatIf.state,
      ranks: this.jobs.state,
    };
  }

  private notebook(): ViewState['notebook'] {
    const notebook = activeNotebook();
    return notebook === undefined
      ? null
      : { file: vscode.workspace.asRelativePath(notebook.uri), canExport: this.canExport };
  }

  private preview(): Pick<ViewState, 'preview' | 'isInCode' | 'obstacle'> {
    const { preview, isInCode, obstacle } = this.batchSize;
    return { preview, isInCode, obstacle };
  }

  /** What was committed is in the code first. */
  private async run(command: ViewCommand): Promise<void> {
    await this.batchSize.settled();
    await vscode.commands.executeCommand(viewCommands[command], ...this.argumentsOf(command));
  }

  /** A file that is no entry point is itself what one is written for. */
  private argumentsOf(command: ViewCommand): unknown[] {
    const { entry, state } = this.profiles;
    if (entry === undefined) return [];
    if (command === 'profile' || command === 'script') return [entry];
    return command === 'entryPoint' && state?.failure?.kind === 'provider-missing' ? [entry.toString()] : [];
  }

  private mark(place: Place | null): void {
    const uri = place && vscode.Uri.parse(place.uri).toString();
    for (const editor of vscode.window.visibleTextEditors) {
      const here = place !== null && editor.document.uri.toString() === uri;
      editor.setDecorations(this.highlight, here ? [new vscode.Range(place.line, 0, place.line, 0)] : []);
    }
  }

  private open(place: Place): Thenable<vscode.TextEditor> {
    const selection = new vscode.Range(place.line, 0, place.line, 0);
    return vscode.window.showTextDocument(vscode.Uri.parse(place.uri), {
      selection,
      preserveFocus: true,
      viewColumn: vscode.ViewColumn.One,
    });
  }

  private html(webview: vscode.Webview): string {
    const nonce = randomBytes(16).toString('base64');
    const file = (...path: string[]) => webview.asWebviewUri(vscode.Uri.joinPath(this.root, ...path)).toString();
    const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
    return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${file('media', 'view.css')}">
<title>Ridgeline</title>
</head>
<body><main id="view"></main><script nonce="${nonce}" src="${file('dist', 'view.js')}"></script></body>
</html>`;
  }
}

/** Where a batch size was measured, that is what its figures are, not the model's. */
function curvePoint({ batchSize, measured, samplesPerSecond, peakBytes }: Batch): CurvePoint {
  if (measured === null) return { batchSize, samplesPerSecond: range(samplesPerSecond), peakBytes: range(peakBytes) };
  const rate = (milliseconds: number) => (milliseconds > 0 ? (1000 * batchSize) / milliseconds : null);
  return {
    batchSize,
    samplesPerSecond: { value: measured.samplesPerSecond, low: rate(measured.highMs), high: rate(measured.lowMs) },
    peakBytes: { value: measured.peakBytes, low: measured.peakBytes, high: measured.peakBytes },
  };
}

function range(estimate: Estimate | null): Range | null {
  return (
    estimate && { value: estimate.value, low: estimate.interval?.low ?? null, high: estimate.interval?.high ?? null }
  );
}

function cost(row: CostRow): Cost {
  return { ...row, file: row.location && vscode.workspace.asRelativePath(vscode.Uri.parse(row.location.uri)) };
}

/** The last line that calls a part of the module below that place; that place itself when there is none. */
function lastCall({ children }: Breakdown, { uri, line }: Place): number {
  return Math.max(line, ...children.flatMap(({ location }) => (location?.uri === uri ? location.line : [])));
}

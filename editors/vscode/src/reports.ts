/** Reports as text: that of an imported trace as a document, and links from the lines that a report names. */
import { execFile } from 'node:child_process';
import * as vscode from 'vscode';
import type { Daemon } from './daemon';
import { mentionsIn } from './mentions';
import { showError } from './notify';

const scheme = 'ridgeline-report';
const mostOutput = 64 * 1024 * 1024;
const mostLinks = 2000;

export class Reports implements vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly disposables: vscode.Disposable[];

  /** `entries`: files beside which a report's paths may begin. */
  constructor(
    private readonly daemon: Daemon,
    private readonly entries: () => vscode.Uri[],
  ) {
    this.disposables = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(scheme, {
        onDidChange: this.changed.event,
        provideTextDocumentContent: (uri) => this.texts.get(uri.toString()) ?? '',
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
      vscode.languages.registerDocumentLinkProvider([{ scheme }, { scheme: 'file', pattern: '**/reports/*.txt' }], {
        provideDocumentLinks: (document, token) => this.links(document, token),
      }),
    ];
  }

  /** Runs `ridgeline report` on this machine; nothing of the trace is run. */
  async import(trace: vscode.Uri | undefined): Promise<void> {
    const file =
      trace ??
      (
        await vscode.window.showOpenDialog({
          title: 'Import Trace',
          filters: { 'Traces of torch.profiler, reports of Nsight Systems': ['json', 'gz', 'sqlite'] },
        })
      )?.[0];
    if (file === undefined) return;
    const name = vscode.workspace.asRelativePath(file);
    const root = vscode.workspace.getWorkspaceFolder(file)?.uri.fsPath;
    const options = ['report', ...(root === undefined ? [] : ['--project-root', root]), '--', file.fsPath];
    try {
      const text = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Notification, title: 'Ridgeline: importing a trace', cancellable: true },
        async (_progress, token) => output(await this.daemon.program(), options, token),
      );
      if (text === null) return;
      const uri = vscode.Uri.from({ scheme, path: `/${name}.txt` });
      this.texts.set(uri.toString(), text);
      this.changed.fire(uri);
      await vscode.window.showTextDocument(uri, { preview: false });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.daemon.log.error(message);
      if ((await showError(`Ridgeline could not import ${name}: ${message}`, 'Show Log')) === 'Show Log')
        this.daemon.log.show();
    }
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Goes to a line that a text names as reports do; nothing happens where there is no such file. */
  async open(path: string, line: number): Promise<void> {
    const file = await existing(path, this.folders());
    if (file === undefined) return;
    const at = new vscode.Position(Math.max(0, line - 1), 0);
    await vscode.window.showTextDocument(file, {
      selection: new vscode.Range(at, at),
      preserveFocus: true,
      viewColumn: vscode.ViewColumn.One,
    });
  }

  private folders(): vscode.Uri[] {
    return [
      ...(vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri),
      ...this.entries().map((entry) => vscode.Uri.joinPath(entry, '..')),
    ];
  }

  /** Of `file.py:12`, where there is such a file in the workspace or beside an entry file. */
  private async links(document: vscode.TextDocument, token: vscode.CancellationToken): Promise<vscode.DocumentLink[]> {
    const folders = this.folders();
    const found = new Map<string, Promise<vscode.Uri | undefined>>();
    const links: vscode.DocumentLink[] = [];
    for (const { index, text, path, line } of mentionsIn(document.getText())) {
      if (token.isCancellationRequested || links.length >= mostLinks) break;
      if (!found.has(path)) found.set(path, existing(path, folders));
      const target = await found.get(path);
      if (target === undefined) continue;
      const link = new vscode.DocumentLink(
        new vscode.Range(document.positionAt(index), document.positionAt(index + text.length)),
        target.with({ fragment: `L${line}` }),
      );
      link.tooltip = `Open ${vscode.workspace.asRelativePath(target)}, line ${line}`;
      links.push(link);
    }
    return links;
  }
}

async function existing(path: string, folders: vscode.Uri[]): Promise<vscode.Uri | undefined> {
  const places = path.startsWith('/')
    ? [vscode.Uri.file(path)]
    : folders.map((folder) => vscode.Uri.joinPath(folder, path));
  for (const uri of places) {
    try {
      await vscode.workspace.fs.stat(uri);
      return uri;
    } catch {
      // not there
    }
  }
  return undefined;
}

/** Null: cancelled. Rejects with what the program wrote to standard error. */
function output(program: string, options: string[], token: vscode.CancellationToken): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, options, { maxBuffer: mostOutput }, (error, text, problem) => {
      if (token.isCancellationRequested) resolve(null);
      else if (error === null) resolve(text);
      else reject(new Error(problem.trim().replace(/^ridgeline: /, '') || error.message));
    });
    token.onCancellationRequested(() => child.kill());
  });
}

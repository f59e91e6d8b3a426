/** The HTML report of a profile, in a tab beside the code. */
import * as vscode from 'vscode';
import type { Daemon } from './daemon';
import { showError, showInformation } from './notify';

export class ReportPage implements vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();

  /** `open`: goes to a line that the report names. */
  constructor(
    private readonly daemon: Daemon,
    private readonly open: (path: string, line: number) => Promise<void>,
  ) {}

  /** One tab for each entry; shown again, it has the present profile. */
  async show(entry: vscode.Uri | undefined): Promise<void> {
    if (entry === undefined) return void showInformation('There is no profile yet.');
    const name = vscode.workspace.asRelativePath(entry);
    try {
      const summary = await this.daemon.request('ridgeline/summary', { textDocument: { uri: entry.toString() } });
      if (summary === null) return void showInformation(`There is no profile of ${name} yet.`);
      const { html } = await this.daemon.request('ridgeline/report', { profileId: summary.profileId });
      const panel = this.panels.get(summary.uri) ?? this.create(summary.uri, `Report of ${name}`);
      panel.webview.html = html;
      panel.reveal();
    } catch (error) {
      void showError(`The report cannot be shown: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  dispose(): void {
    for (const panel of this.panels.values()) panel.dispose();
  }

  /** The page brings its own policy, which allows no script but its own, and loads nothing. */
  private create(uri: string, title: string): vscode.WebviewPanel {
    const panel = vscode.window.createWebviewPanel('ridgeline.report', title, vscode.ViewColumn.Active, {
      enableFindWidget: true,
      enableScripts: true,
      localResourceRoots: [],
    });
    this.panels.set(uri, panel);
    panel.webview.onDidReceiveMessage(({ path, line }: { path: unknown; line: unknown }) => {
      if (typeof path === 'string' && typeof line === 'number') void this.open(path, line);
    });
    panel.onDidDispose(() => this.panels.delete(uri));
    return panel;
  }
}

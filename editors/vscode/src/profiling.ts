/** Starting and cancelling profiles, and reporting those that fail. */
import * as vscode from 'vscode';
import { LSPErrorCodes, ResponseError } from 'vscode-languageclient/node';
import type { Daemon } from './daemon';
import { pythonExtension } from './interpreter';
import { activeNotebook, explainNotebook } from './notebook';
import { showError, showInformation, showWarning } from './notify';
import type { Profiles } from './profiles';
import type { Failure } from './protocol';
import { showTraceback } from './traceback';

/** The kinds of failure that another interpreter may mend: docs/user/errors.md. */
const aboutInterpreter = new Set(['import-error', 'interpreter', 'no-torch', 'python-unsupported', 'torch-unsupported']);

export class Profiling {
  constructor(private readonly daemon: Daemon, private readonly profiles: Profiles) {}

  /** Profiles an entry; without one, that of the file in the active editor. */
  async profile(entry?: vscode.Uri, options: object = {}): Promise<void> {
    const notebook = activeNotebook();
    if (entry === undefined && notebook !== undefined) return explainNotebook(notebook);
    const file = entry ?? (await this.entryHere());
    if (file === undefined) {
      void showInformation('Open the Python file with your providers, then profile it.');
      return;
    }
    if (!vscode.workspace.isTrusted) {
      const choice = await showWarning(
        'Profiling runs the code of this workspace, which is not trusted.', 'Manage Workspace Trust');
      if (choice !== undefined) await vscode.commands.executeCommand('workbench.trust.manage');
      return;
    }
    this.profiles.select(file);
    try {
      await this.daemon.request('ridgeline/profile', { ...options, textDocument: { uri: file.toString() } });
    } catch (error) {
      await this.report(error);
    }
  }

  async cancel(entry = this.profiles.entry): Promise<void> {
    if (entry === undefined) return;
    await this.daemon.execute('ridgeline.cancel', entry.toString());
  }

  private async entryHere(): Promise<vscode.Uri | undefined> {
    const file = vscode.window.activeTextEditor?.document;
    return file?.languageId === 'python' ? this.profiles.entryOf(file.uri) : this.profiles.entry;
  }

  private async report(error: unknown): Promise<void> {
    if (!(error instanceof ResponseError) || error.code === LSPErrorCodes.RequestCancelled) return;
    const failure = error.data as Failure | undefined;
    // The user refused to run the code, or requested another profile.
    if (failure?.kind === 'not-trusted' || failure?.kind === 'superseded') return;
    const select = vscode.extensions.getExtension(pythonExtension) === undefined ? 'Open Setting' : 'Select Interpreter';
    const offers = failure?.kind === 'provider-missing' ? ['Write Entry Point']
      : failure && aboutInterpreter.has(failure.kind) ? [select, 'Show Traceback']
      : failure ? ['Show Traceback'] : [];
    const choice = await showError(`Ridgeline: ${error.message}`, ...offers, 'Show Log');
    if (choice === 'Write Entry Point') await vscode.commands.executeCommand('ridgeline.writeEntryPoint');
    if (choice === 'Select Interpreter') await vscode.commands.executeCommand('python.setInterpreter');
    if (choice === 'Open Setting') await openSetting('ridgeline.python');
    if (choice === 'Show Traceback' && failure) await showTraceback(failure);
    if (choice === 'Show Log') this.daemon.log.show();
  }
}

/** In a window on another machine, a setting that depends on the machine is not among those of the user. */
function openSetting(query: string): Thenable<void> {
  const command = vscode.env.remoteName === undefined ? 'workbench.action.openSettings' : 'workbench.action.openRemoteSettings';
  return vscode.commands.executeCommand(command, { query });
}

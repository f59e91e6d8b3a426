/** Starting and cancelling profiles, and reporting those that fail. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import * as vscode from 'vscode';
import { LSPErrorCodes, ResponseError } from 'vscode-languageclient/node';
import type { Daemon } from './daemon';
import { pythonExtension } from './interpreter';
import { chooseInterpreter } from './interpreterList';
import { findLaunch, type Launch } from './launch';
import { activeNotebook, explainNotebook } from './notebook';
import { showError, showInformation, showWarning } from './notify';
import type { Profiles } from './profiles';
import type { Failure } from './protocol';
import { showTraceback } from './traceback';

/** The kinds of failure that another interpreter may mend: docs/user/errors.md. */
const aboutInterpreter = new Set([
  'import-error',
  'interpreter',
  'no-torch',
  'python-unsupported',
  'torch-unsupported',
]);

const useOwn = "Use the Project's Interpreter";
const showOutput = 'Show Output';
const openInterpreterSetting = 'Open Setting';

export class Profiling {
  constructor(
    private readonly daemon: Daemon,
    private readonly profiles: Profiles,
  ) {
    daemon.listen('ridgeline/output', ({ text }) => daemon.output.append(text));
  }

  /** Profiles an entry; without one, that of the file in the active editor. */
  async profile(entry?: vscode.Uri, options: object = {}): Promise<void> {
    const notebook = activeNotebook();
    if (entry === undefined && notebook !== undefined) return explainNotebook(notebook);
    const file = entry ?? (await this.entryHere());
    if (file === undefined) {
      void showInformation('Open the Python file with your providers, then profile it.');
      return;
    }
    if (await this.profiles.isScript(file)) return this.runScript(file);
    if (!(await mayRun())) return;
    this.profiles.select(file);
    try {
      await this.daemon.request('ridgeline/profile', {
        ...options,
        textDocument: { uri: file.toString() },
      });
    } catch (error) {
      await this.report(error, file);
    }
  }

  /** Runs a training script as it is, and profiles some of its steps; without one, that in the active editor. */
  async runScript(script?: vscode.Uri, launch?: Launch): Promise<void> {
    const file = script ?? vscode.window.activeTextEditor?.document.uri;
    if (file?.scheme !== 'file' || !file.path.endsWith('.py')) {
      void showInformation('Open the training script, then profile it.');
      return;
    }
    if (!(await mayRun())) return;
    const options = launch ?? (await findLaunch(file));
    if (options === undefined) return;
    // What runs is what is on the disk, as with a debugger.
    for (const document of vscode.workspace.textDocuments) {
      if (document.isDirty && document.languageId === 'python' && document.uri.scheme === 'file') await document.save();
    }
    this.profiles.select(file);
    this.daemon.output.clear();
    try {
      await this.daemon.request('ridgeline/run', {
        ...options,
        textDocument: { uri: file.toString() },
      });
    } catch (error) {
      await this.report(error, file, options);
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

  /** `launch`: of a script that was run as it is. */
  private async report(error: unknown, file: vscode.Uri, launch?: Launch): Promise<void> {
    if (!(error instanceof ResponseError) || error.code === LSPErrorCodes.RequestCancelled) return;
    const failure = error.data as Failure | undefined;
    // The user refused to run the code, or requested another profile.
    if (failure?.kind === 'not-trusted' || failure?.kind === 'superseded') return;
    // Of the daemon of another machine, this one does not know the interpreters.
    const isElsewhere = Boolean(vscode.workspace.getConfiguration('ridgeline', file).get('server.ssh'));
    const select = isElsewhere ? openInterpreterSetting : 'Select Interpreter';
    const ownInterpreter = failure?.interpreter ? [useOwn] : [];
    const offers =
      failure?.kind === 'provider-missing'
        ? ['Write Entry Point', 'Profile as Script']
        : failure && aboutInterpreter.has(failure.kind) && !isOwnImport(failure.message, file)
          ? [...ownInterpreter, select, 'Show Traceback']
          : failure
            ? ['Show Traceback']
            : [];
    const choice = await showError(
      `Ridgeline: ${error.message}`,
      ...offers,
      launch === undefined ? 'Show Log' : showOutput,
    );
    if (choice === useOwn && failure) await this.runWith(failure.interpreter, file, launch);
    if (choice === showOutput) this.daemon.output.show();
    if (choice === 'Write Entry Point')
      await vscode.commands.executeCommand('ridgeline.writeEntryPoint', file.toString());
    if (choice === 'Profile as Script') await this.runScript(file);
    if (choice === 'Select Interpreter' && vscode.extensions.getExtension(pythonExtension) !== undefined)
      await vscode.commands.executeCommand('python.setInterpreter');
    else if (choice === 'Select Interpreter') await this.runWith(await chooseInterpreter(file), file, launch);
    if (choice === openInterpreterSetting) await openSetting('ridgeline.python');
    if (choice === 'Show Traceback' && failure) await showTraceback(failure);
    if (choice === 'Show Log') this.daemon.log.show();
  }

  /** Keeps the interpreter in the settings, and profiles again. */
  private async runWith(interpreter: string | undefined, file: vscode.Uri, launch?: Launch): Promise<void> {
    if (!interpreter) return;
    await vscode.workspace.getConfiguration('ridgeline', file).update('python', interpreter, settingsOf(file));
    await (launch === undefined ? this.profile(file) : this.runScript(file, launch));
  }
}

/** Whether an import failed in the user's own modules, which no other interpreter mends. */
function isOwnImport(message: string, file: vscode.Uri): boolean {
  const root = vscode.workspace.getWorkspaceFolder(file)?.uri.fsPath;
  const from = /cannot import name .* from '[^']*' \(([^)]+)\)/.exec(message)?.[1];
  if (from !== undefined)
    return root !== undefined && from.startsWith(`${root}${path.sep}`) && !/site-packages/.test(from);
  const name = /No module named '([^'.]+)/.exec(message)?.[1];
  const folders = [path.dirname(file.fsPath), ...(root === undefined ? [] : [root])];
  return name !== undefined && folders.some((at) => ['', '.py'].some((end) => existsSync(path.join(at, name + end))));
}

/** Whether the code of the workspace may run; tells the user what to do where it may not. */
export async function mayRun(): Promise<boolean> {
  if (vscode.workspace.isTrusted) return true;
  const choice = await showWarning(
    'Profiling runs the code of this workspace, which is not trusted.',
    'Manage Workspace Trust',
  );
  if (choice !== undefined) await vscode.commands.executeCommand('workbench.trust.manage');
  return false;
}

/** The project's, where the file is in one: its interpreter is not that of other projects. */
function settingsOf(file: vscode.Uri): vscode.ConfigurationTarget {
  if (vscode.workspace.getWorkspaceFolder(file) === undefined) return vscode.ConfigurationTarget.Global;
  return vscode.workspace.workspaceFile === undefined
    ? vscode.ConfigurationTarget.Workspace
    : vscode.ConfigurationTarget.WorkspaceFolder;
}

/** In a window on another machine, a setting that depends on the machine is not among those of the user. */
function openSetting(query: string): Thenable<void> {
  const command =
    vscode.env.remoteName === undefined ? 'workbench.action.openSettings' : 'workbench.action.openRemoteSettings';
  return vscode.commands.executeCommand(command, { query });
}

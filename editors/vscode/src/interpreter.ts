/** The interpreter that is selected in the Python extension, where that is installed and ours is not set. */
import * as vscode from 'vscode';

export const pythonExtension = 'ms-python.python';

/** What is used of the Python extension's API. */
interface PythonApi {
  readonly ready?: Promise<void>;
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(environment: {
      readonly path: string;
    }): Promise<{ readonly executable: { readonly uri: vscode.Uri | undefined } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

export class Interpreter implements vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  /** Another one is selected. */
  readonly onDidChange = this.emitter.event;
  private api: PythonApi | undefined;
  private isLoading = false;
  private readonly disposables: vscode.Disposable[] = [
    this.emitter,
    vscode.extensions.onDidChange(() => void this.load()),
  ];

  /** Its path; undefined when there is none, or none yet: then onDidChange follows. */
  async selected(): Promise<string | undefined> {
    const { environments } = this.api ?? {};
    if (environments === undefined) {
      void this.load();
      return undefined;
    }
    try {
      const environment = await environments.resolveEnvironment(environments.getActiveEnvironmentPath(resource()));
      return environment?.executable.uri?.fsPath;
    } catch {
      return undefined; // the other extension's mistake
    }
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Nothing waits for the other extension to start. */
  private async load(): Promise<void> {
    const extension = vscode.extensions.getExtension<PythonApi>(pythonExtension);
    if (this.isLoading || this.api !== undefined || extension === undefined) return;
    this.isLoading = true;
    try {
      const api = await extension.activate();
      await api.ready;
      this.disposables.push(api.environments.onDidChangeActiveEnvironmentPath(() => this.emitter.fire()));
      this.api = api;
      this.emitter.fire();
    } catch {
      // it could not start, or is too old to have this API
    } finally {
      this.isLoading = false;
    }
  }
}

/** The daemon has one interpreter for all files of a window. */
function resource(): vscode.Uri | undefined {
  const file = vscode.window.activeTextEditor?.document.uri;
  return (file && vscode.workspace.getWorkspaceFolder(file)?.uri) ?? vscode.workspace.workspaceFolders?.[0]?.uri;
}

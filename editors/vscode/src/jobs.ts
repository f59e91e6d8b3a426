/** What the ranks of a recorded job do and wait for: read by the daemon from the job's file, for the view. */
import * as vscode from 'vscode';
import type { Daemon } from './daemon';
import type { JobState } from './messages';

const extension = 'ridgeline-job';
const mostFiles = 1000;

export class Jobs implements vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChange = this.emitter.event;
  state: JobState = { file: null, job: null, isReading: false, failure: null };
  private uri: vscode.Uri | undefined;

  constructor(private readonly daemon: Daemon) {}

  /** Without a file: the one of the workspace that was written last, or else one that the user chooses. */
  async show(file?: vscode.Uri): Promise<void> {
    const uri = file ?? (await lastJob()) ?? (await chosenJob());
    if (uri === undefined) return;
    this.uri = uri;
    const shown = { file: vscode.workspace.asRelativePath(uri), job: null, failure: null };
    this.change({ ...shown, isReading: true });
    try {
      const job = await this.daemon.request('ridgeline/job', { uri: uri.toString() });
      if (this.uri === uri) this.change({ ...shown, job, isReading: false });
    } catch (error) {
      if (this.uri === uri)
        this.change({ ...shown, failure: error instanceof Error ? error.message : String(error), isReading: false });
    }
  }

  /** The text of `ridgeline job show`. */
  async openReport(): Promise<void> {
    await this.execute('ridgeline.openJob');
  }

  /** The text of `ridgeline job show --change`: what the changes that the user types would bring. */
  async predictChanges(): Promise<void> {
    const typed = await typedChanges('Predict Changes of the Job', 'bandwidth:2 bucket-size:50MiB');
    if (typed?.length) await this.execute('ridgeline.openJob', typed);
  }

  /** The text of `ridgeline job optimize`. */
  async optimize(): Promise<void> {
    await this.execute('ridgeline.optimizeJob');
  }

  /** A command of the daemon about the job; why it was refused is shown with the ranks. */
  private async execute(command: string, ...more: unknown[]): Promise<void> {
    const { uri } = this;
    if (uri === undefined) return;
    let failure: string | null = null;
    try {
      await vscode.commands.executeCommand(command, uri.toString(), ...more);
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    }
    if (this.uri === uri) this.change({ ...this.state, failure });
  }

  close(): void {
    this.uri = undefined;
    this.change({ file: null, job: null, isReading: false, failure: null });
  }

  dispose(): void {
    this.emitter.dispose();
  }

  private change(state: JobState): void {
    this.state = state;
    this.emitter.fire();
  }
}

async function typedChanges(title: string, placeHolder: string): Promise<string[] | undefined> {
  const prompt = 'Changes, which are predicted together.';
  const typed = await vscode.window.showInputBox({ title, prompt, placeHolder });
  return typed?.split(/\s+/).filter((word) => word !== '');
}

async function lastJob(): Promise<vscode.Uri | undefined> {
  const files = await vscode.workspace.findFiles(`**/*.${extension}`, undefined, mostFiles);
  const written = await Promise.all(
    files.map(async (uri) => ({ uri, time: (await vscode.workspace.fs.stat(uri)).mtime })),
  );
  return written.sort((a, b) => b.time - a.time)[0]?.uri;
}

async function chosenJob(): Promise<vscode.Uri | undefined> {
  return (
    await vscode.window.showOpenDialog({
      title: 'Show Ranks of Job',
      filters: { 'Jobs of ridgeline profile --job': [extension] },
    })
  )?.[0];
}

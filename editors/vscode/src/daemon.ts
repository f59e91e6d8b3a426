/** The daemon: where it comes from, how it is started, and what happens when it dies. */
import { accessSync, constants } from 'node:fs';
import * as vscode from 'vscode';
import {
  CloseAction,
  type CloseHandlerResult,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  type Middleware,
  ProgressType,
  State,
} from 'vscode-languageclient/node';
import type { Interpreter } from './interpreter';
import { showError, showWarning } from './notify';
import { elsewhere, findProgram, type Host, serverCommand, versionWarning } from './program';
import type { Notifications, Requests } from './protocol';

const crashesAllowed = 4;
const crashWindowMs = 3 * 60 * 1000;

export type DaemonState = 'starting' | 'running' | 'stopped';

/** Owns the language client; a restart, by itself or by hand, keeps the listeners. */
export class Daemon implements vscode.Disposable {
  readonly log = vscode.window.createOutputChannel('Ridgeline', { log: true });
  /** What the scripts write that are profiled. */
  readonly output = vscode.window.createOutputChannel('Ridgeline: Script');
  private readonly stateChanged = new vscode.EventEmitter<DaemonState>();
  private readonly listeners: ((client: LanguageClient) => void)[] = [];
  readonly onState = this.stateChanged.event;
  state: DaemonState = 'stopped';
  client: LanguageClient | undefined;
  private crashes: number[] = [];
  private lastToken = 0;
  private turn: Promise<void> = Promise.resolve();

  /** `bundled`: the `ridgeline` in the extension, if it has one; `version`: of the extension. */
  constructor(
    private readonly bundled: string,
    private readonly version: string,
    private readonly interpreter: Interpreter,
    private readonly middleware: Middleware,
  ) {}

  listen<Method extends keyof Notifications>(method: Method, listener: (params: Notifications[Method]) => void): void {
    this.listeners.push((client) => client.onNotification(method, listener));
  }

  /** Rejects with a ResponseError, or when the daemon is not running. */
  async request<Method extends keyof Requests>(
    method: Method,
    params: Requests[Method]['params'],
    token?: vscode.CancellationToken,
  ): Promise<Requests[Method]['result']> {
    return token === undefined
      ? this.running().sendRequest(method, params)
      : this.running().sendRequest(method, params, token);
  }

  /** The same; `show` is called with parts of the result, which comes whole in the end, as they come. */
  async requestInParts<Method extends 'ridgeline/whatIf', Part>(
    method: Method,
    params: Requests[Method]['params'],
    show: (part: Part) => void,
    token: vscode.CancellationToken,
  ): Promise<Requests[Method]['result']> {
    const partialResultToken = `parts-${++this.lastToken}`;
    const parts = this.running().onProgress(new ProgressType<Part>(), partialResultToken, show);
    try {
      return await this.running().sendRequest(method, { ...params, partialResultToken }, token);
    } finally {
      parts.dispose();
    }
  }

  /** One of the daemon's commands, workspace/executeCommand; rejects as request() does. */
  async execute(command: string, ...args: unknown[]): Promise<void> {
    await this.running().sendRequest('workspace/executeCommand', { command, arguments: args });
  }

  private running(): LanguageClient {
    if (this.client === undefined) throw new Error('The daemon is not running.');
    return this.client;
  }

  /** Stops the one that is running, if any, and starts one with the current settings. One call after the other. */
  start(): Promise<void> {
    this.crashes = [];
    this.turn = this.turn.then(() => this.startNow());
    return this.turn;
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    await client?.dispose().catch(() => undefined); // it may have died already
  }

  dispose(): void {
    void this.stop();
    this.log.dispose();
    this.stateChanged.dispose();
  }

  private async startNow(): Promise<void> {
    await this.stop();
    const settings = vscode.workspace.getConfiguration('ridgeline.server');
    const executable = serverCommand(process.platform, await this.program(), hostOf(settings));
    if (executable === undefined) {
      this.setState('stopped');
      this.log.error(elsewhere);
      void showError(elsewhere, 'Open Setting').then((choice) => {
        if (choice !== undefined)
          void vscode.commands.executeCommand('workbench.action.openSettings', 'ridgeline.server.ssh');
      });
      return;
    }
    const client = new LanguageClient('ridgeline', 'Ridgeline', executable, this.options(settings.get('pathMaps', [])));
    for (const listen of this.listeners) listen(client);
    client.onDidChangeState(({ newState }) => {
      if (this.client === client)
        this.setState(newState === State.Running ? 'running' : newState === State.Stopped ? 'stopped' : 'starting');
    });
    this.client = client;
    this.setState('starting');
    this.log.info(`Starting ${executable.command} ${executable.args?.join(' ')}`);
    try {
      await client.start();
      const warning = versionWarning(executable.command, client.initializeResult?.serverInfo?.version, this.version);
      if (warning !== undefined) {
        this.log.warn(warning);
        void showWarning(warning);
      }
    } catch (error) {
      this.setState('stopped');
      await this.report(
        `Ridgeline could not start ${executable.command}: ${error instanceof Error ? error.message : error}. ` +
          'The setting ridgeline.server.path selects another executable.',
      );
    }
  }

  /** The `ridgeline` of this machine. */
  async program(): Promise<string> {
    const setting = vscode.workspace.getConfiguration('ridgeline.server').get('path', '');
    // An environment may be part of the workspace: its programs are code of the workspace.
    const python = vscode.workspace.isTrusted ? await this.interpreter.selected() : undefined;
    return findProgram({ setting, bundled: this.bundled, python }, isExecutable);
  }

  private options(pathMaps: unknown): LanguageClientOptions {
    // Trusting the workspace is the consent that the daemon would otherwise ask for.
    const asks = vscode.workspace.getConfiguration('security.workspace.trust').get('enabled', true);
    const trust = vscode.workspace.isTrusted && asks ? { trust: 'editor' } : {};
    return {
      documentSelector: [{ scheme: 'file', language: 'python' }],
      synchronize: { configurationSection: 'ridgeline' },
      initializationOptions: { pathMaps, ...trust, commands: ['ridgeline.writeEntryPoint'] },
      outputChannel: this.log,
      middleware: this.middleware,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue }),
        closed: () => this.closed(),
      },
    };
  }

  private closed(): CloseHandlerResult {
    const now = Date.now();
    this.crashes = [...this.crashes.filter((time) => now - time < crashWindowMs), now];
    if (this.crashes.length < crashesAllowed) {
      return { action: CloseAction.Restart, message: 'The daemon exited and is being restarted.', handled: true };
    }
    void this.report(`Ridgeline's daemon exited ${crashesAllowed} times within 3 minutes and will not be restarted.`);
    return { action: CloseAction.DoNotRestart, handled: true };
  }

  private async report(message: string): Promise<void> {
    this.log.error(message);
    const choice = await showError(message, 'Show Log', 'Restart');
    if (choice === 'Show Log') this.log.show();
    if (choice === 'Restart') await this.start();
  }

  private setState(state: DaemonState): void {
    this.state = state;
    this.stateChanged.fire(state);
  }
}

function hostOf(settings: vscode.WorkspaceConfiguration): Host | undefined {
  const name = settings.get('ssh', '');
  if (name === '') return undefined;
  return { name, program: settings.get('remotePath', ''), options: settings.get<string[]>('sshOptions', []) };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

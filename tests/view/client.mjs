/** What the extension uses of `vscode-languageclient/node`, on the stand-in for `vscode`: a client of the real daemon. */
import { spawn } from 'node:child_process';
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-languageserver-protocol/node';
import { commands, Disposable, ui, Uri, window, workspace } from 'vscode';

export { InlayHintRequest, LSPErrorCodes, ProgressType, ResponseError } from 'vscode-languageserver-protocol/node';
export const CloseAction = { DoNotRestart: 1, Restart: 2 };
export const ErrorAction = { Continue: 1 };
export const State = { Stopped: 1, Running: 2, Starting: 3 };

const capabilities = {
  workspace: {
    applyEdit: true,
    configuration: true,
    workspaceFolders: true,
    workspaceEdit: { documentChanges: true },
    codeLens: { refreshSupport: true },
    inlayHint: { refreshSupport: true },
    didChangeWatchedFiles: { dynamicRegistration: true },
  },
  window: { workDoneProgress: true, showMessage: {}, showDocument: { support: true } },
  textDocument: {
    hover: { contentFormat: ['markdown', 'plaintext'] },
    inlayHint: {},
    codeLens: {},
    publishDiagnostics: { relatedInformation: true, versionSupport: true },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['', 'quickfix', 'refactor'] } } },
  },
};

/** `{"ridgeline.a.b": 1}` as `{a: {b: 1}}`: a server is told of settings as a tree. */
function tree(settings) {
  const all = {};
  for (const [name, value] of Object.entries(settings)) {
    const parts = name.split('.');
    let inside = all;
    for (const part of parts.slice(0, -1)) inside = inside[part] ??= {};
    inside[parts.at(-1)] = value;
  }
  return all;
}

export class LanguageClient {
  progress = new Map();
  notified = [];
  stateListeners = [];
  disposables = [];

  constructor(_id, _name, executable, options) {
    Object.assign(this, { executable, options });
  }

  onDidChangeState(listener) {
    this.stateListeners.push(listener);
  }

  onNotification(method, listener) {
    this.notified.push([method, listener]);
  }

  onProgress(_type, token, listener) {
    this.progress.set(token, listener);
    return new Disposable(() => this.progress.delete(token));
  }

  sendRequest(method, params, token) {
    return token === undefined
      ? this.connection.sendRequest(method, params)
      : this.connection.sendRequest(method, params, token);
  }

  sendNotification(method, params) {
    return this.connection.sendNotification(method, params);
  }

  getFeature() {
    return { getProvider: () => ({ onDidChangeInlayHints: { fire() {} } }) };
  }

  async start() {
    this.change(State.Starting);
    this.process = spawn(this.executable.command, this.executable.args, {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: ui.environment,
    });
    const connection = (this.connection = createMessageConnection(
      new StreamMessageReader(this.process.stdout),
      new StreamMessageWriter(this.process.stdin),
    ));
    for (const [method, listener] of this.notified) connection.onNotification(method, listener);
    this.answer(connection);
    connection.listen();
    const folder = { uri: Uri.file(ui.folder).toString(), name: 'project' };
    this.initializeResult = await connection.sendRequest('initialize', {
      processId: process.pid,
      rootUri: folder.uri,
      workspaceFolders: [folder],
      capabilities,
      initializationOptions: this.options.initializationOptions,
    });
    await connection.sendNotification('initialized', {});
    this.follow(connection);
    for (const name of this.initializeResult.capabilities.executeCommandProvider.commands) {
      const run = (command, args) => connection.sendRequest('workspace/executeCommand', { command, arguments: args });
      this.disposables.push(
        commands.registerCommand(name, (...args) => this.options.middleware.executeCommand(name, args, run)),
      );
    }
    ui.client = this;
    this.change(State.Running);
  }

  async dispose() {
    for (const disposable of this.disposables) disposable.dispose();
    if (this.process.exitCode !== null) return;
    await this.connection.sendRequest('shutdown').catch(() => undefined);
    await this.connection.sendNotification('exit').catch(() => undefined);
    this.connection.dispose();
    if (this.process.exitCode === null) await new Promise((resolve) => this.process.once('exit', resolve));
  }

  /** Of a document, with what the extension puts in the place of the daemon's. */
  hints(document) {
    const range = { start: { line: 0, character: 0 }, end: { line: document.lineCount, character: 0 } };
    const ask = () =>
      this.connection.sendRequest('textDocument/inlayHint', { textDocument: { uri: document.uri.toString() }, range });
    return this.options.middleware.provideInlayHints(document, range, undefined, ask);
  }

  change(newState) {
    for (const listener of this.stateListeners) listener({ newState });
  }

  /** What the daemon asks. */
  answer(connection) {
    connection.onRequest('workspace/configuration', (params) =>
      this.options.middleware.workspace.configuration(params, undefined, () =>
        params.items.map(({ section }) => tree(ui.settings)[section] ?? null),
      ),
    );
    connection.onRequest('window/showMessageRequest', async ({ message, actions }) => {
      const title = await window.showInformationMessage(message, ...actions.map((action) => action.title));
      return actions.find((action) => action.title === title) ?? null;
    });
    connection.onRequest('window/showDocument', async ({ uri, selection }) => {
      await window.showTextDocument(Uri.parse(uri), { selection });
      return { success: true };
    });
    for (const method of [
      'client/registerCapability',
      'window/workDoneProgress/create',
      'workspace/inlayHint/refresh',
      'workspace/codeLens/refresh',
    ])
      connection.onRequest(method, () => null);
    connection.onNotification('textDocument/publishDiagnostics', ({ uri, diagnostics }) =>
      ui.diagnostics.set(uri, diagnostics),
    );
    connection.onNotification('$/progress', ({ token, value }) => {
      if (this.progress.has(token)) this.progress.get(token)(value);
      else this.options.middleware.handleWorkDoneProgress(token, value, () => undefined);
    });
  }

  /** What happens to texts and settings. */
  follow(connection) {
    const isOurs = ({ languageId, uri }) => languageId === 'python' && uri.scheme === 'file';
    const send = (method, document, more = {}) =>
      isOurs(document) &&
      void connection.sendNotification(method, {
        textDocument: { uri: document.uri.toString(), version: document.version },
        ...more,
      });
    const open = (document) =>
      isOurs(document) &&
      void connection.sendNotification('textDocument/didOpen', {
        textDocument: {
          uri: document.uri.toString(),
          languageId: document.languageId,
          version: document.version,
          text: document.getText(),
        },
      });
    for (const document of ui.documents) open(document);
    const { opened, changed, saved, written, configuration } = ui.events;
    this.disposables.push(
      opened.event(open),
      changed.event(({ document }) =>
        send('textDocument/didChange', document, { contentChanges: [{ text: document.getText() }] }),
      ),
      saved.event((document) => send('textDocument/didSave', document)),
      written.event(
        (uri) =>
          void connection.sendNotification('workspace/didChangeWatchedFiles', {
            changes: [{ uri: uri.toString(), type: 2 }],
          }),
      ),
      configuration.event(
        () => void connection.sendNotification('workspace/didChangeConfiguration', { settings: null }),
      ),
    );
  }
}

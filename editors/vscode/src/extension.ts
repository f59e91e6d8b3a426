/** Creates the parts of the extension and connects them. */
import * as vscode from 'vscode';
import { InlayHintRequest, type Middleware } from 'vscode-languageclient/node';
import { offerTools } from './assistants';
import { BatchSize } from './batchSize';
import { Daemon } from './daemon';
import { writeEntryPoint } from './entryPoint';
import { Interpreter } from './interpreter';
import { Jobs } from './jobs';
import { showLibraryCode } from './libraryCode';
import { Markers } from './markers';
import { showInformation } from './notify';
import { Profiles } from './profiles';
import { Profiling } from './profiling';
import { ReportPage } from './reportPage';
import { Reports } from './reports';
import { statusBar } from './status';
import { goToFailure, registerTraceback, showTraceback } from './traceback';
import { View } from './view';
import { WhatIf } from './whatIf';

let daemon: Daemon | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const interpreter = new Interpreter();
  const { version } = context.extension.packageJSON as { version: string };
  const own = (daemon = new Daemon(context.asAbsolutePath('bin/ridgeline'), version, interpreter, middleware()));
  const profiles = new Profiles(own);
  const profiling = new Profiling(own, profiles);
  const markers = new Markers(own, profiles);
  const batchSize = new BatchSize(own, profiles, (entry) => profiling.profile(entry));
  const reports = new Reports(own, () => profiles.entries);
  const reportPage = new ReportPage(own, (path, line) => reports.open(path, line));
  const whatIf = new WhatIf(own, profiles, (entry) => profiling.profile(entry));
  const jobs = new Jobs(own);
  const view = new View(context.extensionUri, own, profiles, batchSize, whatIf, jobs, reports);

  function middleware(): Middleware {
    return {
      // Shown in the status bar, where a click cancels.
      handleWorkDoneProgress: (_token, progress, next) => {
        if (progress.kind !== 'end')
          profiles.showProgress({ message: progress.message ?? '', percentage: progress.percentage ?? null });
        else next(_token, progress);
      },
      // The commands of the daemon's lenses; the palette's commands for the same have their own names.
      executeCommand: (command, args: unknown[], next) => {
        const file = typeof args[0] === 'string' ? vscode.Uri.parse(args[0]) : undefined;
        if (command === 'ridgeline.run')
          return profiling.runScript(file, args[1] === undefined ? undefined : Object(args[1]));
        if (command === 'ridgeline.openReport') return reportPage.show(file);
        if (command !== 'ridgeline.profile') return next(command, args);
        return profiling.profile(file, Object(args[1]));
      },
      workspace: {
        configuration: async (params, token, next) => {
          const answers = await next(params, token);
          if (!Array.isArray(answers)) return answers;
          return Promise.all(
            answers.map(async (settings, i) =>
              params.items[i]?.section === 'ridgeline' ? withInterpreter(settings) : settings,
            ),
          );
        },
      },
      provideInlayHints: (document, range, token, next) =>
        profiles.isExploring ? markers.hints(document, range) : next(document, range, token),
    };
  }

  /** The setting comes first; an interpreter of this machine means nothing on another. */
  async function withInterpreter(settings: unknown): Promise<unknown> {
    const { python, server } = Object(settings) as { python?: string; server?: { ssh?: string } };
    if (python || server?.ssh) return settings;
    const selected = await interpreter.selected();
    return selected === undefined ? settings : { ...Object(settings), python: selected };
  }

  const command = (name: string, action: (...args: unknown[]) => unknown) =>
    vscode.commands.registerCommand(`ridgeline.${name}`, action);
  let explored = '';
  context.subscriptions.push(
    own,
    offerTools(own, version),
    interpreter,
    profiles,
    markers,
    batchSize,
    whatIf,
    jobs,
    reportPage,
    reports,
    view,
    statusBar(own, profiles),
    registerTraceback(),
    vscode.window.registerWebviewViewProvider('ridgeline.view', view, {
      webviewOptions: { retainContextWhenHidden: true },
    }),
    profiles.onDidChange(() => {
      if (explored === (explored = profiles.breakdown?.node ?? '')) return;
      const hints = own.client?.getFeature(InlayHintRequest.method);
      for (const { document } of vscode.window.visibleTextEditors)
        hints?.getProvider(document)?.onDidChangeInlayHints.fire();
    }),
    interpreter.onDidChange(() => {
      if (own.state === 'stopped')
        void own.start(); // the environment may have the daemon that was missing
      else
        void own.client
          ?.sendNotification('workspace/didChangeConfiguration', { settings: null })
          .catch(() => undefined);
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => own.start()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('ridgeline.server')) void own.start();
    }),
    command('profileFile', (entry) => profiling.profile(entry instanceof vscode.Uri ? entry : undefined)),
    command('profileScript', (script) => profiling.runScript(script instanceof vscode.Uri ? script : undefined)),
    command('cancelProfile', () => profiling.cancel()),
    command('whatIf', async () => {
      await vscode.commands.executeCommand('ridgeline.view.focus');
      await whatIf.ask();
    }),
    command('showJob', async (file) => {
      await vscode.commands.executeCommand('ridgeline.view.focus');
      await jobs.show(file instanceof vscode.Uri ? file : undefined);
    }),
    command('showDevices', () => compareDevices(profiles)),
    command('showView', () => vscode.commands.executeCommand('ridgeline.view.focus')),
    command('showReport', () => reportPage.show(profiles.entry)),
    command('showLibraryCode', () => showLibraryCode(profiles, profiling)),
    command('showTraceback', () =>
      profiles.state?.failure
        ? showTraceback(profiles.state.failure)
        : showInformation('The last profile did not fail.'),
    ),
    command('goToFailure', () => profiles.state?.failure && goToFailure(profiles.state.failure)),
    command('showLog', () => own.log.show()),
    command('restart', () => own.start()),
    command('undoBatchSize', () => batchSize.undo()),
    command('writeEntryPoint', (script) =>
      writeEntryPoint(
        own,
        vscode.Uri.joinPath(context.extensionUri, 'media/entry_point.py.txt'),
        typeof script === 'string' ? vscode.Uri.parse(script) : undefined,
      ),
    ),
    command('importTrace', (trace) => reports.import(trace instanceof vscode.Uri ? trace : undefined)),
    command('toggleProfileOnSave', () => toggle('profileOnSave', 'Profile on save is')),
    command('toggleInlayHints', toggleInlayHints),
  );
  await own.start();
}

export async function deactivate(): Promise<void> {
  await daemon?.stop();
}

/** The table of `ridgeline devices --on`, as a text file. */
async function compareDevices(profiles: Profiles): Promise<void> {
  const entry = profiles.entry ?? vscode.window.activeTextEditor?.document.uri;
  const typed =
    entry &&
    (await vscode.window.showInputBox({
      title: 'Compare Devices',
      prompt: 'Devices, each with its price an hour where you know it. Empty: all that there is a data sheet of.',
      placeHolder: 'a100=1.10 t4=0.35',
    }));
  if (entry === undefined || typed === undefined) return;
  const devices = typed.split(/[\s,]+/).filter((word) => word !== '');
  const samples = await vscode.window.showInputBox({
    title: 'Compare Devices',
    prompt: 'Samples of an epoch, for the time and price of one. Empty: not known.',
    validateInput: (text) => (/^\s*([1-9]\d*)?\s*$/.test(text) ? undefined : 'A number of samples, such as 50000'),
  });
  if (samples === undefined) return;
  const datasetSize = samples.trim() === '' ? {} : { datasetSize: Number(samples) };
  await vscode.commands.executeCommand('ridgeline.compareDevices', entry.toString(), devices, datasetSize);
}

async function toggleInlayHints(): Promise<void> {
  const settings = vscode.workspace.getConfiguration('ridgeline');
  const shown = settings.get<string>('inlayHints.show', 'hot') === 'none' ? 'hot' : 'none';
  await settings.update('inlayHints.show', shown, vscode.ConfigurationTarget.Global);
  vscode.window.setStatusBarMessage(`Hints at the ends of the lines are ${shown === 'none' ? 'off' : 'on'}.`, 4000);
}

async function toggle(setting: string, what: string): Promise<void> {
  const settings = vscode.workspace.getConfiguration('ridgeline');
  const on = !settings.get(setting, true);
  await settings.update(setting, on, vscode.ConfigurationTarget.Global);
  vscode.window.setStatusBarMessage(`${what} ${on ? 'on' : 'off'}.`, 4000);
}

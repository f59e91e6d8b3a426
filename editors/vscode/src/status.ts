/** The status bar item: the current state; a click does what comes next. */
import * as vscode from 'vscode';
import type { Daemon } from './daemon';
import { rate } from './figures';
import type { Profiles } from './profiles';

interface Appearance {
  text: string;
  tooltip: string;
  command: string;
  background?: string;
}

export function statusBar(daemon: Daemon, profiles: Profiles): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('ridgeline.status', vscode.StatusBarAlignment.Left, 10);
  item.name = 'Ridgeline';
  const update = () => {
    const shown = appearanceOf(daemon, profiles);
    item.text = shown.text;
    item.tooltip = shown.tooltip;
    item.command = shown.command;
    item.backgroundColor = shown.background === undefined ? undefined : new vscode.ThemeColor(shown.background);
    item.accessibilityInformation = { label: `${shown.text.replace(/\$\([^)]*\)/g, '').trim()}. ${shown.tooltip}` };
    item.show();
    void vscode.commands.executeCommand(
      'setContext',
      'ridgeline.profiling',
      profiles.state?.profiling === true || profiles.state?.trial?.running === true,
    );
    void vscode.commands.executeCommand('setContext', 'ridgeline.hasProfile', profiles.summary !== null);
  };
  update();
  return vscode.Disposable.from(
    item,
    daemon.onState(update),
    profiles.onDidChange(update),
    profiles.onDidProgress(update),
  );
}

/** A text of the daemon's, as a sentence after others; empty when it is. */
function sentence(text: string): string {
  return text === '' ? '' : ` ${text[0]?.toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}

function appearanceOf(daemon: Daemon, { state, progress, summary }: Profiles): Appearance {
  if (daemon.state === 'stopped') {
    return {
      text: '$(error) Ridgeline',
      tooltip: 'The daemon is not running. Click for the log.',
      command: 'ridgeline.showLog',
      background: 'statusBarItem.errorBackground',
    };
  }
  if (daemon.state === 'starting') {
    return {
      text: '$(loading~spin) Ridgeline',
      tooltip: 'The daemon is starting. Click for the log.',
      command: 'ridgeline.showLog',
    };
  }
  if (state?.profiling) {
    const percentage = progress?.percentage ? ` ${progress.percentage} %` : '';
    return {
      text: `$(loading~spin) Profiling${percentage} $(close)`,
      tooltip: `${progress?.message ?? 'Waiting'}. Click to cancel.`,
      command: 'ridgeline.cancelProfile',
    };
  }
  const isNoEntryPoint = state?.failure?.kind === 'provider-missing';
  if (state?.failure && !isNoEntryPoint) {
    return {
      text: '$(error) Ridgeline: failed',
      tooltip: `${state.failure.message}\nClick for the traceback.`,
      command: 'ridgeline.showTraceback',
    };
  }
  if (summary === null) {
    return {
      text: '$(pulse) Ridgeline',
      tooltip: `${isNoEntryPoint ? state.failure?.message : 'No profile yet.'} Click to open the view.`,
      command: 'ridgeline.showView',
    };
  }
  const stale = summary.stale ? ' (stale)' : '';
  const trial = state?.trial == null ? '' : ` In the background: ${state.trial.message}.`;
  return {
    text: `$(pulse) ${summary.uncertainty !== '' ? '≈ ' : ''}${rate(summary.samplesPerSecond)} samples/s${stale}${state?.trial?.running ? ` · trying ${state.trial.batchSize}` : ''}`,
    tooltip: `Batch size ${summary.batchSize}${summary.stale ? `; the figures are ${summary.staleReason}` : ''}.${sentence(summary.uncertainty)}${sentence(summary.change)}${trial} Click to open the view.`,
    command: 'ridgeline.showView',
  };
}

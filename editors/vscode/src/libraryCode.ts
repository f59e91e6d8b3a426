/** Packages whose lines get figures of their own: the setting `ridgeline.code`, as a command. */
import * as vscode from 'vscode';
import type { Profiles } from './profiles';
import type { Profiling } from './profiling';

/** Asks for the packages, keeps them in the workspace's settings, and profiles the entry again with them. */
export async function showLibraryCode(profiles: Profiles, profiling: Profiling): Promise<void> {
  const settings = vscode.workspace.getConfiguration('ridgeline');
  const chosen = settings.get<string[]>('code', []);
  const text = await vscode.window.showInputBox({
    title: 'Show Costs in Library Files',
    prompt: 'Packages as your code imports them, such as transformers, timm. Empty: only your own lines have figures.',
    value: (chosen.length > 0 ? chosen : (profiles.summary?.libraries ?? [])).join(', '),
    validateInput: (typed) => problemOf(packagesIn(typed)),
  });
  if (text === undefined) return;
  const code = packagesIn(text);
  const target =
    vscode.workspace.workspaceFolders === undefined
      ? vscode.ConfigurationTarget.Global
      : vscode.ConfigurationTarget.Workspace;
  await settings.update('code', code, target);
  await profiling.profile(profiles.entry, { code }); // the daemon may not have read the setting yet
}

function packagesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function problemOf(names: string[]): string | undefined {
  const wrong = names.find((name) => !/^[\p{L}_][\p{L}\p{N}_]*(\.[\p{L}_][\p{L}\p{N}_]*)*$/u.test(name));
  return wrong === undefined ? undefined : `${wrong} is not the import name of a package.`;
}

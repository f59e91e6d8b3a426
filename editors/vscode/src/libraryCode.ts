/** Packages whose lines get figures of their own: the setting `ridgeline.code`, as a command. */
import * as vscode from 'vscode';
import type { Profiles } from './profiles';
import type { Profiling } from './profiling';

const title = 'Show Costs in Library Files';

/** Asks for the packages, keeps them in the workspace's settings, and profiles the entry again with them. */
export async function showLibraryCode(profiles: Profiles, profiling: Profiling): Promise<void> {
  const settings = vscode.workspace.getConfiguration('ridgeline');
  const code = await chosenPackages(settings.get<string[]>('code', []), profiles.summary?.libraries ?? []);
  if (code === undefined) return;
  const target =
    vscode.workspace.workspaceFolders === undefined
      ? vscode.ConfigurationTarget.Global
      : vscode.ConfigurationTarget.Workspace;
  await settings.update('code', code, target);
  await profiling.profile(profiles.entry, { code }); // the daemon may not have read the setting yet
}

/** From those that the profile spent its time in, costliest first, and those that were chosen before; others are typed. */
async function chosenPackages(before: string[], called: string[]): Promise<string[] | undefined> {
  const names = [...new Set([...called, ...before])];
  if (names.length === 0) return typedPackages();
  const another = { label: 'Another package…', picked: false, alwaysShow: true };
  const items = names.map((label) => ({
    label,
    description: called.includes(label) ? 'the step spends time in it' : '',
    picked: before.length === 0 || before.includes(label),
  }));
  const picked = await vscode.window.showQuickPick([...items, another], {
    title,
    placeHolder: 'Packages whose lines get figures, costliest first. None: only your own lines have figures.',
    canPickMany: true,
  });
  if (picked === undefined) return undefined;
  const listed = picked.filter((item) => item !== another).map(({ label }) => label);
  const typed = picked.includes(another) ? await typedPackages() : [];
  return typed && [...new Set([...listed, ...typed])];
}

async function typedPackages(): Promise<string[] | undefined> {
  const text = await vscode.window.showInputBox({
    title,
    prompt: 'Packages as your code imports them, such as transformers, timm. Empty: only your own lines have figures.',
    validateInput: (typed) => problemOf(packagesIn(typed)),
  });
  return text === undefined ? undefined : packagesIn(text);
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

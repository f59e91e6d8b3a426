/** How a script is started, as a configuration of launch.json says: its arguments, working folder and environment. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import { showError, showInformation } from './notify';
import { sanitizeText } from './sanitizeText';

export interface Launch {
  arguments?: string[];
  folder?: string;
  environment?: Record<string, string>;
}

/** What is read of a configuration of the Python debugger. */
interface Configuration {
  name: string;
  type?: string;
  request?: string;
  program?: unknown;
  args?: unknown;
  cwd?: unknown;
  env?: unknown;
}

/** By script: the configuration of its last run. */
const usedConfigurations = new Map<string, string>();

/**
 * The configuration for a script: of several, the one that the user chooses. Without any, what the settings say ({}).
 * Undefined: the user chose none, or it uses a variable that only a debugger can fill in, which was reported.
 */
export async function findLaunch(script: vscode.Uri): Promise<Launch | undefined> {
  const folder = vscode.workspace.getWorkspaceFolder(script)?.uri;
  const all: unknown = vscode.workspace.getConfiguration('launch', script).get('configurations');
  const matching = (Array.isArray(all) ? (all as Configuration[]) : []).filter(
    (one) =>
      (one.type === 'debugpy' || one.type === 'python') &&
      one.request === 'launch' &&
      typeof one.program === 'string' &&
      path.resolve(folder?.fsPath ?? '', resolve(one.program, script, folder)) === script.fsPath,
  );
  const exact = matching.filter(({ program }) => program !== '${file}'); // the others are for any file
  const chosen = await choose(exact.length > 0 ? exact : matching);
  usedConfigurations.delete(script.toString());
  if (chosen === undefined) return matching.length === 0 ? {} : undefined;
  usedConfigurations.set(script.toString(), chosen.name);
  const launch = read(chosen, script, folder);
  const unknown = JSON.stringify(launch).match(/\$\{[^}]*\}/)?.[0];
  if (unknown !== undefined) {
    void showError(
      `The script was not run: the configuration ${chosen.name} of launch.json uses ${unknown}, which only a debugger can fill in. Set ridgeline.run.arguments instead, and remove the configuration's "program".`,
    );
    return undefined;
  }
  return launch;
}

async function choose(configurations: Configuration[]): Promise<Configuration | undefined> {
  if (configurations.length < 2) return configurations[0];
  const items = configurations.map((configuration) => ({
    label: sanitizeText(String(configuration.name)),
    description: sanitizeText(argumentList(configuration.args).join(' ')),
    configuration,
  }));
  return (
    await vscode.window.showQuickPick(items, {
      title: 'Profile the script',
      placeHolder: 'Which configuration of launch.json?',
    })
  )?.configuration;
}

function read({ args, cwd, env }: Configuration, script: vscode.Uri, folder: vscode.Uri | undefined): Launch {
  const resolved = (text: string) => resolve(text, script, folder);
  const launch: Launch = { arguments: argumentList(args).map(resolved) };
  if (typeof cwd === 'string' && cwd !== '') launch.folder = path.resolve(folder?.fsPath ?? '', resolved(cwd));
  if (typeof env === 'object' && env !== null) {
    launch.environment = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, resolved(String(value))]),
    );
  }
  return launch;
}

/** A list, or a line as it would be typed: words between blanks, without quotes. */
function argumentList(value: unknown): string[] {
  if (Array.isArray(value)) return value.map(String);
  return typeof value === 'string' ? value.split(/\s+/).filter((word) => word !== '') : [];
}

/** Fills in the variables that have a value without a debugger; the others stay. */
function resolve(text: string, script: vscode.Uri, folder: vscode.Uri | undefined): string {
  const known: Record<string, string | undefined> = {
    file: script.fsPath,
    fileBasename: path.basename(script.fsPath),
    fileDirname: path.dirname(script.fsPath),
    fileBasenameNoExtension: path.basename(script.fsPath, path.extname(script.fsPath)),
    workspaceFolder: folder?.fsPath,
    workspaceRoot: folder?.fsPath,
    userHome: process.env['HOME'],
    workspaceFolderBasename: folder && path.basename(folder.fsPath),
    pathSeparator: path.sep,
  };
  return text.replace(
    /\$\{(env:)?([^}]*)\}/g,
    (whole: string, env: string | undefined, name: string) =>
      (env === undefined ? known[name] : (process.env[name] ?? '')) ?? whole,
  );
}

/**
 * Writes other arguments of a script where those of its last run came from: into the configuration of launch.json, else
 * into the setting ridgeline.run.arguments. Offers to take them back, and `profile` with them.
 */
export async function writeArguments(script: vscode.Uri, args: string[], profile: () => unknown): Promise<void> {
  const name = usedConfigurations.get(script.toString());
  const [section, key] = name === undefined ? ['ridgeline.run', 'arguments'] : ['launch', 'configurations'];
  const settings = vscode.workspace.getConfiguration(section, script);
  const { workspaceFolderValue, workspaceValue } = settings.inspect(key) ?? {};
  const target =
    workspaceFolderValue === undefined
      ? vscode.ConfigurationTarget.Workspace
      : vscode.ConfigurationTarget.WorkspaceFolder;
  const folder = vscode.workspace.getWorkspaceFolder(script)?.uri;
  const changed = (before: unknown) => {
    const words = argumentList(before).map((word, i) => (resolve(word, script, folder) === args[i] ? word : args[i]));
    return Array.isArray(before) ? words : words.join(' ');
  };
  const after =
    name === undefined
      ? args
      : settings
          .get<Configuration[]>(key, [])
          .map((one) => (one.name === name ? { ...one, args: changed(one.args) } : one));
  const where =
    name === undefined
      ? 'The setting ridgeline.run.arguments'
      : `The configuration ${sanitizeText(name)} of launch.json`;
  try {
    await settings.update(key, after, target);
    const choice = await showInformation(`${where} has it now: ${sanitizeText(args.join(' '))}`, 'Profile', 'Undo');
    if (choice === 'Undo') await settings.update(key, workspaceFolderValue ?? workspaceValue, target);
    if (choice === 'Profile') await profile();
  } catch (error) {
    void showError(`${where} was not changed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** How a script is started, as a configuration of launch.json says: its arguments, working folder and environment. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import { showError } from './notify';
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
  if (chosen === undefined) return matching.length === 0 ? {} : undefined;
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

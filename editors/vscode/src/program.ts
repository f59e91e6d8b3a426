/** Which `ridgeline` is started. */
import * as path from 'node:path';

export interface Places {
  /** Of the setting ridgeline.server.path; empty: none. */
  readonly setting: string;
  /** The one in the extension, if it was packed with one. */
  readonly bundled: string;
  /** The selected interpreter; undefined when none is known, or when the workspace that it may be in is not trusted. */
  readonly python: string | undefined;
}

/** The one of the setting, else the one in the extension, whose version is ours, else the one beside the interpreter; else a name for the PATH. */
export function findProgram({ setting, bundled, python }: Places, isExecutable: (file: string) => boolean): string {
  if (setting !== '') return setting;
  const beside = python === undefined ? [] : [path.join(path.dirname(python), 'ridgeline')];
  return [bundled, ...beside].find(isExecutable) ?? 'ridgeline';
}

/** What the settings ridgeline.server.ssh, remotePath and sshOptions say. */
export interface Host {
  readonly name: string;
  /** Empty: `ridgeline`, as the host finds it. */
  readonly program: string;
  readonly options: readonly string[];
}

export interface Command {
  readonly command: string;
  readonly args: string[];
}

/**
 * How the server is started; undefined: it cannot be, as it runs on Linux and no host is named. From other systems ssh
 * starts it on the host; from Linux the program here does, which survives a broken connection.
 */
export function serverCommand(platform: string, program: string, host: Host | undefined): Command | undefined {
  if (platform === 'linux') {
    if (host === undefined) return { command: program, args: ['serve', '--stdio'] };
    const path = host.program === '' ? [] : [`--program=${host.program}`];
    const options = host.options.map((option) => `--ssh-option=${option}`);
    // "--": a host that begins with a dash is not an option.
    return { command: program, args: ['remote', ...path, ...options, '--', host.name] };
  }
  if (host === undefined) return undefined;
  const there = host.program === '' ? 'ridgeline' : `'${host.program.replaceAll("'", "'\\''")}'`;
  return { command: 'ssh', args: ['-T', ...host.options, '--', host.name, `${there} serve --stdio`] };
}

/** What to do where serverCommand() is undefined. */
export const elsewhere =
  'Ridgeline profiles on Linux. Name a Linux host that has it in the setting ridgeline.server.ssh, or open the folder in a Dev Container, in WSL or over Remote - SSH and install the extension there.';

/** A warning that the daemon is of another version than the extension; undefined when it is not. */
export function versionWarning(program: string, version: string | undefined, ours: string): string | undefined {
  if (version === ours) return undefined;
  return (
    `The daemon that ${program} started is version ${version ?? 'unknown'}, but this extension is version ${ours}: some figures may not be shown. ` +
    `Install ridgeline ${ours}, or clear the settings ridgeline.server.path and ridgeline.server.remotePath to use the one in the extension.`
  );
}

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

/** A warning that the daemon is of another version than the extension; undefined when it is not. */
export function versionWarning(program: string, version: string | undefined, ours: string): string | undefined {
  if (version === ours) return undefined;
  return (
    `The daemon that ${program} started is version ${version ?? 'unknown'}, but this extension is version ${ours}: some figures may not be shown. ` +
    `Install ridgeline ${ours}, or clear the settings ridgeline.server.path and ridgeline.server.remotePath to use the one in the extension.`
  );
}

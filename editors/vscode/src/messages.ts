/** The messages between the extension and the view. */
import type { AppliedChange, Batch, Breakdown, ChangeAnswer, CostRow, Failure, Job, Place, Summary } from './protocol';

/** What to predict a batch size for. */
export type Question = { batchSize: number } | { samplesPerSecond: number } | { peakBytes: number };

/** What was measured at one batch size, else what the models predict. */
export interface CurvePoint {
  batchSize: number;
  samplesPerSecond: Range | null;
  peakBytes: Range | null;
}

/** The ends are those of the 95 % interval; null: unknown, or on that side unbounded. */
export interface Range {
  value: number;
  low: number | null;
  high: number | null;
}

/** Ascending by batch size. */
export interface Curve {
  profileId: string;
  revision: number;
  points: CurvePoint[];
}

/** A row of the flat lists; `file` is that of its place, as the workspace names it. */
export type Cost = CostRow & { file: string | null };

/** The step in flat lists, the most time first. */
export interface Costs {
  profileId: string;
  lines: Cost[];
  operations: Cost[];
  moduleTypes: Cost[];
}

/** A training script with a batch size of its own; `place` is where that is, or else the script's first line. */
export interface Script {
  file: string;
  place: Place;
  isFound: boolean;
}

/** What changes of the step would bring, as far as the user has asked. */
export interface WhatIfState {
  /** The changes, those that apply first; null: not asked yet. */
  changes: ChangeAnswer[] | null;
  /** What brought the last profile: a change that was asked about and then written; null: nothing of the kind. */
  applied: AppliedChange | null;
  /** The change that was written last, which can be undone; null once anything else was edited. */
  written: string[] | null;
  /** Offers to try what was not tried, with how long that takes; empty: nothing is left to try. */
  tryText: string;
  /** Where the figures are from, and what makes them less certain. */
  basis: string | null;
  warnings: string[];
  /** Whether the profile or the code has changed since. */
  isOutdated: boolean;
  /** What goes on: the trial of a change, or predictions. */
  running: { change: string[] | null; message: string } | null;
  failure: string | null;
}

/** The ranks of a recorded job, once the user has asked for one. */
export interface JobState {
  /** As the workspace names it; null: none was asked for. */
  file: string | null;
  /** Null while it is read, and where that fails. */
  job: Job | null;
  isReading: boolean;
  failure: string | null;
}

/** All that the view shows. */
export interface ViewState {
  daemon: 'starting' | 'running' | 'stopped';
  trusted: boolean;
  /** The entry file, as the workspace names it. */
  file: string | null;
  /** Whether that file, not profiled yet, would run as a training script. */
  isScript: boolean;
  /** The notebook in the active editor, as the workspace names it. */
  notebook: { file: string; canExport: boolean } | null;
  /** The entry files that are known; the one shown is chosen by the user, or that of the file in the editor. */
  entries: { uri: string; file: string; isShown: boolean }[];
  isChosen: boolean;
  profiling: { message: string; percentage: number | null } | null;
  summary: Summary | null;
  /** The node being explored, and its ancestors from the iteration down, itself last. */
  breakdown: Breakdown | null;
  path: { node: string; name: string }[];
  failure: Failure | null;
  /** Which the entry point was written from; null: from none that is known. */
  script: Script | null;
  /** The batch size in the code or, while one is being chosen, that one; null when it is the profiled one. */
  preview: Batch | null;
  /** Whether the code has the batch size that is shown; not while another is being chosen. */
  isInCode: boolean;
  /** Why there is no such prediction, or why the code was not edited. */
  obstacle: string | null;
  whatIf: WhatIfState;
  ranks: JobState;
}

export type ToView =
  | { type: 'state'; state: ViewState }
  | { type: 'curve'; curve: Curve }
  | { type: 'costs'; costs: Costs }
  | { type: 'whatIf'; whatIf: WhatIfState }
  | { type: 'ranks'; ranks: JobState }
  | ({ type: 'preview' } & Pick<ViewState, 'preview' | 'isInCode' | 'obstacle'>);

export type FromView =
  | { type: 'ready' }
  | { type: 'command'; command: ViewCommand }
  /** Shows the entry file, whatever file is in the editor; null: that of the file in the editor. */
  | { type: 'choose'; uri: string | null }
  | { type: 'explore'; node: string }
  | { type: 'highlight'; place: Place | null }
  | { type: 'open'; place: Place }
  /** Goes to a line that a warning names. */
  | { type: 'openMention'; path: string; line: number }
  /** Shows a batch size; the code stays as it is until it is committed. */
  | { type: 'ask'; question: Question }
  /** Writes the batch size that is shown into the code, as one undo step. */
  | { type: 'commit' }
  /** What would changes of the step bring? */
  | { type: 'askWhatIf' }
  | { type: 'searchWhatIf' }
  /** Runs the changed step in turns with the unchanged one. */
  | { type: 'tryChange'; change: string[] }
  /** Runs all that were not tried, one after the other. */
  | { type: 'tryAllChanges' }
  /** Writes the change into the entry file, as one undo step. */
  | { type: 'applyChange'; change: string[] }
  /** Takes back what was written last. */
  | { type: 'undoChange' }
  /** Ends what goes on of the first two. */
  | { type: 'cancelWhatIf' }
  /** The text of `ridgeline job show`. */
  | { type: 'openJobReport' }
  | { type: 'predictJobChanges' }
  | { type: 'optimizeJob' }
  | { type: 'closeJob' }
  /** Shows the batch size in the code again. */
  | { type: 'cancel' };

/** The commands that the view has buttons for. */
export const viewCommands = {
  profile: 'ridgeline.profileFile',
  cancel: 'ridgeline.cancelProfile',
  traceback: 'ridgeline.showTraceback',
  failure: 'ridgeline.goToFailure',
  log: 'ridgeline.showLog',
  restart: 'ridgeline.restart',
  script: 'ridgeline.profileScript',
  entryPoint: 'ridgeline.writeEntryPoint',
  export: 'jupyter.exportAsPythonScript',
  trust: 'workbench.trust.manage',
  undo: 'ridgeline.undoBatchSize',
} as const;
export type ViewCommand = keyof typeof viewCommands;

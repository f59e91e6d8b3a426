/** The messages between the extension and the view. */
import type { Batch, Breakdown, Failure, Place, Summary } from './protocol';

/** What to predict a batch size for. */
export type Question = { batchSize: number } | { samplesPerSecond: number } | { bytes: number };

/** All that the view shows. */
export interface ViewState {
  daemon: 'starting' | 'running' | 'stopped';
  trusted: boolean;
  /** The entry file, as the workspace names it. */
  file: string | null;
  profiling: { message: string; percentage: number | null } | null;
  summary: Summary | null;
  /** The node being explored, and its ancestors from the iteration down, itself last. */
  breakdown: Breakdown | null;
  path: { node: string; name: string }[];
  failure: Failure | null;
  /** What the models predict for the batch size in the code, when that is not the profiled one. */
  preview: Batch | null;
  /** Why there is no such prediction, or why the code was not edited. */
  obstacle: string | null;
}

export type ToView = { type: 'state'; state: ViewState } | { type: 'preview'; preview: Batch | null; obstacle: string | null };

export type FromView =
  | { type: 'ready' }
  | { type: 'command'; command: ViewCommand }
  | { type: 'explore'; node: string }
  | { type: 'highlight'; place: Place | null }
  | { type: 'open'; place: Place }
  /** Of one gesture, however many batch sizes it passes, one undo step is left. */
  | { type: 'ask'; question: Question; gesture: number };

/** The commands of the extension that the view has buttons for. */
export const viewCommands = {
  profile: 'ridgeline.profileFile',
  cancel: 'ridgeline.cancelProfile',
  traceback: 'ridgeline.showTraceback',
  failure: 'ridgeline.goToFailure',
  log: 'ridgeline.showLog',
  restart: 'ridgeline.restart',
  entryPoint: 'ridgeline.writeEntryPoint',
  trust: 'workbench.trust.manage',
  undo: 'ridgeline.undoBatchSize',
} as const;
export type ViewCommand = keyof typeof viewCommands;

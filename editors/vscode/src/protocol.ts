/** Messages of the daemon that LSP does not have; protocol/ridgeline.schema.json describes them. Lines count from 0. */

export type Milliseconds = number | null;
export type Share = number | null;

export interface Place {
  uri: string;
  line: number;
}

export type ByPhase = Record<'forward' | 'backward' | 'recomputation' | 'optimizer' | 'data' | 'other', Milliseconds>;
export type ByCategory = Record<
  'weights' | 'gradients' | 'optimizerState' | 'activations' | 'inputs' | 'temporaries',
  number
>;

export interface Estimate {
  value: number;
  interval: { low: number; high: number | null } | null;
  certainty: 'about' | 'known' | 'atLeast' | 'atMost';
}

export interface Batch {
  batchSize: number;
  samplesPerSecond: Estimate | null;
  timeMs: Estimate | null;
  peakBytes: Estimate | null;
  byCategory: ByCategory | null;
  extrapolated: boolean;
  fits: boolean | null;
  /** What was seen of this batch size where it ran; it takes the place of what is predicted. */
  measured: { samplesPerSecond: number; timeMs: number; lowMs: number; highMs: number; peakBytes: number; machineSpeed: number; machineChanged: boolean } | null;
  failed: { batchSize: number; kind: string; message: string } | null;
}

/** What is being found out about the batch size in the code, or why it stays predicted. */
export interface Trial {
  batchSize: number;
  running: boolean;
  message: string;
}

export interface Piece {
  fromBatchSize: number;
  MsPerSample?: number | null;
  fixedMs?: number | null;
  BytesPerSample?: number | null;
  fixedBytes?: number | null;
}

export interface Summary {
  uri: string;
  profileId: string;
  /** Grows when a batch size was tried: what was predicted before is out of date. */
  revision: number;
  trial: Trial | null;
  stale: boolean;
  staleReason: string;
  batchSize: number;
  batchSizeInCode: number | null;
  timeMs: Milliseconds;
  lowMs: Milliseconds;
  highMs: Milliseconds;
  timeMsByPhase: ByPhase;
  samplesPerSecond: number | null;
  maxSamplesPerSecond: number | null;
  peakBytes: number;
  peakBytesByCategory: ByCategory;
  capacityBytes: number;
  device: string;
  inPlaceOf: string;
  sampledBatchSizes: { low: number; high: number };
  measured: { batchSize: number; timeMs: Milliseconds; lowMs: Milliseconds; highMs: Milliseconds; peakBytes: number | null }[];
  models: { timeMs: Piece[] | null; peakBytes: Piece[] | null };
  answers: { fits: Batch | null; enough: Batch | null; balanced: Batch | null };
  warnings: string[];
}

export interface BreakdownNode {
  node: string;
  name: string;
  type: string;
  calls: number;
  timeMs: Milliseconds;
  share: Share;
  timeMsByPhase: ByPhase;
  peakBytes: number;
  peakShare: Share;
  location: Place | null;
  definition: Place | null;
  childCount: number;
}

export interface Breakdown extends BreakdownNode {
  profileId: string;
  parent: string | null;
  children: BreakdownNode[];
}

export interface LineCost {
  line: number;
  timeMs: Milliseconds;
  totalMs: Milliseconds;
  share: Share;
  peakBytes: number;
  peakShare: Share;
}

export interface LineCosts {
  profileId: string;
  version: number;
  stale: boolean;
  node: string;
  lines: LineCost[];
}

export interface Prediction {
  profileId: string;
  batch: Batch | null;
  obstacle: string | null;
  message: string;
}

/** One of them: what to predict a batch size for. */
export type Question = { batchSize: number } | { samplesPerSecond: number } | { bytes: number };

export interface Failure {
  kind: string;
  stage: string;
  message: string;
  frames: { file: string; line: number; function: string; text: string }[];
  output: string;
}

export interface Changed {
  uri: string;
  state: 'none' | 'ready' | 'stale' | 'failed';
  profiling: boolean;
  reason: string;
  profileId: string | null;
  revision: number;
  trial: Trial | null;
  failure: Failure | null;
}

/** The view: shows the state that the extension sends. Figures come from the daemon. */
import { about, bytes, duration, estimated, rate, share } from '../figures';
import type { Costs, Curve, FromView, Question, ToView, ViewCommand, ViewState } from '../messages';
import type { Batch, ByCategory, Estimate, Place, Summary } from '../protocol';
import { BreakdownPanel } from './breakdown';
import { charts } from './chart';
import { CostliestPanel } from './costliest';
import { button, h, place } from './dom';
import { legend } from './legend';
import { ageNotice, lacksProviders, notices, Offer, Warnings, welcome } from './notices';
import { RanksPanel } from './ranks';
import { type Reading, Slider, type SliderEvents, stepped } from './slider';
import { WhatIfPanel } from './whatIf';

const vscode = acquireVsCodeApi();
const post = (message: FromView) => vscode.postMessage(message);
const run = (command: ViewCommand) => post({ type: 'command', command });
const ask = (question: Question) => post({ type: 'ask', question });

let state: ViewState | null = null;
let curve: Curve | null = null;
/** Until those of a new profile arrive, those of the one before stay. */
let costs: { of: string; known: Costs } | null = null;
/** The batch size that a run of keys has reached; the answer to the last key may be on its way. */
let reached: number | null = null;

function end(how: 'commit' | 'cancel'): void {
  reached = null;
  post({ type: how });
}

const bar: Omit<SliderEvents, 'drag'> = {
  step: (key) => {
    if (!state?.summary) return;
    const now = reached ?? batchSizeNow(state);
    reached = stepped(key, now, state.summary.answers.largestThatFits?.batchSize ?? now);
    ask({ batchSize: reached });
  },
  commit: () => end('commit'),
  cancel: () => end('cancel'),
};
const throughput = new Slider('Throughput', 'time', {
  ...bar,
  drag: (samplesPerSecond) => ask({ samplesPerSecond: Math.min(samplesPerSecond, mostAnswerable()) }),
});
const memory = new Slider('Peak memory', 'memory', { ...bar, drag: (value) => ask({ peakBytes: value }) });

/** No batch size reaches the maximum of the model itself. */
function mostAnswerable(): number {
  return 0.995 * (state?.summary?.maxSamplesPerSecond ?? Infinity);
}

const code = {
  highlight: (where: Place | null) => post({ type: 'highlight', place: where }),
  open: (where: Place) => post({ type: 'open', place: where }),
};
const breakdown = new BreakdownPanel({ ...code, explore: (node) => post({ type: 'explore', node }) });
const costliest = new CostliestPanel({ ...code, explore: (node) => breakdown.enter(node) });

const whatIf = new WhatIfPanel({
  ask: () => post({ type: 'askWhatIf' }),
  search: () => post({ type: 'searchWhatIf' }),
  try: (change) => post({ type: 'tryChange', change }),
  tryAll: () => post({ type: 'tryAllChanges' }),
  apply: (change) => post({ type: 'applyChange', change }),
  undo: () => post({ type: 'undoChange' }),
  cancel: () => post({ type: 'cancelWhatIf' }),
});

const ranks = new RanksPanel({
  open: code.open,
  openReport: () => post({ type: 'openJobReport' }),
  predictChanges: () => post({ type: 'predictJobChanges' }),
  optimize: () => post({ type: 'optimizeJob' }),
  close: () => post({ type: 'closeJob' }),
});

const files = h('div.files');
const facts = h('div.facts');
const header = h('header', {}, files, facts);
const news = h('div.news', { role: 'status', 'aria-live': 'polite' });
const empty = h('div');
const obstacle = h('p.obstacle', { role: 'status' });
const sliders = h('div.sliders', {}, throughput.element, memory.element);
const age = h('div', { role: 'status' });
const warnings = new Warnings((path, line) => post({ type: 'openMention', path, line }));
const offer = new Offer(run, (place) => post({ type: 'open', place }));
const recommended = h('section.recommended', { 'aria-label': 'Recommended batch sizes' });
const atPeak = h('section.peak', { 'aria-label': 'Peak memory by kind' });
const others = h('section.others', { 'aria-label': 'Other batch sizes' });
const gutter = h('section', { 'aria-label': 'Legend' }, legend());
const figures = h(
  'div.figures',
  {},
  sliders,
  obstacle,
  offer.element,
  age,
  warnings.element,
  recommended,
  atPeak,
  breakdown.element,
  costliest.element,
  whatIf.element,
  others,
  gutter,
);
document.getElementById('view')?.append(header, news, ranks.element, empty, figures);

window.addEventListener('message', ({ data }: MessageEvent<ToView>) => {
  if (data.type === 'state') {
    state = data.state;
    showAll(state);
  } else if (data.type === 'curve') {
    curve = data.curve;
    if (state !== null) showBatch(state);
  } else if (data.type === 'costs') {
    if (state?.summary) costs = { of: state.summary.uri, known: data.costs };
    if (state !== null) showCosts(state);
  } else if (data.type === 'whatIf') {
    if (state === null) return;
    state = { ...state, whatIf: data.whatIf };
    whatIf.show(state.whatIf, state.trusted);
  } else if (data.type === 'ranks') {
    if (state !== null) state = { ...state, ranks: data.ranks };
    ranks.show(data.ranks);
  } else if (state !== null) {
    const { preview, isInCode, obstacle } = data;
    state = { ...state, preview, isInCode, obstacle };
    showBatch(state);
  }
});
new ResizeObserver(() => state !== null && showBatch(state)).observe(document.body);
new MutationObserver(() => gutter.replaceChildren(legend())).observe(document.body, { attributeFilter: ['class'] }); // another theme
post({ type: 'ready' });

function showAll(now: ViewState): void {
  news.replaceChildren(...notices(now, run));
  const nothing = now.summary === null;
  header.hidden = nothing;
  for (const element of figures.children) (element as HTMLElement).hidden = nothing && element !== age;
  empty.replaceChildren(
    ...(nothing && now.daemon === 'running' && now.profiling === null && !lacksProviders(now)
      ? [welcome(now, run)]
      : []),
  );
  age.replaceChildren(...ageNotice(now, run));
  warnings.show(now.summary);
  document.body.classList.toggle('is-uncertain', about(now.summary) !== '');
  document.body.classList.toggle('is-stale', now.summary?.stale === true);
  showFiles(now);
  breakdown.show(now.breakdown, now.path, about(now.summary));
  showCosts(now);
  whatIf.show(now.whatIf, now.trusted);
  ranks.show(now.ranks);
  showBatch(now);
}

function showCosts({ summary }: ViewState): void {
  costliest.show(costs !== null && costs.of === summary?.uri ? costs.known : null, about(summary));
}

/** The entry file, or a choice of several. */
let shownFiles = '';
function showFiles({ file, entries, isChosen }: ViewState): void {
  const shown = JSON.stringify([file, entries, isChosen]);
  if (shown === shownFiles) return; // the list may be open
  shownFiles = shown;
  if (entries.length < 2) {
    files.replaceChildren(h('div.file', { title: file ?? '' }, file ?? ''));
    return;
  }
  const option = (value: string, text: string, selected: boolean) => h('option', { value, selected }, text);
  const select = h(
    'select',
    { 'aria-label': 'Entry file', title: file ?? '' },
    option('', isChosen ? 'Follow the editor' : `${file ?? ''} (of the editor)`, !isChosen),
    ...entries.map((entry) => option(entry.uri, entry.file, isChosen && entry.isShown)),
  ) as HTMLSelectElement;
  select.addEventListener('change', () => post({ type: 'choose', uri: select.value === '' ? null : select.value }));
  files.replaceChildren(select);
}

function curveOf({ profileId, revision }: Summary): Curve | null {
  return curve?.profileId === profileId && curve.revision === revision ? curve : null;
}

/** Two charts stand beside each other where there is room. */
function chartWidth(): number {
  const whole = Math.max(120, others.clientWidth);
  return whole >= 504 ? Math.floor((whole - 24) / 2) : whole;
}

function batchSizeNow(now: ViewState): number {
  return now.preview?.batchSize ?? now.summary?.batchSize ?? 1;
}

/** All that depends on the batch size: repainted with each prediction. */
function showBatch(now: ViewState): void {
  const summary = now.summary;
  if (summary === null) return;
  const preview = now.preview;
  facts.replaceChildren(
    ...[
      h('span.batch', {}, `batch size ${batchSizeNow(now)}`),
      preview === null ? null : h('span.knowledge', { role: 'status' }, `, ${knowledge(preview, summary)}`),
      preview === null ? null : h('span', {}, ` · profiled with ${summary.batchSize} `),
      preview === null || !now.isInCode ? null : button('button.link', 'undo', () => run('undo')),
      preview === null
        ? h(
            'span',
            {},
            ' · ',
            whole(`${about(summary)}${duration(summary.timeMs)}`),
            ` per iteration · ${summary.device}${summary.inPlaceOf === '' ? '' : ` in place of ${summary.inPlaceOf}`}`,
          )
        : null,
      preview !== null || summary.change === ''
        ? null
        : h('div.change', {}, `${summary.change[0]?.toUpperCase()}${summary.change.slice(1)}`),
    ].filter((part) => part !== null),
  );
  throughput.show(throughputReading(summary, preview));
  memory.show(memoryReading(summary, preview));
  offer.show(now);
  obstacle.textContent = now.obstacle || (preview === null ? '' : whyPredicted(preview, summary));
  atPeak.replaceChildren(...categories(preview?.byCategory ?? summary.byCategory, preview));
  others.hidden = summary.measured.length < 2 && summary.models.timeMs === null; // one point is no chart
  recommended.replaceChildren(h('div.head', {}, h('h2', {}, 'Recommended batch sizes')), answers(summary));
  others.replaceChildren(
    h('div.head', {}, h('h2', {}, 'Other batch sizes')),
    charts(summary, preview, curveOf(summary), chartWidth()),
  );
}

function choose(batchSize: number): void {
  ask({ batchSize });
  end('commit');
}

/** How the figures of a batch size are known. */
function knowledge(batch: Batch, { trial }: Summary): string {
  if (batch.measured !== null) return 'measured';
  if (batch.failed !== null)
    return batch.failed.kind === 'out-of-memory' ? 'ran out of memory when it was run' : 'failed when it was run';
  const predicted = batch.carriedOver ? 'predicted from before the save' : 'predicted';
  return trial?.running && trial.batchSize === batch.batchSize ? `${predicted}, being tried` : predicted;
}

/** Why a batch size was not tried, or how the machine had changed when it was. */
function whyPredicted(batch: Batch, { trial }: Summary): string {
  if (batch.measured?.machineChanged) {
    const slower = 1 / batch.measured.machineSpeed - 1;
    return `The machine was ${share(Math.abs(slower))} ${slower < 0 ? 'faster' : 'slower'} than in the profile: the measured time is scaled to it.`;
  }
  if (batch.failed !== null) return batch.failed.message;
  return trial !== null && !trial.running && trial.batchSize === batch.batchSize
    ? `${trial.message[0]?.toUpperCase()}${trial.message.slice(1)}.`
    : '';
}

function throughputReading(summary: Summary, preview: Batch | null): Reading | null {
  const value =
    preview === null
      ? summary.samplesPerSecond
      : (preview.measured?.samplesPerSecond ?? preview.samplesPerSecond?.value ?? null);
  if (value === null) return null;
  const isMeasured = preview === null || preview.measured !== null;
  const greatest = greatestThroughput(summary, isMeasured ? value : 0);
  const isBounded = summary.maxSamplesPerSecond !== null;
  const most = isBounded ? greatest : Math.max(1.25 * greatest, value);
  const isOnlyBound = !isMeasured && preview.samplesPerSecond?.certainty === 'atMost';
  const part = !isBounded || isOnlyBound ? '' : value < most ? `${share(value / most)} of the maximum` : 'the maximum';
  return {
    value,
    most,
    isBounded,
    interval:
      preview === null
        ? measuredInterval(summary)
        : preview.measured !== null
          ? measuredInterval({ ...preview.measured, batchSize: preview.batchSize })
          : (preview.samplesPerSecond?.interval ?? null),
    text: `${preview === null ? about(summary) : ''}${isMeasured ? rate(value) : estimated(preview.samplesPerSecond, rate)} samples/s`,
    note: notes(part, preview?.measured ? 'measured' : intervalText(preview?.samplesPerSecond ?? null, rate)),
    mostText: isBounded ? `maximum ${rate(most)}` : 'maximum unknown',
    spoken: `${rate(value)} samples per second${part === '' ? '' : `, ${part}`}, batch size ${preview?.batchSize ?? summary.batchSize}`,
    warning: preview === null ? summary.uncertainty : extrapolation(summary, preview),
  };
}

/** A figure that no line break parts from its unit or its sign. */
function whole(figure: string): HTMLElement {
  return h('span.whole', {}, figure);
}

/** What was measured can lie a little above the maximum of the model. */
function greatestThroughput({ maxSamplesPerSecond, samplesPerSecond, measured }: Summary, more = 0): number {
  return Math.max(
    maxSamplesPerSecond ?? 0,
    samplesPerSecond ?? 0,
    more,
    ...measured.map(({ batchSize, timeMs }) => (timeMs ? (1000 * batchSize) / timeMs : 0)),
  );
}

function memoryReading(summary: Summary, preview: Batch | null): Reading | null {
  const value =
    preview === null ? summary.peakBytes : (preview.measured?.peakBytes ?? preview.peakBytes?.value ?? null);
  if (value === null) return null;
  return {
    value,
    most: summary.capacityBytes,
    isBounded: true,
    interval: preview?.measured ? null : (preview?.peakBytes?.interval ?? null),
    text: preview === null || preview.measured !== null ? bytes(value) : estimated(preview.peakBytes, bytes),
    note: notes(
      `${share(value / summary.capacityBytes)} of the capacity`,
      preview?.measured ? 'measured' : intervalText(preview?.peakBytes ?? null, bytes),
    ),
    mostText: `capacity ${bytes(summary.capacityBytes)}`,
    spoken: `${bytes(value)} of ${bytes(summary.capacityBytes)}, batch size ${preview?.batchSize ?? summary.batchSize}`,
    // Shown once: by the bar above, if there is one.
    warning:
      preview?.fits === false
        ? 'Does not fit into memory.'
        : preview?.samplesPerSecond === null
          ? extrapolation(summary, preview)
          : '',
  };
}

function notes(...parts: string[]): string {
  return parts.filter((part) => part !== '').join(' · ');
}

function extrapolation({ sampledBatchSizes: { low, high } }: Summary, preview: Batch | null): string {
  return preview?.extrapolated && preview.measured === null
    ? `Extrapolated: measured from batch size ${low} to ${high}.`
    : '';
}

function measuredInterval({
  lowMs,
  highMs,
  batchSize,
}: Pick<Summary, 'lowMs' | 'highMs' | 'batchSize'>): { low: number; high: number } | null {
  return lowMs && highMs ? { low: (1000 * batchSize) / highMs, high: (1000 * batchSize) / lowMs } : null;
}

function intervalText(estimate: Estimate | null, format: (value: number) => string): string {
  const interval = estimate?.interval;
  if (!interval || interval.low === interval.high) return '';
  return `${format(interval.low)} to ${interval.high === null ? '?' : format(interval.high)}`;
}

const categoryNames: [keyof ByCategory, string][] = [
  ['activations', 'activations'],
  ['weights', 'weights'],
  ['gradients', 'gradients'],
  ['optimizerState', 'optimizer state'],
  ['inputs', 'inputs'],
  ['temporaries', 'temporaries'],
];

function categories(values: ByCategory, preview: Batch | null): HTMLElement[] {
  const whole = categoryNames.reduce((sum, [key]) => sum + values[key], 0);
  const bar = h('div.stack', { 'aria-hidden': true });
  let left = 0;
  const rows = categoryNames
    .map(([key, name], i) => ({ name, value: values[key], colour: `c${i}` }))
    .filter(({ value }) => value > 0)
    .sort((a, b) => b.value - a.value)
    .map(({ name, value, colour }) => {
      const segment = h(`div.segment.${colour}`, { title: `${name} ${bytes(value)}` }, value > 0.2 * whole ? name : '');
      place(segment, left, value / whole);
      left += value / whole;
      bar.append(segment);
      return h(
        'li',
        {},
        h(`span.key.${colour}`),
        h('span.name', {}, name),
        h('span.share', {}, share(value / whole)),
        h('span.figure', {}, bytes(value)),
      );
    });
  const how = preview === null ? '' : preview.measured === null ? ', predicted' : ', its parts predicted';
  const at = preview === null ? '' : ` at batch size ${preview.batchSize}`;
  const head = h(
    'div.head',
    {},
    h('h2', {}, `Peak memory by kind${at}`),
    h('span.figure', {}, whole === 0 ? '' : `${bytes(preview?.measured?.peakBytes ?? whole)}${how}`),
  );
  return [head, bar, h('ul.rows.plain', {}, ...rows)];
}

/** Times the largest batch size that was measured: what is farther is not a click away. */
const near = 8;

/** The recommended batch sizes, each a button that writes it into the code. */
function answers({
  batchSize,
  measured: sizes,
  models,
  answers: { largestThatFits, enoughThroughput, recommended, conclusion, balance, fits },
}: Summary): HTMLElement {
  if (sizes.length === 1 && models.timeMs === null)
    return h('p', {}, `Only batch size ${batchSize} was measured: nothing is predicted for others.`);
  const said = (text: string) => (text === '' ? [] : [h('li', {}, text)]);
  const offer = (batch: Batch | null, what: string) => {
    if (batch === null) return [];
    const { measured } = batch;
    const throughput =
      measured !== null
        ? `${rate(measured.samplesPerSecond)} samples/s`
        : batch.samplesPerSecond === null
          ? ''
          : `${estimated(batch.samplesPerSecond, rate)} samples/s`;
    const peak = measured !== null ? bytes(measured.peakBytes) : estimated(batch.peakBytes, bytes);
    const source =
      measured !== null
        ? 'measured'
        : batch.carriedOver
          ? 'from before the save'
          : batch.extrapolated
            ? 'extrapolated'
            : '';
    // The conclusion itself has figures, and tells what was measured from what was not.
    const text = (what !== conclusion ? [throughput, peak, source] : measured !== null ? [] : [source]).filter(Boolean);
    const isNear = batch.batchSize <= near * Math.max(...sizes.map((each) => each.batchSize));
    const size = isNear
      ? button('button.size', String(batch.batchSize), () => choose(batch.batchSize), {
          title: 'Write this batch size into the code',
          'aria-label': `Batch size ${batch.batchSize}: ${what}`,
        })
      : h('span.size', { title: 'Too far from what was measured to be recommended' }, String(batch.batchSize));
    return [
      h(
        'li',
        {},
        size,
        h(
          'span.what',
          {},
          what,
          text.length === 0
            ? null
            : h('small', {}, ...text.flatMap((part, i) => (i === 0 ? [whole(part)] : [' · ', whole(part)]))),
        ),
      ),
    ];
  };
  return h(
    'ul.answers',
    {},
    ...(recommended !== null ? offer(recommended, conclusion) : said(conclusion)),
    ...(enoughThroughput === null && conclusion === ''
      ? said('The maximum throughput is unknown: the time model does not show one.')
      : []),
    ...(enoughThroughput?.batchSize === recommended?.batchSize
      ? []
      : offer(enoughThroughput, 'gives 95 % of the maximum throughput: more gains little')),
    ...said(balance),
    ...(largestThatFits !== null
      ? offer(largestThatFits, `is the largest batch size that fits${fits === '' ? '' : `: ${fits}`}`)
      : [h('li.unknown', {}, fits)]),
  );
}

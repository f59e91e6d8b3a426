/** Notices about the daemon, trust and failures, with buttons for the next step. */
import { bytes, duration, estimated } from '../figures';
import { mentionsIn } from '../mentions';
import type { ViewCommand, ViewState } from '../messages';
import type { Place, Summary } from '../protocol';
import { button, h, marked } from './dom';

export function notices(state: ViewState, run: (command: ViewCommand) => void): HTMLElement[] {
  const found: HTMLElement[] = [];
  const add = (kind: string, text: string, ...buttons: [string, ViewCommand][]) =>
    found.push(
      h(
        `div.notice.${kind}`,
        {},
        h('p', {}, text),
        h('div.buttons', {}, ...buttons.map(([label, command]) => button('button.plain', label, () => run(command)))),
      ),
    );
  if (!state.trusted)
    add('info', 'This workspace is not trusted: its code is not run, and nothing is profiled.', [
      'Manage trust',
      'trust',
    ]);
  if (state.daemon === 'stopped') {
    add('error', 'The daemon is not running.', ['Restart', 'restart'], ['Show log', 'log']);
    return found;
  }
  if (state.daemon === 'starting') add('info', 'The daemon is starting.');
  if (state.profiling === null && lacksProviders(state)) {
    add('info', state.failure?.message ?? '', ['Write entry point', 'entryPoint'], ['Profile as script', 'script']);
  } else if (state.profiling === null && state.failure !== null) {
    const frame = state.failure.frames.at(-1);
    add(
      'error',
      `The last profile failed: ${state.failure.message}`,
      ...(frame === undefined ? [] : [['Go to the line', 'failure'] as [string, ViewCommand]]),
      ['Show traceback', 'traceback'],
      ['Profile again', 'profile'],
    );
  }
  return found;
}

/** Whether the file is no entry point: nothing of it was run. */
export function lacksProviders({ failure }: ViewState): boolean {
  return failure?.kind === 'provider-missing';
}

/** Below the bars: nothing may move under the pointer that drags one. */
export function ageNotice(
  { summary, failure, profiling }: ViewState,
  run: (command: ViewCommand) => void,
): HTMLElement[] {
  if (profiling !== null) {
    const bar = h('progress', { max: 100, value: profiling.percentage || null, 'aria-label': 'Profiling' });
    return [
      h(
        'div.notice',
        {},
        h('p', {}, profiling.message),
        h(
          'div.buttons',
          {},
          button('button.plain', 'Cancel', () => run('cancel')),
        ),
        bar,
      ),
    ];
  }
  if (!summary?.stale) return [];
  return [
    h(
      'div.notice.stale',
      {},
      h('p', {}, `Stale: the figures are ${summary.staleReason}.`),
      failure === null
        ? h(
            'div.buttons',
            {},
            button('button.plain', 'Profile again', () => run('profile')),
          )
        : null,
    ),
  ];
}

/** Warnings, of which the first matters most, folded to a line; null without any. */
export function folded(
  warnings: string[],
  contentOf: (warning: string) => (Node | string)[] = (warning) => [warning],
): HTMLElement | null {
  const count = warnings.length === 1 ? '1 warning' : `${warnings.length} warnings`;
  return warnings.length === 0
    ? null
    : h(
        'details.notice.warning',
        {},
        h('summary', {}, `${count}: ${warnings[0]}`),
        ...warnings.map((warning) => h('p', {}, ...contentOf(warning))),
      );
}

/** What the profile warns of, folded to a line; its uncertainty stands at the throughput. */
export class Warnings {
  readonly element = h('div.warnings', { role: 'status' });
  private shown = '';

  constructor(private readonly open: (path: string, line: number) => void) {}

  show(summary: Summary | null): void {
    const warnings = (summary?.warnings ?? []).filter((warning) => warning !== summary?.uncertainty);
    const shown = JSON.stringify([summary?.uri, warnings]);
    if (shown === this.shown) return; // one of the links may be being clicked, and what was unfolded stays so
    this.shown = shown;
    const notice = folded(warnings, (warning) => this.linked(warning));
    this.element.replaceChildren(...(notice === null ? [] : [notice]));
  }

  /** The text with its places as buttons. */
  private linked(text: string): (Node | string)[] {
    const parts: (Node | string)[] = [];
    let end = 0;
    for (const { index, text: label, path, line } of mentionsIn(text)) {
      parts.push(
        ...marked(text.slice(end, index)),
        button('button.link', label, () => this.open(path, line), { title: `Open ${path}, line ${line}` }),
      );
      end = index + label.length;
    }
    return [...parts, ...marked(text.slice(end))];
  }
}

/** Below the bars: to profile with the batch size in the code, where that is not the profiled one. */
export class Offer {
  private readonly text = h('p');
  private readonly script = h('p');
  private readonly toScript: HTMLButtonElement;
  private readonly button: HTMLButtonElement;
  private place: Place | null = null;
  readonly element: HTMLElement;

  constructor(run: (command: ViewCommand) => void, open: (place: Place) => void) {
    this.button = button('button.secondary', '', () => run('profile'));
    this.toScript = button('button.link', '', () => this.place !== null && open(this.place));
    this.element = h('div.offer', {}, this.button, this.text, h('div.script', {}, this.script, this.toScript));
  }

  /** Changes the elements in place: one of them may be being clicked. */
  show({ summary, preview, isInCode, obstacle, profiling, trusted, script }: ViewState): void {
    this.place = script?.place ?? null;
    this.script.hidden = this.toScript.hidden = script === null || !isInCode;
    this.script.textContent = script === null ? '' : `${script.file} keeps its own batch size.`;
    this.toScript.textContent = script?.isFound ? 'Go to it' : 'Open the script';
    this.element.hidden =
      summary === null || preview === null || profiling !== null || (!isInCode && obstacle !== null);
    if (summary === null || preview === null) return;
    const { batchSize, measured } = preview;
    this.button.textContent = `Profile with ${batchSize}`;
    this.button.disabled = !trusted;
    const figures =
      measured !== null
        ? `Measured: ${bytes(measured.peakBytes)}, ${duration(measured.timeMs)} per iteration.`
        : preview.failed !== null
          ? ''
          : `Predicted: ${estimated(preview.peakBytes, bytes)}, ${estimated(preview.timeMs, duration)} per iteration.`;
    this.text.textContent =
      `${figures} Run time, modules and costliest lines below are those of batch size ${summary.batchSize}.`.trim();
  }
}

/** Before the first profile. */
export function welcome(state: ViewState, run: (command: ViewCommand) => void): HTMLElement {
  if (state.notebook !== null) return notebookWelcome(state.notebook, run);
  return h(
    'section.welcome',
    {},
    h(
      'p',
      {},
      state.file === null
        ? 'Open your training script, or the Python file with your providers.'
        : `There is no profile of ${state.file} yet.`,
    ),
    button('button.primary', state.isScript ? 'Profile this script' : 'Profile this file', () => run('profile'), {
      disabled: !state.trusted || state.file === null,
    }),
    h(
      'p',
      {},
      state.isScript
        ? 'It runs as it is until some training steps are timed.'
        : 'No entry point yet? Ridgeline can write one for one of your model classes.',
    ),
    state.isScript ? null : button('button.secondary', 'Write an entry point…', () => run('entryPoint')),
  );
}

function notebookWelcome(
  { file, canExport }: NonNullable<ViewState['notebook']>,
  run: (command: ViewCommand) => void,
): HTMLElement {
  return h(
    'section.welcome',
    {},
    h('p', {}, `${file} is a notebook, and notebooks are not profiled.`),
    h(
      'p',
      {},
      'Export it as a Python script: with Export in its toolbar, or with ',
      h('code', {}, 'jupyter nbconvert --to script'),
      '.',
    ),
    canExport ? button('button.primary', 'Export as Python script', () => run('export')) : null,
    h('p', {}, 'Then write an entry point for its model class, and profile that.'),
    button('button.secondary', 'Write an entry point…', () => run('entryPoint')),
  );
}

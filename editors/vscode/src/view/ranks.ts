/** The ranks of a recorded job: what each does of a step, and which one the others wait for. */
import type { JobState } from '../messages';
import type { Job, JobRank, Place } from '../protocol';
import { button, h, place } from './dom';
import { folded } from './notices';

export interface RanksEvents {
  open(place: Place): void;
  openReport(): void;
  predictChanges(): void;
  optimize(): void;
  close(): void;
}

export class RanksPanel {
  readonly element = h('section.ranks', { 'aria-label': 'Ranks' });
  private shown = '';

  constructor(private readonly events: RanksEvents) {}

  show(state: JobState): void {
    const shown = JSON.stringify(state);
    if (shown === this.shown) return; // a button may be being clicked, and what was unfolded stays so
    this.shown = shown;
    this.element.hidden = state.file === null;
    this.element.replaceChildren(
      ...[
        h(
          'div.head',
          {},
          h('h2', {}, 'Ranks'),
          h(
            'div.buttons',
            {},
            state.job === null ? null : button('button.plain', 'Open report', () => this.events.openReport()),
            button('button.plain', 'Close', () => this.events.close(), { 'aria-label': 'Close the ranks' }),
          ),
        ),
        h('div.file', { title: state.file ?? '' }, state.file ?? ''),
        state.isReading ? h('p.lead', { role: 'status' }, 'Replaying the job') : null,
        state.failure === null ? null : h('div.notice.error', {}, h('p', {}, state.failure)),
        ...(state.job === null ? [] : this.job(state.job)),
      ].filter((part) => part !== null),
    );
  }

  private job(job: Job): HTMLElement[] {
    const most = Math.max(...job.ranks.map(({ step }) => step?.ms ?? 0));
    return [
      this.slower(job),
      h(
        'small',
        {},
        job.stepsText === ''
          ? 'The ranks recorded no step that all of them took: they cannot be compared.'
          : `Means of steps ${job.stepsText}, with the cost of recording`,
      ),
      h('ul', {}, ...job.ranks.map((rank) => row(rank, most, rank.rank === job.slower?.rank))),
      job.stepsText === ''
        ? null
        : h('ul.keys', {}, ...keys.map(([colour, name]) => h('li', {}, h(`span.key.${colour}`), name))),
      job.path.length === 0
        ? null
        : h(
            'details',
            {},
            h('summary', {}, 'Critical path over all ranks'),
            h(
              'ul.rows.plain',
              {},
              ...job.path.map(({ text, timeText, shareText }) =>
                h(
                  'li',
                  {},
                  h('span.name', { title: text }, text),
                  h('span.share', {}, shareText),
                  h('span.figure', {}, timeText),
                ),
              ),
            ),
            h('small', {}, `Of a replayed step: ${job.replayText}`),
          ),
      h(
        'div.buttons',
        {},
        button('button.plain', 'Predict changes…', () => this.events.predictChanges(), {
          title: 'What changes of the job would bring, such as twice the bandwidth; nothing is run',
        }),
        button('button.plain', 'Find the fastest strategy', () => this.events.optimize(), {
          title: 'Searches by simulation for at most a minute; nothing is run',
        }),
      ),
      folded(job.warnings),
    ].filter((part) => part !== null);
  }

  private slower({ slower }: Job): HTMLElement | null {
    if (slower === null) return null;
    const { text, place: where } = slower;
    return h(
      'div.notice.warning',
      { role: 'status' },
      h('p', {}, text),
      where === null
        ? null
        : h(
            'div.buttons',
            {},
            button('button.plain', 'Go to the line', () => this.events.open(where)),
          ),
    );
  }
}

const keys = [
  ['c0', 'own work'],
  ['c5', 'waits for ranks'],
  ['c3', 'waits for the network'],
] as const;

/** A bar without a figure has none: each part is said below it. */
function row(
  { rank, machine, bareStepText, dataLoadingText, step }: JobRank,
  most: number,
  isSlower: boolean,
): HTMLElement {
  const top = h(
    'div.top',
    {},
    h('span.title', { title: machine }, `Rank ${rank}${isSlower ? ', slower' : ''}`),
    h('span.figure', {}, step?.text ?? ''),
  );
  const bare = [
    bareStepText && `${bareStepText} with nothing attached`,
    dataLoadingText && `of it ${dataLoadingText} data loading`,
  ]
    .filter(Boolean)
    .join(', ');
  if (step === null) return h('li', {}, top, bare === '' ? null : h('small', {}, bare));
  const bar = h('div.stack', { 'aria-hidden': true });
  let left = 0;
  for (const [i, ms] of [step.ownMs, step.waitingMs, step.networkMs].entries()) {
    const segment = h(`div.segment.${keys[i]?.[0]}`);
    place(segment, left / most, ms / most);
    left += ms;
    if (ms > 0) bar.append(segment);
  }
  const waits = step.waitingText === '' ? '' : `, of it ${step.waitingText} for ranks`;
  return h(
    'li',
    {},
    top,
    bar,
    h('small', {}, `${step.ownText} own work · ${step.exposedText} exposed${waits} · ${step.hiddenText} hidden`),
    bare === '' ? null : h('small', {}, bare),
  );
}

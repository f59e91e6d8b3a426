/** What changes of the step would bring: a list of those that apply, and why others do not. */
import type { WhatIfState } from '../messages';
import type { ChangeAnswer } from '../protocol';
import { button, h, marked } from './dom';
import { folded } from './notices';

export interface WhatIfEvents {
  ask(): void;
  search(): void;
  try(change: string[]): void;
  tryAll(): void;
  apply(change: string[]): void;
  /** What was applied last. */
  undo(): void;
  cancel(): void;
}

export class WhatIfPanel {
  private readonly applied = h('div.applied');
  private readonly offer = h('div');
  private readonly content = h('div');
  private readonly useless = h('details');
  private readonly others = h('details');
  private readonly progress = h('div', { role: 'status' });
  private readonly foot = h('div');
  readonly element = h(
    'section.what-if',
    { 'aria-label': 'What if' },
    h('div.head', {}, h('h2', {}, 'What if')),
    this.applied,
    this.offer,
    this.content,
    this.useless,
    this.others,
    this.progress,
    this.foot,
  );
  private shown = '';

  constructor(private readonly events: WhatIfEvents) {}

  show(state: WhatIfState, trusted: boolean): void {
    const { running } = state;
    this.progress.replaceChildren(
      ...(running === null
        ? []
        : [
            h(
              'div.notice',
              {},
              h('p', {}, running.message),
              h(
                'div.buttons',
                {},
                button('button.plain', 'Cancel', () => this.events.cancel()),
              ),
            ),
          ]),
    );
    const shown = JSON.stringify([{ ...state, running: running && running.change }, trusted]);
    if (shown === this.shown) return; // a button may be being clicked
    this.shown = shown;
    const isBusy = running !== null || !trusted;
    const focused = (document.activeElement as HTMLElement | null)?.dataset.does;
    const [applying, others] = [true, false].map((applies) =>
      (state.changes ?? []).filter((change) => change.applies === applies),
    ) as [ChangeAnswer[], ChangeAnswer[]];
    const paying = applying.filter(({ bringsNothing }) => !bringsNothing);
    this.applied.replaceChildren(
      ...(state.applied === null
        ? []
        : [
            h('div.top', {}, h('span.title', {}, `Applied: ${state.applied.title}`)),
            figure('predicted', state.applied.predictedText),
            figure('tried', state.applied.triedText),
            figure('measured', state.applied.measuredText),
          ].filter((part) => part !== null)),
    );
    this.content.replaceChildren(
      ...(state.changes === null
        ? [
            h(
              'p.lead',
              {},
              'Predicts what mixed precision, a fused optimizer and other changes would bring. It runs the step for some seconds; no file is changed.',
            ),
          ]
        : applying.length === 0
          ? [h('p.lead', {}, 'None of the usual changes can be predicted for this step.')]
          : [h('ul.changes', {}, ...paying.map((change) => this.row(change, isBusy, state.written)))]),
    );
    this.useless.hidden = applying.length === paying.length;
    const useless = applying.filter(({ bringsNothing }) => bringsNothing);
    this.useless.replaceChildren(
      h('summary', {}, useless.length === 1 ? '1 change brings no gain' : `${useless.length} changes bring no gain`),
      h('ul.changes', {}, ...useless.map((change) => this.row(change, isBusy, state.written))),
    );
    this.offer.replaceChildren(
      ...(state.tryText === '' || state.isOutdated
        ? []
        : [
            h('small', {}, state.tryText),
            button('button.secondary', 'Try all', () => this.events.tryAll(), {
              disabled: isBusy,
              'data-does': 'try all',
              title: 'Runs each change in turns with the unchanged step, in the background; no file is changed',
            }),
          ]),
    );
    this.others.hidden = others.length === 0;
    this.others.replaceChildren(
      h('summary', {}, others.length === 1 ? '1 change is left out' : `${others.length} changes are left out`),
      h(
        'ul.reasons',
        {},
        ...others.map(({ title, reason }) => h('li', {}, h('span.title', {}, title), h('small', {}, reason))),
      ),
    );
    const label = state.changes === null ? 'Ask what changes would bring' : 'Ask again';
    const isNew = state.changes === null || state.isOutdated;
    this.foot.replaceChildren(
      ...[
        state.failure === null ? null : h('div.notice.error', {}, h('p', {}, state.failure)),
        state.isOutdated
          ? h('div.notice.stale', {}, h('p', {}, 'These figures are of the step before the last change.'))
          : null,
        isNew && running === null
          ? button(state.changes === null ? 'button.secondary' : 'button.link', label, () => this.events.ask(), {
              disabled: isBusy,
              'data-does': 'ask',
            })
          : null,
        state.changes === null || state.isOutdated || running !== null
          ? null
          : button('button.link', 'Find the best combination', () => this.events.search(), {
              disabled: isBusy,
              'data-does': 'search',
              title: 'Adds one change after the other to the best, as long as that is predicted to gain',
            }),
        state.basis === null ? null : h('small', {}, state.basis),
        folded(state.warnings),
      ].filter((part) => part !== null),
    );
    if (focused !== undefined)
      this.element.querySelector<HTMLElement>(`[data-does="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  private row(row: ChangeAnswer, isBusy: boolean, written: string[] | null): HTMLElement {
    const name = row.change.join(' + ');
    const label = row.tried === null ? 'Try' : 'Try again';
    const remark = [row.lossText, row.certaintyText].filter(Boolean).join('; ');
    return h(
      'li',
      {},
      h(
        'div.top',
        {},
        h('span.title', {}, row.title),
        h(
          'div.buttons',
          {},
          button('button.plain', label, () => this.events.try(row.change), {
            disabled: isBusy,
            'data-does': `try ${name}`,
            'aria-label': `${label}: ${row.title}`,
            title: 'Runs the changed step in turns with the unchanged one; no file is changed',
          }),
          written?.join(' + ') === name
            ? h(
                'span.written',
                {},
                'Applied · ',
                button('button.link', 'Undo', () => this.events.undo(), {
                  'data-does': `undo ${name}`,
                  'aria-label': `Undo: ${row.title}`,
                }),
              )
            : row.canBeWritten
              ? button('button.plain', 'Apply', () => this.events.apply(row.change), {
                  'data-does': `apply ${name}`,
                  'aria-label': `Apply: ${row.title}`,
                  title: 'Writes it into the code, as one undo step',
                })
              : null,
        ),
      ),
      figure('predicted', row.predictedText),
      figure(row.tried?.verdict === 'unclear' ? 'tried.unclear' : 'tried', row.triedText),
      figure('peak', row.peakText),
      remark === '' ? null : h('small', {}, `${remark[0]?.toUpperCase()}${remark.slice(1)}.`),
      row.notTried === '' ? null : h('small.failed', {}, `Could not be tried: ${row.notTried}`),
      row.takes === '' ? null : h('small', {}, ...marked(`${row.takes}.`)),
    );
  }
}

function figure(kind: string, text: string): HTMLElement | null {
  return text === ''
    ? null
    : h(`div.said.${kind}`, {}, h('span.knowledge', {}, kind.split('.')[0] ?? ''), h('span.figure', {}, text));
}

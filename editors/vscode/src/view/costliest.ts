/** The step in flat lists: its lines, its operations and its module types, to sort and to filter. */
import { bytes, share, timed } from '../figures';
import type { Cost, Costs } from '../messages';
import type { Place } from '../protocol';
import { button, h, place } from './dom';

export interface CostliestEvents {
  explore(node: string): void;
  highlight(place: Place | null): void;
  open(place: Place): void;
}

type List = 'lines' | 'operations' | 'moduleTypes';
type Order = 'name' | 'change' | 'time' | 'memory';

const lists: { list: List; title: string; column: string; one: string; note: string }[] = [
  {
    list: 'lines',
    title: 'Lines',
    column: 'Line',
    one: 'line',
    note: 'Each line without the lines that it calls. Together they add up to the step.',
  },
  {
    list: 'operations',
    title: 'Operations',
    column: 'Operation',
    one: 'operation',
    note: 'All calls of an operation, with the place of the costliest. Together they add up to the step.',
  },
  {
    list: 'moduleTypes',
    title: 'Module types',
    column: 'Class',
    one: 'module type',
    note: 'All modules of a class, with what is inside them. They overlap, and do not add up.',
  },
];
const firstRows = 12;
/** A longer list ends, at this length, with a row for all that it leaves out: it stays last. */
const mostRows = 1000;

export class CostliestPanel {
  private readonly note = h('small');
  private readonly filter = h('input.filter', {
    type: 'search',
    placeholder: 'Filter',
    title: 'By name and file',
    'aria-label': 'Filter the costliest by name and file',
    spellcheck: 'false',
  }) as HTMLInputElement;
  private readonly table = h('div.costs', { role: 'grid' });
  private readonly foot = h('div.buttons');
  readonly element = h(
    'section.costliest',
    { 'aria-label': 'Costliest' },
    h('div.head', {}, h('h2', {}, 'Costliest')),
    this.choices(),
    this.note,
    this.filter,
    this.table,
    this.foot,
  );
  private costs: Costs | null = null;
  private list: List = 'lines';
  private order: Order = 'time';
  private isReversed = false;
  private showsAll = false;
  /** Before times: "≈ " where they are uncertain. */
  private mark = '';

  constructor(private readonly events: CostliestEvents) {
    this.filter.addEventListener('input', () => this.render());
    this.table.addEventListener('keydown', (event) => this.key(event));
    this.table.addEventListener('pointerleave', () => events.highlight(null));
    this.table.addEventListener('focusin', ({ target }) => {
      if (this.rows().includes(target as HTMLElement)) this.stopAt(target as HTMLElement);
    });
  }

  /** What the user has chosen here stays. */
  show(costs: Costs | null, mark: string): void {
    this.element.hidden = costs === null;
    if (costs === this.costs && mark === this.mark) return;
    this.costs = costs;
    this.mark = mark;
    this.render();
  }

  private choices(): HTMLElement {
    return h(
      'div.choices',
      { role: 'radiogroup', 'aria-label': 'Costliest' },
      ...lists.map(({ list, title, note }) => {
        const input = h('input', { type: 'radio', name: 'costliest', checked: list === 'lines' });
        input.addEventListener('change', () => {
          this.list = list;
          this.render();
        });
        return h('label', { title: note }, input, title);
      }),
    );
  }

  private render(): void {
    if (this.costs === null) return;
    const focused = this.rows().indexOf(document.activeElement as HTMLElement);
    const sorted = (document.activeElement as HTMLElement | null)?.closest<HTMLElement>('.costs [data-order]')?.dataset
      .order;
    const { title, column, one, note } = lists.find(({ list }) => list === this.list)!;
    const hasChanges = this.costs[this.list].some(({ change }) => change !== null);
    if (!hasChanges && this.order === 'change') this.order = 'time';
    const found = this.sorted(this.costs[this.list]).filter((cost) => matches(cost, this.filter.value));
    const shown = this.showsAll ? found : found.slice(0, firstRows);
    this.note.textContent = note;
    this.table.setAttribute('aria-label', title);
    this.table.classList.toggle('changed', hasChanges);
    this.table.replaceChildren(this.header(column, hasChanges), ...shown.map((cost) => this.row(cost, hasChanges)));
    this.foot.replaceChildren(
      ...(found.length === 0
        ? [h('span.nothing', {}, `No ${one} matches.`)]
        : found.length <= firstRows
          ? []
          : [
              button('button.link', this.showsAll ? `Show the first ${firstRows}` : `Show all ${found.length}`, () =>
                this.toggleAll(),
              ),
            ]),
    );
    const rows = this.rows();
    this.stopAt(rows[Math.max(0, focused)]);
    if (focused >= 0) (rows[focused] ?? rows.at(-1))?.focus({ preventScroll: true });
    if (sorted !== undefined)
      this.table.querySelector<HTMLElement>(`[data-order="${sorted}"]`)?.focus({ preventScroll: true });
  }

  private sorted(costs: Cost[]): Cost[] {
    const rest = costs.length < mostRows ? [] : costs.slice(-1);
    const sorted = costs.slice(0, costs.length - rest.length).sort(ascending[this.order]);
    const isDescending = (this.order !== 'name') !== this.isReversed;
    return [...(isDescending ? sorted.reverse() : sorted), ...rest];
  }

  private header(column: string, hasChanges: boolean): HTMLElement {
    const cell = (order: Order, label: string) => {
      const isDescending = (order !== 'name') !== this.isReversed;
      const isSorted = order === this.order;
      const sort = button('button.sort', label, () => this.sortBy(order), { 'data-order': order });
      sort.append(h('span', { 'aria-hidden': true }, isSorted ? (isDescending ? ' ▾' : ' ▴') : ''));
      return h(
        `div.${order}`,
        { role: 'columnheader', 'aria-sort': isSorted ? (isDescending ? 'descending' : 'ascending') : 'none' },
        sort,
      );
    };
    return h(
      'div.titles',
      { role: 'row' },
      cell('name', column),
      h('div.calls', { role: 'columnheader' }, 'Calls'),
      hasChanges ? cell('change', 'Change') : null,
      cell('time', 'Time'),
      cell('memory', 'Memory'),
    );
  }

  /** `hasChanges`: some line differs from the profile before, and there is a column for it. */
  private row(cost: Cost, hasChanges: boolean): HTMLElement {
    const { name, calls, location, node, change } = cost;
    const where = location === null ? '' : `${cost.file ?? ''}:${location.line + 1}`;
    const cell = (kind: string, ...children: (Node | string | null)[]) =>
      h(`div.${kind}`, { role: 'gridcell' }, ...children);
    const isMemory = this.order === 'memory';
    const meter = h(`div.meter.${isMemory ? 'memory' : 'time'}`);
    place(meter, 0, (isMemory ? cost.peakShare : cost.share) ?? 0);
    const more = node === null ? null : h('span.more', { title: 'Show it in the breakdown' }, '›');
    more?.addEventListener('click', (event) => {
      event.stopPropagation();
      this.explore(cost);
    });
    const can = [
      node === null ? '' : 'Enter shows it in the breakdown',
      location === null ? '' : `Space opens ${where}`,
    ]
      .filter(Boolean)
      .join(', ');
    const row = h(
      'div.row',
      { role: 'row', tabindex: can === '' ? null : -1, title: [name, can].filter(Boolean).join('\n') },
      cell(
        'name',
        h(this.list === 'lines' && location !== null ? 'code' : 'span', {}, name || where),
        name === '' || where === '' ? null : h('span.where', {}, where.split('/').at(-1) ?? ''),
        more,
      ),
      cell('calls', ...(calls === null ? [] : [String(calls), h('span.unit', {}, calls === 1 ? ' call' : ' calls')])),
      hasChanges
        ? cell(
            `change${change === null ? '' : change.part > 0 ? '.slower' : '.faster'}`,
            change === null ? null : h('span', { title: change.explanation }, change.label),
          )
        : null,
      cell('time', h('span.share', {}, share(cost.share)), h('span.figure', {}, timed(cost.timeMs, this.mark))),
      cell('memory', h('span.figure', {}, bytes(cost.peakBytes))),
      meter,
    );
    row.addEventListener('pointerenter', () => this.events.highlight(location));
    row.addEventListener('focus', () => this.events.highlight(location));
    row.addEventListener('blur', () => this.events.highlight(null));
    row.addEventListener('click', ({ detail }) => {
      if (detail < 2 && location !== null) this.events.open(location);
    });
    row.addEventListener('dblclick', () => this.explore(cost));
    row.addEventListener('keydown', (event) => {
      if (event.key === ' ' && location !== null) this.events.open(location);
      else if ((event.key === 'Enter' || event.key === 'ArrowRight') && node !== null) this.explore(cost);
      else if (event.key === 'Enter' && location !== null) this.events.open(location);
      else return;
      event.preventDefault();
    });
    return row;
  }

  /** An operation has no parts: it is shown among those of its module. */
  private explore({ node }: Cost): void {
    if (node !== null) this.events.explore(this.list === 'operations' ? node.replace(/\.?\d+$/, '') : node);
  }

  private sortBy(order: Order): void {
    this.isReversed = order === this.order && !this.isReversed;
    this.order = order;
    this.render();
  }

  private toggleAll(): void {
    this.showsAll = !this.showsAll;
    this.render();
    this.foot.querySelector('button')?.focus({ preventScroll: this.showsAll });
  }

  /** The rows that do something. */
  private rows(): HTMLElement[] {
    return [...this.table.querySelectorAll<HTMLElement>('.row[tabindex]')];
  }

  /** Of the rows, Tab stops at one only. */
  private stopAt(row: HTMLElement | undefined): void {
    for (const other of this.rows()) other.tabIndex = other === row ? 0 : -1;
  }

  private key(event: KeyboardEvent): void {
    const rows = this.rows();
    const at = rows.indexOf(document.activeElement as HTMLElement);
    if (event.key === 'ArrowDown') rows[Math.min(at + 1, rows.length - 1)]?.focus();
    else if (event.key === 'ArrowUp') rows[Math.max(at - 1, 0)]?.focus();
    else return;
    event.preventDefault();
  }
}

const ascending: Record<Order, (a: Cost, b: Cost) => number> = {
  name: (a, b) => a.name.localeCompare(b.name),
  change: (a, b) => (a.change?.part ?? 0) - (b.change?.part ?? 0),
  time: (a, b) => (a.timeMs ?? 0) - (b.timeMs ?? 0),
  memory: (a, b) => a.peakBytes - b.peakBytes,
};

/** Each word of the filter is in the name or in the place. */
function matches({ name, file, location }: Cost, filter: string): boolean {
  const text = `${name} ${file ?? ''}${location === null ? '' : `:${location.line + 1}`}`.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** The breakdown of time and memory: a bar of the parts, and a list of them to drill into. */
import { bytes, share, timed } from '../figures';
import type { Breakdown, BreakdownNode, Place } from '../protocol';
import { button, h, place } from './dom';

export interface BreakdownEvents {
  explore(node: string): void;
  highlight(place: Place | null): void;
  open(place: Place): void;
}

interface Aspect {
  kind: 'time' | 'memory';
  title: string;
  /** What shares are of. */
  whole: string;
  value(node: BreakdownNode): number;
  text(node: BreakdownNode, mark: string): string;
  part(node: BreakdownNode): number | null;
}

const aspects: Aspect[] = [
  {
    kind: 'time',
    title: 'Run time',
    whole: 'step',
    value: (node) => node.timeMs ?? 0,
    text: (node, mark) => timed(node.timeMs, mark),
    part: (node) => node.share,
  },
  {
    kind: 'memory',
    title: 'Peak memory by module',
    whole: 'peak',
    value: (node) => node.peakBytes,
    text: (node) => bytes(node.peakBytes),
    part: (node) => node.peakShare,
  },
];

/** Parts below this share of the whole are not shown. */
const leastShown = 0.0005;
const colours = 8;

const leastAlike = 3; // modules that one row stands for
const asCostly = 1.2; // times the cost of another that is alike

/** The nodes in their order; the numbered modules of a class that cost about the same are together. */
function alike(nodes: BreakdownNode[], value: (node: BreakdownNode) => number): BreakdownNode[][] {
  const groups: BreakdownNode[][] = [];
  for (const node of nodes) {
    const isNumbered = node.type !== '' && /^\d/.test(node.name);
    const group = groups.find(
      ([first]) =>
        isNumbered && first?.type === node.type && /^\d/.test(first.name) && value(first) <= asCostly * value(node),
    );
    if (group === undefined) groups.push([node]);
    else group.push(node);
  }
  return groups.flatMap((group) => (group.length < leastAlike ? group.map((node) => [node]) : [group]));
}

export class BreakdownPanel {
  readonly element = h('section.breakdown', { 'aria-label': 'Breakdown' });
  private shown: string | null = null;
  private node = '';
  /** The one that was shown before. */
  private left = '';
  /** Before times: "≈ " where they are uncertain. */
  private mark = '';
  /** Where the view was scrolled when a node was left, by node. */
  private readonly scrolled = new Map<string, number>();
  private clicked: HTMLElement | null = null;
  /** The node that gets the focus when it is shown. */
  private wanted: string | null = null;

  constructor(private readonly events: BreakdownEvents) {
    this.element.addEventListener('keydown', (event) => this.key(event));
    this.element.addEventListener('pointerleave', () => events.highlight(null));
  }

  show(node: Breakdown | null, path: { node: string; name: string }[], mark: string): void {
    this.element.hidden = node === null;
    if (node === null) return;
    const shown = `${node.profileId} ${node.node}`;
    if (shown === this.shown) return;
    this.shown = shown;
    this.mark = mark;
    const left = this.node;
    this.left = left;
    this.node = node.node;
    const isBack = left !== node.node && (node.node === '' || left.startsWith(`${node.node}.`));
    const page = document.documentElement;
    this.scrolled.set(left, page.scrollTop);
    const focused =
      this.wanted === node.node
        ? 'time'
        : this.element.contains(document.activeElement)
          ? (document.activeElement?.closest('[data-kind]')?.getAttribute('data-kind') ?? 'time')
          : null;
    this.wanted = null;
    // A part has the same colour in both bars.
    const order = [...node.children].sort((a, b) => (b.timeMs ?? 0) - (a.timeMs ?? 0)).map((child) => child.node);
    this.element.replaceChildren(
      this.crumbs(node, path),
      h('div.aspects', {}, ...aspects.map((aspect) => this.aspect(aspect, node, order))),
    );
    if (focused !== null) {
      const rows = [...this.element.querySelectorAll<HTMLElement>(`[data-kind="${focused}"] .row`)];
      const cameFrom = rows.find((row) => left === row.dataset.node || left.startsWith(`${row.dataset.node}.`));
      (cameFrom ?? rows[0])?.focus({ preventScroll: true });
    }
    if (isBack) page.scrollTop = this.scrolled.get(node.node) ?? 0;
    else if (left !== node.node) page.scrollTop = Math.min(page.scrollTop, this.element.offsetTop);
  }

  /** Explores a node from elsewhere in the view. */
  enter(node: string): void {
    this.wanted = node;
    if (node === this.node) this.element.querySelector<HTMLElement>('.row')?.focus();
    else this.events.explore(node);
  }

  private crumbs(node: Breakdown, path: { node: string; name: string }[]): HTMLElement {
    const top = node.parent === null;
    const items = path.map(({ node: id, name }, i) =>
      h(
        'li',
        {},
        i === path.length - 1
          ? h('span', { 'aria-current': 'location' }, name || 'iteration')
          : button('button.link', name || 'iteration', () => this.events.explore(id)),
      ),
    );
    return h(
      'nav.crumbs',
      { 'aria-label': 'Explored module' },
      button('button.tool', '← Back', () => this.events.explore(node.parent ?? ''), {
        disabled: top,
        title: 'One level up (Backspace)',
      }),
      button('button.tool', '⤒ Top', () => this.events.explore(''), {
        disabled: top,
        title: 'The whole iteration (Home)',
      }),
      h('ol', {}, ...items),
    );
  }

  private aspect(aspect: Aspect, node: Breakdown, order: string[]): HTMLElement {
    const whole = aspect.value(node);
    const children = node.children
      .filter((child) => aspect.value(child) > leastShown * whole)
      .sort((a, b) => aspect.value(b) - aspect.value(a));
    const colour = (child: BreakdownNode) => `c${order.indexOf(child.node) % colours}`;
    const bar = h('div.stack', { 'aria-hidden': true });
    let left = 0;
    for (const child of children) {
      const width = aspect.value(child) / whole;
      const segment = h(`div.segment.${colour(child)}`, {
        title: `${child.name}  ${share(aspect.part(child))} of the ${aspect.whole}  ${aspect.text(child, this.mark)}`,
      });
      place(segment, left, width);
      if (width > 0.18) segment.append(child.name);
      this.listen(segment, child);
      bar.append(segment);
      left += width;
    }
    if (children.length === 0) bar.append(h('div.nothing', {}, node.childCount === 0 ? 'no parts' : 'nothing'));
    return h(
      `div.aspect.${aspect.kind}`,
      { 'data-kind': aspect.kind },
      h(
        'div.head',
        {},
        h('h2', {}, aspect.title),
        h(
          'span.figure',
          {},
          `${aspect.text(node, this.mark)}${node.parent === null ? '' : ` · ${share(aspect.part(node))} of the ${aspect.whole}`}`,
        ),
      ),
      this.path(aspect, node),
      this.operation(aspect, node),
      bar,
      h(
        'ul.rows',
        { 'aria-label': aspect.title },
        ...alike(children, aspect.value).map((same) => {
          const rows = same.map((child) => this.row(aspect, child, whole, colour(child)));
          return rows.length === 1 ? (rows[0] as HTMLElement) : this.group(aspect, same, whole, rows);
        }),
      ),
    );
  }

  /** Numbered modules of a class that cost about the same, as one row that unfolds. */
  private group(aspect: Aspect, same: BreakdownNode[], whole: number, rows: HTMLElement[]): HTMLElement {
    const sum = (value: (node: BreakdownNode) => number) => same.reduce((total, node) => total + value(node), 0);
    const all = { ...(same[0] as BreakdownNode), timeMs: sum(aspects[0]!.value), peakBytes: sum(aspects[1]!.value) };
    const each = {
      ...all,
      timeMs: (all.timeMs ?? 0) / same.length,
      peakBytes: Math.round(all.peakBytes / same.length),
    };
    const meter = h('div.meter');
    place(meter, 0, aspect.value(all) / whole);
    const title = `${same.length} × ${all.type}`;
    const unfolds = same.some(({ node }) => this.left === node || this.left.startsWith(`${node}.`));
    return h(
      'li',
      {},
      h(
        'details',
        { open: unfolds },
        h(
          'summary.row',
          { title: `${title}: shows each` },
          h('span.key'),
          h('span.name', {}, title),
          h('span.type', {}, `${aspect.text(each, this.mark)} each`),
          h('span.more', {}, '▾'),
          h('span.share', {}, share(sum((node) => aspect.part(node) ?? 0))),
          h('span.figure', {}, aspect.text(all, this.mark)),
          meter,
        ),
        h('ul.rows', {}, ...rows),
      ),
    );
  }

  /** From the node down, always into the costliest part. The last one has no parts: its button leads to the part that it is in. */
  private path({ kind, title }: Aspect, node: Breakdown): HTMLElement | null {
    const path = node.costliest[kind];
    if (path.length === 0) return null;
    const steps = path.map(({ node: id, label }, i) => {
      const shown = i < path.length - 1 ? id : (path.at(-2)?.node ?? node.node);
      return h('li', {}, shown === node.node ? label : button('button.link', label, () => this.events.explore(shown)));
    });
    return h(
      'div.path',
      {},
      h('span.label', {}, 'Costliest: '),
      h('ol', { 'aria-label': `${title}: the costliest part, and its costliest part` }, ...steps),
    );
  }

  /** The costliest operation over all its calls, wherever they are. */
  private operation({ kind, whole }: Aspect, { costliest: { operation } }: Breakdown): HTMLElement | null {
    if (kind !== 'time' || operation === null) return null;
    const calls = operation.calls > 1 ? ` in ${operation.calls} calls` : '';
    return h('div.operation', {}, `All ${operation.name}: ${share(operation.share)} of the ${whole}${calls}`);
  }

  private row(aspect: Aspect, child: BreakdownNode, whole: number, colour: string): HTMLElement {
    const can = [child.childCount > 0 ? 'Enter drills in' : '', child.location === null ? '' : 'Space opens the code']
      .filter(Boolean)
      .join(', ');
    const calls = child.calls > 1 ? `, ${child.calls} calls` : '';
    const label = `${child.name}, ${child.type}${calls}, ${share(aspect.part(child))} of the ${aspect.whole}, ${aspect.text(child, this.mark)}. ${can}`;
    const meter = h(`div.meter.${colour}`);
    place(meter, 0, aspect.value(child) / whole);
    const more = h('span.more', child.childCount > 0 ? { title: 'Drill in' } : {}, child.childCount > 0 ? '›' : '');
    more.addEventListener('click', (event) => {
      if (child.childCount === 0) return;
      event.stopPropagation();
      this.clicked = null;
      this.drill(child);
    });
    const row = h(
      'button.row',
      { type: 'button', 'data-node': child.node, 'aria-label': label, title: label },
      h(`span.key.${colour}`),
      h('span.name', {}, child.name),
      h('span.type', {}, child.type === child.name ? '' : child.type),
      more,
      h('span.share', {}, share(aspect.part(child))),
      h('span.figure', {}, aspect.text(child, this.mark)),
      meter,
    );
    this.listen(row, child);
    row.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' || event.key === 'ArrowRight') {
        event.preventDefault();
        this.drill(child);
      }
    });
    return h('li', {}, row);
  }

  /** A click opens the line that calls the part; a second one drills in. */
  private listen(element: HTMLElement, child: BreakdownNode): void {
    const where = child.location ?? child.definition;
    element.addEventListener('pointerenter', () => this.events.highlight(where));
    element.addEventListener('focus', () => this.events.highlight(where));
    element.addEventListener('blur', () => this.events.highlight(null));
    element.addEventListener('click', (event) => {
      if (event.detail >= 2) return;
      this.clicked = element;
      if (where !== null) this.events.open(where);
    });
    element.addEventListener('dblclick', () => {
      if (this.clicked === element) this.drill(child); // not where another part was at the first click
    });
  }

  private drill(child: BreakdownNode): void {
    if (child.childCount > 0) this.events.explore(child.node);
  }

  private key(event: KeyboardEvent): void {
    const rows = [...this.element.querySelectorAll<HTMLElement>('.row')].filter((row) => row.offsetParent !== null);
    const at = rows.indexOf(document.activeElement as HTMLElement);
    const tool = (index: number) => this.element.querySelectorAll<HTMLButtonElement>('.tool')[index]?.click();
    if (event.key === 'ArrowDown') rows[Math.min(at + 1, rows.length - 1)]?.focus();
    else if (event.key === 'ArrowUp') rows[Math.max(at - 1, 0)]?.focus();
    else if (event.key === 'Backspace' || event.key === 'ArrowLeft') tool(0);
    else if (event.key === 'Home') tool(1);
    else return;
    event.preventDefault();
  }
}

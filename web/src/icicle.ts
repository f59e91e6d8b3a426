/** The breakdown as an icicle: each node as wide as its part, what is inside below it. Only what can be seen is made. */
import { bytes, duration, share } from '../../editors/vscode/src/figures';
import { button, h } from '../../editors/vscode/src/view/dom';
import { type Data, type Node, part, type Whole, wholeOf } from './data';
import { choice } from './choice';

type Resource = 'time' | 'memory';

const rowHeight = 24; // pixels, as in style.css
const leastWidth = 3; // of a node that is drawn; narrower ones beside each other become one block
const levels = 40; // that are drawn below the node in front

export const valueOf = (node: Node, resource: Resource): number => (resource === 'time' ? node.timeMs : node.peakBytes);

interface Drawn {
  path: Node[]; // from the root to the node
  element: HTMLElement;
}

class Icicle {
  readonly element = h('div.icicle', {
    role: 'group',
    'aria-label': 'Breakdown: arrow keys move, Enter opens a node, Escape goes back',
  });
  readonly crumbs = h('nav.crumbs', { 'aria-label': 'Opened node' });
  readonly details = h('p.details', { 'aria-live': 'polite' });
  private resource: Resource = 'time';
  private path: Node[]; // to the node in front
  private drawn: Drawn[] = [];
  private narrow: HTMLElement[] = [];

  constructor(
    root: Node,
    private readonly whole: Whole,
  ) {
    this.path = [root];
    this.element.addEventListener('keydown', (event) => this.key(event));
    this.element.addEventListener('click', (event) => {
      const hit = this.drawn.find(({ element }) => element === (event.target as Element).closest('.node'));
      if (hit) this.open(hit.path);
    });
    for (const name of ['pointerover', 'focusin']) {
      this.element.addEventListener(name, (event) => {
        const hit = this.drawn.find(({ element }) => element === (event.target as Element).closest('.node'));
        if (hit) this.describe(hit.path);
      });
    }
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  show(resource: Resource): void {
    this.resource = resource;
    this.draw();
  }

  private open(path: Node[]): void {
    const node = path.at(-1);
    const same = node === this.path.at(-1);
    this.path = same && path.length > 1 ? path.slice(0, -1) : path;
    this.draw();
    this.focus(this.path);
  }

  /** The nodes on the path above the node in front as whole rows, then it and what is inside. */
  private draw(): void {
    const width = this.element.clientWidth;
    if (width === 0) return;
    const keepsFocus = this.element.contains(document.activeElement);
    this.drawn = [];
    const front = this.path.length - 1;
    for (let i = 0; i <= front; ++i) this.add(this.path.slice(0, i + 1), i, 0, width, i < front);
    this.addChildren(this.path, front + 1, 0, width);
    const rows = 1 + Math.max(...this.drawn.map(({ path }) => path.length - 1), 0);
    this.element.style.height = `${rows * rowHeight}px`;
    this.element.replaceChildren(...this.drawn.map(({ element }) => element), ...this.narrow);
    this.narrow = [];
    const current = this.drawn.find(({ path }) => path.length === front + 1);
    if (current) current.element.tabIndex = 0;
    if (keepsFocus) current?.element.focus();
    this.describe(this.path);
    this.crumbs.replaceChildren(
      ...this.path.flatMap((node, i) => {
        const crumb = button(
          'button.crumb',
          node.name,
          () => this.open(this.path.slice(0, i + 1)),
          i === front ? { disabled: true } : {},
        );
        return i === 0 ? [crumb] : [h('span', { 'aria-hidden': true }, '›'), crumb];
      }),
    );
  }

  private addChildren(path: Node[], row: number, left: number, width: number): void {
    const node = path.at(-1);
    if (node === undefined || row > this.path.length + levels) return;
    const whole = valueOf(node, this.resource);
    if (whole <= 0) return;
    const children =
      this.resource === 'time' ? node.children : [...node.children].sort((a, b) => b.peakBytes - a.peakBytes);
    let at = left;
    for (const child of children) {
      // largest first: those after the first narrow one are narrow, too
      const size = (width * valueOf(child, this.resource)) / whole;
      if (size < leastWidth) break;
      this.add([...path, child], row, at, size, false);
      this.addChildren([...path, child], row + 1, at, size);
      at += size;
    }
    const rest = left + width - at;
    if (rest >= 1) this.narrow.push(block('div.rest', row, at, rest, this.element.clientWidth));
  }

  private add(path: Node[], row: number, left: number, width: number, isAbove: boolean): void {
    const node = path.at(-1);
    if (node === undefined) return;
    const value = valueOf(node, this.resource);
    const kind = node.type === '' && path.length > 1 ? 'operation' : 'module';
    const element = block(
      `button.node.${this.resource}.${kind}${isAbove ? '.above' : ''}`,
      row,
      left,
      width,
      this.element.clientWidth,
    );
    element.setAttribute('type', 'button');
    element.tabIndex = -1;
    const figure = this.resource === 'time' ? duration(value) : bytes(value);
    element.setAttribute('aria-label', `${node.name}, ${figure}`);
    if (width > 24) element.append(h('span', {}, node.name), width > 150 ? h('span.value', {}, figure) : '');
    this.drawn.push({ path, element });
  }

  private describe(path: Node[]): void {
    const node = path.at(-1);
    if (node === undefined) return;
    const name =
      path
        .slice(1)
        .map((each) => each.name)
        .join(' › ') || node.name;
    const facts = [
      node.type !== '' && node.type !== node.name ? node.type : '',
      `${duration(node.timeMs)} (${share(part(node.timeMs, this.whole.ms))})`,
      `${bytes(node.peakBytes)} at the peak (${share(part(node.peakBytes, this.whole.bytes))})`,
      node.calls > 0 ? `${node.calls} ${node.calls === 1 ? 'call' : 'calls'}` : '',
      node.location === null ? '' : `${node.location.file}:${node.location.line}`,
    ];
    this.details.replaceChildren(h('b', {}, name), ` · ${facts.filter(Boolean).join(' · ')}`);
  }

  private focus(path: Node[]): void {
    const target = this.drawn.find((drawn) => drawn.path.length === path.length && drawn.path.at(-1) === path.at(-1));
    target?.element.focus();
  }

  private key(event: KeyboardEvent): void {
    const current = this.drawn.find(({ element }) => element === document.activeElement);
    if (event.key === 'Escape' && this.path.length > 1) this.open(this.path);
    if (current === undefined || !event.key.startsWith('Arrow')) return;
    event.preventDefault();
    const { path } = current;
    const beside = this.drawn.filter((other) => other.path.length === path.length && other.path.at(-2) === path.at(-2));
    const at = beside.indexOf(current);
    const inside = this.drawn.find(
      (other) => other.path.length === path.length + 1 && other.path.at(-2) === path.at(-1),
    );
    const target = {
      ArrowLeft: beside[at - 1]?.path,
      ArrowRight: beside[at + 1]?.path,
      ArrowUp: path.slice(0, -1),
      ArrowDown: inside?.path,
    }[event.key];
    if (target !== undefined && target.length > 0) this.focus(target);
  }
}

/** In parts of the whole width, so that it fits on paper, too. */
function block(name: string, row: number, left: number, width: number, whole: number): HTMLElement {
  const element = h(name);
  element.style.top = `${row * rowHeight}px`;
  element.style.left = `${(100 * left) / whole}%`;
  element.style.width = `${(100 * Math.max(1, width - 1)) / whole}%`;
  return element;
}

export function icicle({ report }: Data): HTMLElement | null {
  if (report.breakdown.children.length === 0) return null;
  const view = new Icicle(report.breakdown, wholeOf(report));
  const resources = choice('Width of a node', ['time', 'memory'], (resource) => view.show(resource));
  return h(
    'section',
    { 'aria-label': 'Modules' },
    h('div.title', {}, h('h2', {}, 'Modules'), resources),
    view.crumbs,
    view.element,
    h('p.note', {}, 'Hatched: several parts, too narrow to be drawn one by one.'),
    view.details,
  );
}

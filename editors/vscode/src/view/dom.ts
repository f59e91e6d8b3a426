/** Elements from code: what comes from outside is text here, never markup. */

type Attributes = Record<string, string | number | boolean | null>;

const svgNames = new Set(['svg', 'g', 'line', 'path', 'circle', 'rect', 'text', 'title']);

export function h(
  name: 'button' | `button.${string}`,
  attributes?: Attributes,
  ...children: (Node | string | null)[]
): HTMLButtonElement;
export function h(name: string, attributes?: Attributes, ...children: (Node | string | null)[]): HTMLElement;
/** `name` may have classes: "div.row.wide". Attributes that are null or false are left out. */
export function h(name: string, attributes: Attributes = {}, ...children: (Node | string | null)[]): HTMLElement {
  const [tag = 'div', ...classes] = name.split('.');
  const element = svgNames.has(tag)
    ? (document.createElementNS('http://www.w3.org/2000/svg', tag) as unknown as HTMLElement)
    : document.createElement(tag);
  if (classes.length > 0) element.setAttribute('class', classes.join(' '));
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(key, String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function button(
  name: `button${string}`,
  label: string,
  action: () => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  const element = h(name as 'button', { type: 'button', ...attributes }, label);
  element.addEventListener('click', action);
  return element;
}

/** What stands between backticks is code. */
export function marked(text: string): (Node | string)[] {
  return text.split('`').map((part, i) => (i % 2 === 1 ? h('code', {}, part) : part));
}

/** Widths are set through the object model, which the policy allows; a style in the markup it does not. */
export function place(element: HTMLElement, left: number, width: number): void {
  const inside = (part: number) => Math.min(1, Math.max(0, part));
  element.style.left = `${100 * inside(left)}%`;
  element.style.width = `${100 * Math.max(0, inside(left + width) - inside(left))}%`;
}

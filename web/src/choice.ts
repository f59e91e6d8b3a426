/** One of several, as radio buttons that look like tabs. */
import { h } from '../../editors/vscode/src/view/dom';

let groups = 0;

/** The first is chosen at the start, without a call of `choose`. */
export function choice<Name extends string>(
  label: string,
  names: readonly Name[],
  choose: (name: Name) => void,
): HTMLElement {
  const group = `choice${++groups}`;
  const options = names.map((name, i) => {
    const input = h('input', { type: 'radio', name: group, value: name, checked: i === 0 });
    input.addEventListener('change', () => choose(name));
    return h('label', {}, input, name);
  });
  return h('div.choice', { role: 'radiogroup', 'aria-label': label }, ...options);
}

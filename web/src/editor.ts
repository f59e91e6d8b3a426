/** In an editor's tab, the lines that the report names are links to the code. In a browser they are text. */

interface Editor {
  postMessage(message: { type: 'open'; path: string; line: number }): void;
}

export function linkLines(): void {
  const editor = (globalThis as { acquireVsCodeApi?: () => Editor }).acquireVsCodeApi?.();
  if (editor === undefined) return;
  document.body.classList.add('in-editor');
  document.addEventListener('click', ({ target }) => {
    const cell = target instanceof Element ? target.closest('.place, .called') : null;
    const [, path, line] = /^(.+):(\d+)$/.exec(cell?.textContent?.trim() ?? '') ?? [];
    if (path !== undefined) editor.postMessage({ type: 'open', path, line: Number(line) });
  });
}

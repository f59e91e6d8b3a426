/** Text from outside where VS Code would else find something to click on. */

/**
 * Text that VS Code shows as it is. In notifications it makes links, also to commands, of `[text](command:…)`, and in
 * labels icons of `$(name)`; controls and marks that reorder text could make either read other than it is. As the
 * daemon does it: protocol/shown_text.h.
 */
export function sanitizeText(text: string, most = 1024): string {
  const shown = text
    .replace(/[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, '\ufffd')
    .replaceAll('](', '] (')
    .replaceAll('$(', '$ (');
  return shown.length > most ? `${shown.slice(0, most - 1)}…` : shown;
}

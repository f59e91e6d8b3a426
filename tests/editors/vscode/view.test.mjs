/** The view, and what it leads to in the editor: in one process, which shares a code-server and a browser. The rest of the
 * view is tested without VS Code: ../../view. */
import './view.mjs';
import './library.mjs';
import './whatif.mjs';

if (process.env.UPDATE_PICTURES) await import('./pictures.mjs');

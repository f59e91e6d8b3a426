/** The view, its lists, and what a view leads to: in one process, which shares a code-server and a browser. */
import './view.mjs';
import './costliest.mjs';
import './library.mjs';
import './whatif.mjs';
import './ranks.mjs';
import './tasks.mjs';

if (process.env.UPDATE_PICTURES) await import('./pictures.mjs');

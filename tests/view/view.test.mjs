/** All of them in one process, which shares a browser and a profile. */
import './batch_sizes.mjs';
import './breakdown.mjs';
import './costliest.mjs';
import './profiles.mjs';
import './ranks.mjs';
import './tasks.mjs';
import './what_if.mjs';

// Property tests use the same values in every run, so that failures are reproducible. COLDIRON_SEED=7 uses others;
// COLDIRON_SEED=random uses new ones each time, and a failure prints its seed.

import fc from 'fast-check';

const seed = process.env.COLDIRON_SEED ?? '20261';
if (seed !== 'random') fc.configureGlobal({ seed: Number(seed) });

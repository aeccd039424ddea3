import { defineConfig } from 'vitest/config';
import { LongestFirst } from './longest-first.ts';

export default defineConfig({
  test: {
    root: '.',
    setupFiles: ['test/seed.ts'],
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // How long a loaded machine may take until something is so; what is so at once costs nothing.
    expect: { poll: { timeout: 30_000 } },
    // A golden file that is missing is a failure. `-u` on the command line writes goldens, and nothing else does.
    update: 'none',
    pool: 'forks',
    // One more than the processors of a small machine: machines that boot spend half of their time waiting.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', ['json', { outputFile: '.ci/report.json' }]],
  },
});

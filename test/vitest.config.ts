import { defineConfig } from 'vitest/config';
import { AttackReporter } from './attack-reporter.ts';
import { LongestFirst } from './longest-first.ts';
import { canShareProcess, testFiles } from './quick-files.ts';

const sharing = testFiles().filter(canShareProcess);

export default defineConfig({
  test: {
    root: '.',
    setupFiles: ['test/seed.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // The time limit of polled expectations on a loaded machine; a condition that holds at once costs no time.
    expect: { poll: { timeout: 30_000 } },
    // A missing golden file is a failure. Only `-u` on the command line writes goldens.
    update: 'none',
    pool: 'forks',
    // Two more than the processors of a small machine: booting virtual machines wait half of the time.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new AttackReporter(), ['json', { outputFile: '.ci/report.json' }]],
    projects: [
      { extends: true, test: { name: 'shared process', include: sharing, isolate: false } },
      { extends: true, test: { name: 'own process', include: ['test/**/*.test.ts'], exclude: sharing } },
    ],
  },
});

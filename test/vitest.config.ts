import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: '.',
    setupFiles: ['test/seed.ts'],
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    maxWorkers: 2,
    reporters: ['default', ['json', { outputFile: '.ci/report.json' }]],
  },
});

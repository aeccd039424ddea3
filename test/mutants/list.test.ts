// Part of `npm test`: checks that the list of faults matches the code, so that `npm run mutants` works at any time.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MUTANTS } from './list.ts';
import { withFault } from './mutant.ts';

const ROOT = join(import.meta.dirname, '../..');

describe('the list of faults', () => {
  it('has at least 60 faults with unique names', () => {
    const names = MUTANTS.map(({ name }) => name);
    expect(names.length).toBeGreaterThanOrEqual(60);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
  });

  it.each(MUTANTS)('$name: its source text is in $file exactly once', ({ file, source, fault }) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const faulty = withFault(text, { source, fault });
    expect(faulty, `not exactly once in ${file}: ${source}; change the entry with the code`).not.toBeNull();
    expect(faulty).not.toBe(text);
  });

  it.each(MUTANTS)('$name: names tests that exist, and says why it matters', ({ tests, why }) => {
    expect(tests.length).toBeGreaterThan(0);
    for (const test of tests) expect(test.endsWith('.test.ts') && existsSync(join(ROOT, test)), test).toBe(true);
    expect(why).toMatch(/^\S.*\.$/);
  });
});

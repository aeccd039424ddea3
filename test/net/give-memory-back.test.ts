import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const MODULE = join(import.meta.dirname, '../../appliance/net/give-memory-back.ts');

/** Leaves holes everywhere, as a start does: one of a hundred long-lived objects stays. */
const PROGRAM = `
  const { giveMemoryBack } = await import(${JSON.stringify(MODULE)});
  const made = Array.from({ length: 600_000 }, (_, at) => ({ at, text: [at, at, at] }));
  globalThis.kept = made.filter(({ at }) => at % 100 === 0);
  made.length = 0;
  const before = process.memoryUsage().rss;
  giveMemoryBack();
  const whole = globalThis.kept.every(({ at, text }, index) => at === index * 100 && text[2] === at);
  process.stdout.write(JSON.stringify({ before, after: process.memoryUsage().rss, whole }));
`;

it('returns unused memory to the system, and keeps used memory', () => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', PROGRAM], { encoding: 'utf8' });
  expect(stderr).toBe('');
  const { before, after, whole } = JSON.parse(stdout);
  expect(whole).toBe(true);
  expect(before - after).toBeGreaterThan(10 * 1024 * 1024);
});

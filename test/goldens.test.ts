import { expect, it } from 'vitest';
import config from './vitest.config.ts';

it('writes golden files only with -u: a missing one fails the test', () => {
  expect(config.test).toMatchObject({ update: 'none' });
});

import { expect, it } from 'vitest';
import config from './vitest.config.ts';

it('golden files are written with -u only: a missing one is a failure, on every machine', () => {
  expect(config.test).toMatchObject({ update: 'none' });
});

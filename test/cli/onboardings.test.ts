// The verbs of onboarding runs as a user types them, against the real API.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildManagementApi } from '../../appliance/api/app.ts';
import { localAuthenticator } from '../../appliance/api/auth.ts';
import type { ManagementDeps } from '../../appliance/api/deps.ts';
import { listenOnSocket } from '../../appliance/net/listen.ts';
import { type Fixture, openApi } from '../api/api-fixture.ts';
import { runColdiron } from './run-coldiron.ts';

const WORDS = ['onboard', 'c07u31', '--site', 'lab', '--profile', 'worker', '--sku', 'gp1', '--bmc', '10.0.200.31'];

let api: Fixture;
let stop: () => unknown;
beforeEach(async () => {
  let real: ManagementDeps | undefined;
  api = await openApi({
    deps: (given) => {
      real = given;
      return {};
    },
  });
  if (real === undefined) throw new Error('the fixture has no dependencies');
  const app = await buildManagementApi({ ...real, authenticate: localAuthenticator('tester') });
  stop = await listenOnSocket(app, `${api.stateDir}/coldiron.sock`);
});
afterEach(async () => {
  await stop();
  await api.close();
});

const run = (...words: string[]) => runColdiron(api.stateDir, words);
const json = async (...words: string[]) => {
  const { status, stdout, stderr } = await run(...words, '--json');
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout);
};

describe('coldiron onboard', () => {
  it('asks for the host name, and requests nothing without it', async () => {
    const refused = await run(...WORDS);
    expect([refused.status, refused.stderr]).toEqual([
      2,
      expect.stringContaining('overwrites the data on the disk of c07u31'),
    ]);
    expect(await json('onboardings', 'list')).toEqual([]);
  });

  it('requests a run that is listed, shown, confirmed and cancelled', async () => {
    const made = await json(...WORDS, '--yes');
    expect(made).toMatchObject({ state: 'awaiting-confirmation', hostname: 'c07u31', ipmi_ip: '10.0.200.31' });
    expect(await json('onboardings', 'list', '--in', 'awaiting-confirmation')).toMatchObject([{ id: made.id }]);
    expect(await json('onboardings', 'confirm', made.id, '--yes')).toMatchObject({ state: 'running' });
    await api.runner.idle();
    const shown = await run('onboardings', 'show', made.id);
    expect(shown.stdout).toContain('host          c07u31, BMC 10.0.200.31');
    expect(shown.stdout).toContain('  preflight: done');
    await json('onboardings', 'cancel', made.id, '--note', 'wrong rack');
    await api.runner.idle();
    expect(await json('onboardings', 'show', made.id)).toMatchObject({
      state: 'cancelled',
      cancelled_by: 'local:tester',
    });
    const again = await run('onboardings', 'retry', made.id);
    expect([again.status, again.stderr]).toEqual([5, expect.stringContaining('only a failed run can be tried again')]);
  });

  it('names what is wrong with the request', async () => {
    const { status, stderr } = await run(...WORDS.map((word) => (word === 'gp1' ? 'v100' : word)), '--yes');
    expect([status, stderr]).toEqual([3, expect.stringContaining('SKU v100 is not active')]);
  });
});

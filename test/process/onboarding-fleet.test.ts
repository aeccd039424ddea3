// Onboarding runs of machines of which only the BMC address is known, with real processes: IPMI on the wire, boots that the BMC causes, sessions
// and enrollment over TLS. Kills of the appliance are part of the benchmark `onboardings`.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SimulatedFleet } from '../onboarding-runs/simulated-fleet.ts';
import { type InstallFailure, placeOf, SimulatedServer } from '../onboarding-runs/simulated-server.ts';

/** An appliance is started several times, beside virtual machines. */
const LONG = { timeout: 600_000 };
/** Loopback addresses that only this process uses. */
const NETWORK = 64 + (process.pid % 60) * 3;
const at = (n: number) => placeOf(n, NETWORK);

describe('onboarding runs of simulated servers', LONG, () => {
  let fleet: SimulatedFleet;
  const servers: SimulatedServer[] = [];

  beforeEach(async () => {
    fleet = await SimulatedFleet.start(`127.${NETWORK + 2}.0.1`);
  });
  afterEach(async () => {
    await fleet.end();
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  const server = async (n: number, ...failures: readonly InstallFailure[]): Promise<SimulatedServer> => {
    const one = await SimulatedServer.start(at(n), fleet.bootUrl, failures);
    servers.push(one);
    return one;
  };
  /** As long as no run of the site is completed, each needs a confirmation. */
  const begun = async (hostname: string, n: number): Promise<string> => {
    const id = await fleet.request(hostname, at(n));
    if ((await fleet.shown(id)).state === 'awaiting-confirmation')
      await fleet.api(`/onboardings/${id}/confirm`, { hostname });
    return id;
  };

  it('tries a failure in the datasource class again, and no other class', async () => {
    const twice = await server(1, { step: 'seed', reason: 'DataSourceNotFoundException: no data source' });
    const once = await server(2, { step: 'choose-disk', reason: 'no disk matches' });
    const [again, not] = await Promise.all([begun('node01', 1), begun('node02', 2)]);
    const run = await fleet.over(again);
    expect(run, JSON.stringify(run)).toMatchObject({ state: 'completed', attempt: 2 });
    expect([twice.count('failed seed'), twice.count('install'), twice.count('enroll')]).toEqual([1, 1, 1]);
    expect(await fleet.over(not)).toMatchObject({
      ...{ state: 'failed', attempt: 1 },
      failure: { class: 'disk', step: 'deploy' },
    });
    expect([once.count('failed choose-disk'), once.count('install')]).toEqual([1, 0]);
    const { events, correlation_id: correlation } = (await fleet.api(`/onboardings/${again}`)) as {
      events: { kind: string; correlation_id: string | null; onboarding_id: string | null }[];
      correlation_id: string;
    };
    const ofRun = events.filter(({ kind }) =>
      /^(onboarding|session|lifecycle|intent|enrollment|node-api)\./.test(kind),
    );
    expect(new Set(ofRun.map(({ correlation_id: id }) => id))).toEqual(new Set([correlation]));
    expect(new Set(ofRun.map(({ onboarding_id: id }) => id))).toEqual(new Set([again]));
    expect(ofRun.some(({ kind }) => kind.startsWith('session.'))).toBe(true);
  });
});

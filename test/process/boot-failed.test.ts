// A boot that iPXE reports as failed, as the machine, its neighbour and the operator see it.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeServiceOs } from '../provisioning/sessions/fake-service-os.ts';
import { machineOf, NEIGHBOUR, ServedSite } from './service-os-site.ts';

describe('a failed boot', () => {
  let served: ServedSite;
  beforeAll(async () => {
    served = await ServedSite.open();
  });
  afterAll(() => served?.end());

  it('ends the commissioning when the machine reports it, and not when its neighbour does', async () => {
    const { serving } = served;
    served.verb('commission', 'node01');
    const machine = machineOf(serving);
    const script = await machine.script();
    const [, url = ''] = /^imgfetch .* (http:\S+)/m.exec(script) ?? [];
    const filled: Readonly<Record<string, string>> = { bootmac: '52-54-00-12-34-56', problem: '2e008001' };
    const { pathname, search } = new URL(url.replace(/\$\{(\w+)[^}]*\}/g, (_, name: string) => filled[name] ?? 'x'));
    expect((await new FakeServiceOs(serving.where('boot'), NEIGHBOUR).ask('GET', `${pathname}${search}`)).body).toBe(
      'noted\n',
    );
    expect(served.node()).toMatchObject({ state: 'commissioning' });
    expect((await machine.ask('GET', `${pathname}${search}`)).body).toBe('noted\n');
    expect(served.node()).toMatchObject({
      state: 'failed',
      failure: { step: 'commission', reason: expect.stringContaining('2e008001 (exec format error') },
    });
    expect(served.verb('trail', 'node01')).toContain('iPXE error 2e008001');
    served.verb('commission', 'node01');
    expect((await machine.boot()).status).toBe(201);
  });
});

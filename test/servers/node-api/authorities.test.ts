// Authorities are rotated, and the appliance's own certificates are renewed, while nodes are connected.

import { X509Certificate } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DAY } from '../../../appliance/domain/instant.ts';
import { needPackages } from '../../interop/packages.ts';
import { NodeApiSite } from './node-api-site.ts';

const ADA = { actor: 'local:ada', correlationId: null };

beforeAll(() => needPackages(['curl', 'openssl']));

let site: NodeApiSite;
beforeEach(async () => {
  site = await NodeApiSite.open();
});
afterEach(() => site.end());

describe('a rotation of the authority', () => {
  it('asks each node to renew in the heartbeat response, and lists the nodes that have not', async () => {
    const [a, b] = [await site.node(await site.machine(1)), await site.node(await site.machine(2))];
    expect(await a.heartbeat()).toMatchObject({ json: { renew: 'no' } });
    await site.enrollment.rotate(ADA, false);
    // Neither node knows the new authority: its certificates chain to the one they know.
    expect(await a.heartbeat()).toMatchObject({ status: 200, json: { renew: 'yes' } });
    expect(await a.renew()).toMatchObject({ status: 200 });
    expect(await a.heartbeat()).toMatchObject({ json: { renew: 'no' } });
    const holders = async () => (await site.enrollment.rotation.status()).stale.map(({ machine }) => machine);
    expect(await holders()).toEqual([b.id]);
    await expect(site.enrollment.retire(ADA, false)).rejects.toMatchObject({ code: 'conflict' });

    expect(await b.heartbeat()).toMatchObject({ status: 200, json: { renew: 'yes' } });
    expect(await b.renew()).toMatchObject({ status: 200 });
    await b.heartbeat();
    expect(await holders()).toEqual([]);
    await site.enrollment.retire(ADA, false);
    for (const node of [a, b]) expect(await node.heartbeat()).toMatchObject({ status: 200 });
  });

  it('that is forced cuts off nodes that have not renewed, and they return with the recovery token', async () => {
    const node = await site.node(await site.machine(1));
    await site.enrollment.rotate(ADA, false);
    await site.enrollment.retire(ADA, true);
    expect(await node.heartbeat()).toMatchObject({
      status: 401,
      json: { message: expect.stringContaining('no longer trusted: recover with the recovery token') },
    });
    expect(await node.wait()).toMatchObject({ status: 401 });
    expect(await node.renew()).toMatchObject({ status: 401 });
    expect(await node.enroll(node.recoveryToken, { path: 'recover' })).toMatchObject({ status: 200 });
    expect(await node.heartbeat()).toMatchObject({ status: 200, json: { state: 'active' } });
    expect(await site.audit('authority.retired')).toMatchObject([{ after: { despite_holders: true } }]);
  });
});

describe('the certificate of the node API', () => {
  const shown = async (): Promise<X509Certificate> => {
    const client = await site.client({ id: 'nobody' as never });
    const { stdout } = await client.openssl(['-showcerts']);
    return new X509Certificate(stdout.slice(stdout.indexOf('-----BEGIN')));
  };

  it('is the same after a restart, and is valid for a clock that is a day behind', async () => {
    const before = await shown();
    expect(Date.parse(before.validFrom)).toBeLessThanOrEqual(Date.now() - DAY + 1000);
    await site.stop();
    await site.start();
    expect((await shown()).fingerprint256).toBe(before.fingerprint256);
    expect((await site.audit('certificate.issued')).length).toBe(1);
  });

  it('is replaced after two thirds of its lifetime, and when another authority signs', async () => {
    const before = await shown();
    await site.stop();
    site.ahead += 61 * DAY;
    await site.start();
    const next = await shown();
    expect(next.fingerprint256).not.toBe(before.fingerprint256);
    await site.enrollment.rotate(ADA, false);
    expect((await shown()).fingerprint256).not.toBe(next.fingerprint256);
  });

  it('is replaced when others could have read its key', async () => {
    const before = await shown();
    await site.stop();
    chmodSync(`${site.folder}/state/ca/node-api.pem`, 0o644);
    await site.start();
    expect((await shown()).fingerprint256).not.toBe(before.fingerprint256);
  });
});

// The same over Redfish, where a BMC is identified by its certificate.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { selfSigned } from '../bmc/redfish/mock/certificates.ts';
import { ADMIN } from '../bmc/redfish/mock/machine.ts';
import { MockServer } from '../bmc/redfish/mock/mock-server.ts';
import { VENDORS } from '../bmc/redfish/mock/vendors.ts';
import { needPackages } from '../interop/packages.ts';
import { addressOf, BmcSite } from './bmc-site.ts';

let site: BmcSite;
let bmc: MockServer;
beforeEach(async () => {
  needPackages(['openssl']);
  bmc = await MockServer.start(VENDORS.openbmc, selfSigned(), 443, addressOf(1));
  site = new BmcSite([{ number: 1, password: ADMIN.password, driver: 'redfish', username: ADMIN.name }]);
  await site.serve();
});
afterEach(async () => {
  await site.remove();
  await bmc.stop();
});

const power = async () => (await site.json('power', 'node01', 'status'))[0];

describe('a Redfish BMC', () => {
  it('is pinned by its first certificate, and a new one is trusted only after confirmation', async () => {
    expect(await power()).toMatchObject({ mode: 'real', power: expect.stringMatching(/^(on|off)$/) });
    await site.serving?.end('SIGTERM');
    bmc.showCertificate(selfSigned('somebody-else'));
    await site.serve();
    expect(await power()).toMatchObject({ code: 'bmc_untrusted' });
    const refused = await site.run(['power', 'node01', 'on']);
    expect([refused.status, refused.stderr]).toEqual([6, expect.stringContaining('bmc forget-certificate')]);
    expect((await site.run(['bmc', 'forget-certificate', 'node01'])).status).toBe(0);
    expect(await power()).toMatchObject({ mode: 'real' });
  });

  it('has no console over Redfish, and says what to use instead', async () => {
    const run = await site.run(['console', 'node01']);
    expect([run.status, run.stderr]).toEqual([5, expect.stringMatching(/IPMI|SSH/)]);
  });
});

// Verifies our mock with an independent client: sushy, of OpenStack Ironic.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { needPackages } from '../../../interop/packages.ts';
import { startMock } from '../rig.ts';
import { ADMIN } from './machine.ts';
import type { MockServer } from './mock-server.ts';
import { VENDORS } from './vendors.ts';

const run = promisify(execFile);

beforeAll(() => needPackages(['python3-sushy']));

async function sushy(mock: MockServer, sendsMode: boolean): Promise<unknown> {
  // And nothing else: requests would prefer a proxy or a CA bundle of the environment to its arguments.
  const env = {
    URL: `https://127.0.0.1:${mock.port}/redfish/v1`,
    NAME: ADMIN.name,
    PASSWORD: ADMIN.password,
    MODE: sendsMode ? 'yes' : 'no',
  };
  // Debian's own interpreter, for which the package is installed.
  const { stdout } = await run('/usr/bin/python3', [join(import.meta.dirname, 'sushy-client.py')], { env });
  return JSON.parse(stdout);
}

describe.each(Object.values(VENDORS))('$name', (vendor) => {
  it('works with sushy', async () => {
    // sushy sends its token to whichever host a Location names; our driver does not.
    const mock = await startMock({ ...vendor, absoluteLocations: false });
    const sendsMode = vendor.mode !== 'read-only';
    expect(await sushy(mock, sendsMode)).toEqual({
      before: 'Off',
      after: 'On',
      manufacturer: vendor.manufacturer,
      firmware: vendor.firmware,
      boot: ['Pxe', 'Once', sendsMode ? 'UEFI' : 'Legacy'],
    });
    expect(mock.service.machine.resets).toEqual(['On']);
    expect(mock.service.machine.light).toBe(vendor.light === 'led');
    expect(mock.service.sessions.size).toBe(0);
  });
});

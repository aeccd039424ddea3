// A non-compliant client gets no lease, and does no harm.

import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { needPackages } from '../packages.ts';
import { Lab } from './lab.ts';

const CLIENT = new URL('./npm-dhcp-client.ts', import.meta.url).pathname;

let lab: Lab;
beforeAll(() => needPackages(['iproute2', 'isc-dhcp-client']));
beforeEach(() => {
  lab = new Lab();
});
afterEach(async () => await lab.remove());

it('the npm package dhcp is offered an address, omits it in its REQUEST, and gets none; the next client does', async () => {
  const { namespaces } = lab;
  namespaces.add('server', 'client');
  namespaces.connect(
    { namespace: 'server', device: 's1', address: '10.88.0.1/24' },
    { namespace: 'client', device: 'c1', address: '10.88.0.9/24' },
  );
  namespaces.ip('client', 'route', 'add', 'default', 'dev', 'c1');
  await lab.serve(
    [
      {
        name: 'first',
        prefix: '10.88.0.0/24',
        server: '10.88.0.1',
        device: 's1',
        from: '10.88.0.100',
        to: '10.88.0.110',
      },
    ],
    '--no-probe',
  );
  const sloppy = namespaces.start('client', process.execPath, CLIENT, '02-00-00-00-00-77');
  await sloppy.says(/received type 2 for 10\.88\.0\.100/);
  await sloppy.says(/asked/);
  const { output } = await sloppy.stop('SIGKILL');
  expect(output).not.toMatch(/bound|received type 5/);
  expect(await lab.leases()).toEqual([]);
  // Not .100, which the other client may still request.
  expect(await lab.dhclient('client', 'c1')).toBe('10.88.0.101');
  const silences = (await lab.notes()).filter(({ kind }) => kind === 'dhcp.silent');
  expect(silences.map(({ data }) => data)).toContainEqual(expect.objectContaining({ because: 'malformed' }));
});

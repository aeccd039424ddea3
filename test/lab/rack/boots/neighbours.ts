// Machines that reach the appliance indirectly: beside another DHCP server, and through a relay.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needPackages } from '../../../interop/packages.ts';
import { bootAndWait } from '../boot-and-wait.ts';
import { machine } from '../machines.ts';
import { RackSite } from '../rack-site.ts';
import { filesByTftp } from '../served-files.ts';

export const bootsBesideOtherServer = () =>
  describe('an appliance as proxyDHCP beside another DHCP server', () => {
    let site: RackSite;
    beforeAll(async () => {
      site = await RackSite.start({ network: { dhcp: 'proxy', pools: [], efi_loader: 'ipxe' } }, async (rack) => {
        const elsewhere = await rack.addNetwork('10.99.0.1/24');
        await elsewhere.plugInto(rack.network, '10.77.0.2/16');
        const range = '--dhcp-range=10.77.8.1,10.77.8.250,255.255.0.0,1h';
        await rack.dnsmasq(elsewhere, [`--interface=${elsewhere.uplink}`, '--leasefile-ro', '--no-ping', range]);
      });
    });
    afterAll(() => site?.stop());

    it('boots a UEFI machine that got its address from the other server', async () => {
      const spec = machine('uefi-pxe', 1);
      const { report, log, console } = await bootAndWait(site, spec);
      expect(report).toEqual({ mac: spec.mac, platform: 'efi', architecture: 'x86_64' });
      expect(console).toMatch(/eth0 has 10\.77\.8\.\d+ from 10\.77\.0\.2/);
      expect(filesByTftp(log)).toEqual(['ipxe.efi']);
    });
  });

export const bootsThroughRelay = () =>
  describe('an appliance behind a DHCP relay', () => {
    let site: RackSite;
    let far: RackSite['network'];
    beforeAll(async () => {
      needPackages(['isc-dhcp-relay']);
      const behindRelay = {
        name: 'far',
        prefix: '10.78.0.0/24',
        gateway: '10.78.0.1',
        server: '10.77.0.1',
        interface: 'rack0',
        dhcp: 'authoritative',
        unknown: 'inspect',
        pools: [{ from: '10.78.0.100', to: '10.78.0.200' }],
      };
      site = await RackSite.start({ moreNetworks: [behindRelay] }, async (rack) => {
        far = await rack.addNetwork('10.78.0.1/24');
        await far.plugInto(rack.network, '10.77.0.2/16');
        await rack.startRouter(far, 'fd78::');
        await rack.network.addRoute('10.78.0.0/24', '10.77.0.2');
        const relay = ['-4', '-d', '--no-pid', '-iu', far.uplink, '-id', far.bridge, '10.77.0.1'];
        const process = rack.serve(['dhcrelay', ...relay], far);
        await process.line((line) => line.includes('Listening on'), 30_000);
      });
    });
    afterAll(() => site?.stop());

    it('boots a UEFI machine in a network where the appliance has no interface', async () => {
      const spec = machine('uefi-pxe', 1);
      const { report, log, console } = await bootAndWait(site, spec, far);
      expect(report).toEqual({ mac: spec.mac, platform: 'efi', architecture: 'x86_64' });
      expect(console).toMatch(/eth0 has 10\.78\.0\.1\d\d from 10\.77\.0\.1/);
      expect(filesByTftp(log)).toEqual(['snponly.efi']);
    });
  });

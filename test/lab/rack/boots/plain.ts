// Machines and an appliance that is the network's only DHCP server.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operate } from '../../../../appliance/cli/operate.ts';
import { bootAndRead, bootAndWait } from '../boot-and-wait.ts';
import { declared, machine } from '../machines.ts';
import { biosDisk, uefiDisk } from '../marked-disks.ts';
import { type LogLine, RackSite } from '../rack-site.ts';
import { filesByHttp, filesByTftp } from '../served-files.ts';

const biosNode = machine('bios-ipxe-rom', 11);
const uefiNode = machine('uefi-pxe', 12);
const distrusted = machine('bios-ipxe-rom', 13);

export const plainBoots = () =>
  describe('an appliance alone on its network', () => {
    let site: RackSite;
    beforeAll(async () => {
      site = await RackSite.start({
        nodes: [
          declared('bios-node', biosNode),
          declared('uefi-node', uefiNode),
          declared('distrusted-node', distrusted),
        ],
      });
    });
    afterAll(() => site?.stop());

    it("boots a BIOS machine with iPXE in the card's ROM, without another loader", async () => {
      const spec = machine('bios-ipxe-rom', 1);
      const { report, log } = await bootAndWait(site, spec);
      expect(report).toEqual({ mac: spec.mac, platform: 'pcbios', architecture: 'x86_64' });
      expect(filesByTftp(log)).toEqual([]);

      // Without a router advertisement, iPXE waits 16 seconds before its request. A slow machine is slow in the rest, too.
      const acknowledged = timeOf(log, ({ msg, mac }) => msg.startsWith('dhcp ack') && mac === spec.mac);
      const requested = timeOf(log, ({ path }) => path === '/boot/ipxe/boot.ipxe');
      const rest = timeOf(log, ({ path }) => path === '/boot/report') - requested;
      expect(requested - acknowledged).toBeLessThan(Math.max(10_000, rest));
    });

    it('boots a BIOS machine with another ROM on its card, through undionly.kpxe', async () => {
      const spec = machine('bios-first-stage', 2);
      const { report, log } = await bootAndWait(site, spec);
      expect(report).toEqual({ mac: spec.mac, platform: 'pcbios', architecture: 'x86_64' });
      expect(filesByTftp(log)).toEqual(['undionly.kpxe']);
    });

    it("boots a UEFI machine with its firmware's PXE, through snponly.efi", async () => {
      const spec = machine('uefi-pxe', 3);
      const { report, log } = await bootAndWait(site, spec);
      expect(report).toEqual({ mac: spec.mac, platform: 'efi', architecture: 'x86_64' });
      expect(filesByTftp(log)).toEqual(['snponly.efi']);
    });

    it("boots a UEFI machine with iPXE in the card's ROM, without another loader", async () => {
      const spec = machine('uefi-ipxe-rom', 5);
      const { report, log } = await bootAndWait(site, spec);
      expect(report).toEqual({ mac: spec.mac, platform: 'efi', architecture: 'x86_64' });
      expect(filesByTftp(log)).toEqual([]);
    });

    it('boots a UEFI machine by HTTP Boot, without TFTP', async () => {
      const spec = machine('uefi-http', 4);
      const { report, log } = await bootAndWait(site, spec);
      expect(report).toEqual({ mac: spec.mac, platform: 'efi', architecture: 'x86_64' });
      expect(filesByTftp(log)).toEqual([]);
      expect(filesByHttp(log)).toContain('/boot/loader/snponly.efi');
    });

    it('sends a declared BIOS machine without an armed intent to its own disk', async () => {
      const text = 'this is the disk of the BIOS machine';
      const disk = biosDisk(site.file('bios-disk.img'), text);
      const screen = await bootAndRead(site, { ...biosNode, disk }, new RegExp(text));
      expect(unwrapped(screen)).toContain(`bios-node (${biosNode.mac}) boots from its own disk`);
    });

    it('sends a declared UEFI machine without an armed intent to the next boot entry of its firmware', async () => {
      const text = 'this is the disk of the UEFI machine';
      const disk = uefiDisk(site.file('uefi-disk'), site.loader('grubx64.efi'), text);
      const screen = await bootAndRead(site, { ...uefiNode, disk }, new RegExp(text));
      expect(unwrapped(screen)).toContain(`uefi-node (${uefiNode.mac}) boots from its own disk`);
    });

    it('shows a quarantined machine on its screen its identity, the reason and the remedy', async () => {
      const api = await site.api();
      await operate(api, 'quarantineNode', {
        params: { node: 'distrusted-node' },
        body: { note: 'the lid stood open' },
      });
      const screen = unwrapped(await bootAndRead(site, distrusted, /The next boot entry follows/));
      expect(screen).toContain(`Coldiron does not boot distrusted-node (${distrusted.mac}), state: quarantined`);
      expect(screen).toContain('Reason: distrusted-node is quarantined: the lid stood open');
      expect(screen).toContain('To do: Resolve the cause, then clear the quarantine of distrusted-node.');
      expect(screen).toContain('Code: quarantined');
    });
  });

/** The time of the first matching log line. */
function timeOf(log: readonly LogLine[], matches: (line: LogLine) => boolean): number {
  const line = log.find(matches) as (LogLine & { readonly time: string }) | undefined;
  if (!line) throw new Error('the appliance has not logged it');
  return Date.parse(line.time);
}

/** A screen has 80 columns; longer lines wrap. */
const unwrapped = (screen: string): string => screen.replace(/([^\n]{80})\n+/g, '$1');

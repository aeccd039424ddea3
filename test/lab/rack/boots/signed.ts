// A network with Secure Boot: shim and GRUB instead of iPXE, everything by TFTP.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operate } from '../../../../appliance/cli/operate.ts';
import { bootAndWait } from '../boot-and-wait.ts';
import { machine } from '../machines.ts';
import { type LogLine, RackSite } from '../rack-site.ts';
import { filesByHttp, filesByTftp } from '../served-files.ts';

export const signedBoots = () =>
  describe('an appliance on a network with Secure Boot', () => {
    let site: RackSite;
    beforeAll(async () => {
      site = await RackSite.start({ network: { secure_boot: true } });
    });
    afterAll(() => site?.stop());

    it('boots a machine that starts only signed programs, through shim and GRUB, into a locked-down kernel', async () => {
      const spec = machine('uefi-secureboot', 1);
      const { report, log, console } = await bootAndWait(site, spec);
      expect(report).toEqual({ mac: spec.mac, platform: 'efi', architecture: 'x86_64' });
      expect(filesByTftp(log).slice(0, 2)).toEqual(['shimx64.efi', 'grubx64.efi']);
      expectKernelByTftp(log, 'service-os-x86_64');
      expect(console).toContain('Kernel is locked down from EFI Secure Boot');
    });

    it('records its decision in the trail, and verifies that it serves every file that such machines fetch', async () => {
      const api = await site.api();
      const { events } = await operate(api, 'listEvents', { query: { limit: '1000' } });
      const eventWith = (kind: string, data: object) =>
        expect.objectContaining({ kind, data: expect.objectContaining(data) });
      expect(events).toContainEqual(
        eventWith('boot.decided', { outcome: 'service-os', because: 'unaccepted-inspected' }),
      );
      expect(events).toContainEqual(eventWith('tftp.begun', { file: 'boot/service-os-x86_64/initrd' }));
      expect(await operate(api, 'checkBootContract', {})).toMatchObject({ problems: [] });
    });

    it('boots an arm64 machine with the kernel of its architecture', async () => {
      const spec = machine('arm64-uefi', 2);
      const { report, log } = await bootAndWait(site, spec);
      expect(report).toEqual({ mac: spec.mac, platform: 'efi', architecture: 'aarch64' });
      expect(filesByTftp(log).slice(0, 2)).toEqual(['shimaa64.efi', 'grubaa64.efi']);
      expectKernelByTftp(log, 'service-os-arm64');
    });
  });

/** The signed GRUB has no HTTP: a loader that fetched it by HTTP was another one. */
function expectKernelByTftp(log: readonly LogLine[], image: string): void {
  const files = [`boot/${image}/kernel`, `boot/${image}/initrd`];
  expect(filesByTftp(log)).toEqual(expect.arrayContaining(files));
  for (const file of files) expect(filesByHttp(log)).not.toContain(`/${file}`);
}

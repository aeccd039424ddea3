// The built service OS in a virtual machine without a TPM. The appliance has its BMC, a Redfish service of the tests, insert a medium; the BMC
// fetches it over HTTP, and the machine finds it in a CD drive on USB. What the machine is told to start is taken from its boot script.

import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MediumSite, withBmc } from '../../attacks/medium-site.ts';
import { needPackages } from '../../interop/packages.ts';
import { serviceOs } from './service-os-machine.ts';

const MINUTES = 60_000;
const MEBIBYTE = 1024 * 1024;
const NODE = withBmc(1);

class BootedSite extends MediumSite {
  readonly image = join(this.lab.state, 'assets/images/service-os-x86_64');

  protected override async placeServiceOs(): Promise<void> {
    mkdirSync(this.image, { recursive: true });
    await serviceOs(this.image);
  }

  /** Starts it with these words for the kernel, as iPXE does. Its packets leave with the address and the card of the host `real`. */
  boot(words: readonly string[], disc: string) {
    const disk = join(this.lab.folder, 'disk');
    writeFileSync(disk, '');
    truncateSync(disk, 64 * MEBIBYTE);
    return this.lab.namespaces.start(
      'real',
      'qemu-system-x86_64',
      ...[
        '-M',
        'pc,graphics=off',
        '-vga',
        'none',
        '-nodefaults',
        '-no-user-config',
        '-display',
        'none',
        '-serial',
        'stdio',
      ],
      ...['-no-reboot', '-accel', 'tcg,thread=multi', '-cpu', 'qemu64', '-smp', '1', '-m', '512', '-uuid', NODE.uuid],
      ...['-smbios', `type=1,manufacturer=Coldiron,product=Virtual,serial=${NODE.serial}`],
      ...['-netdev', 'user,id=n0', '-device', `virtio-net-pci,netdev=n0,mac=${NODE.mac},romfile=`],
      ...['-object', 'rng-random,id=rng0,filename=/dev/urandom', '-device', 'virtio-rng-pci,rng=rng0'],
      ...['-drive', `if=none,id=d0,format=raw,file=${disk},cache=unsafe`, '-device', 'virtio-blk-pci,drive=d0'],
      ...['-device', 'qemu-xhci', '-drive', `if=none,id=cd,media=cdrom,readonly=on,format=raw,file=${disc}`],
      ...['-device', 'usb-storage,drive=cd,removable=on'],
      ...['-kernel', join(this.image, 'kernel'), '-initrd', join(this.image, 'initrd')],
      ...['-append', ['console=ttyS0', 'quiet', ...words, `BOOTIF=01-${NODE.mac.replaceAll(':', '-')}`].join(' ')],
    );
  }
}

const site = new BootedSite(new Map());
beforeAll(async () => {
  needPackages(['curl', 'genisoimage', 'iproute2', 'qemu-system-x86']);
  await site.startWithBmcs([NODE]);
}, 20 * MINUTES);
afterAll(() => site.remove());

describe('the service OS in a machine whose BMC inserts a medium', () => {
  it(
    'opens its session with the secret of the medium, and the node is bound to its BMC',
    async () => {
      await site.api.call('POST', `/api/v1/nodes/${NODE.node}/commission`, { body: {} });
      const secret = await site.secret(NODE);
      const machine = await site.machine('real', NODE);
      const words = (await machine.script()).match(/coldiron\.\w+=\S+/g) ?? [];
      expect(words.join(' ')).toMatch(/coldiron\.session=https:/);
      const booted = site.boot(words, site.disc(NODE) ?? '');
      const printed = () => booted.output.slice(-6000);
      await expect
        .poll(async () => (await site.node(NODE.node)).state, { timeout: 6 * MINUTES, interval: 500 })
        .not.toBe('commissioning');
      expect(await site.node(NODE.node), printed()).toMatchObject({ state: 'ready', identity: { level: 'media' } });
      expect(booted.output).toContain('medium: the secret of a session was found on sr0');
      expect(booted.output).toContain('identity: the medium that the BMC inserted opened the session');
      expect(booted.output).not.toContain(secret);
      expect(await site.events(NODE.node, 'session.opened')).toMatchObject([{ data: { identity: 'media' } }]);
      expect(await site.events(NODE.node, 'medium.ejected')).toHaveLength(1);
      await site.ejected(NODE);
    },
    10 * MINUTES,
  );
});

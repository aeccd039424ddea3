import { describe, expect, it } from 'vitest';
import { FIRMWARE_KINDS, newVariablesOf, qemuCommand } from '../../../appliance/lab/rack/firmware.ts';
import { machine } from './machines.ts';

const place = { tap: 'tap0', variables: '/rack/variables.fd' };

describe('qemuCommand', () => {
  it.each(FIRMWARE_KINDS)('gives %s its network card, its UUID and a serial line, and never uses KVM', (kind) => {
    const command = qemuCommand(machine(kind, 7), place).join(' ');
    expect(command).toContain('-netdev tap,id=n0,ifname=tap0,script=no,downscript=no');
    expect(command).toContain('mac=52:54:00:77:00:07');
    expect(command).toContain('-uuid 7a11ab1e-0000-4000-8000-525400770007');
    expect(command).toContain('-serial stdio');
    expect(command).toContain('-accel tcg,thread=multi');
    expect(command).not.toContain('kvm');
  });

  it.each(FIRMWARE_KINDS)('lets %s write only to its own copy of the variables', (kind) => {
    const writable = qemuCommand(machine(kind, 7), place).filter(
      (word) => word.includes('file=') && !word.includes('readonly=on'),
    );
    const expected = 'if=pflash,unit=1,format=raw,file=/rack/variables.fd';
    expect(writable.filter((word) => word.startsWith('if='))).toEqual(newVariablesOf(kind) === null ? [] : [expected]);
  });

  it('removes iPXE from the card where the firmware does PXE itself', () => {
    expect(qemuCommand(machine('uefi-pxe', 1), place).join(' ')).toContain('romfile=,bootindex=1');
    expect(qemuCommand(machine('uefi-ipxe-rom', 1), place).join(' ')).not.toContain('romfile=');
  });

  it('puts the disk after the network in the boot order', () => {
    const disk = { kind: 'image', file: '/rack/disk.img' } as const;
    const command = qemuCommand({ ...machine('bios-ipxe-rom', 1), disk }, place).join(' ');
    expect(command).toContain('file=/rack/disk.img');
    expect(command).toContain('virtio-blk-pci,drive=d0,bootindex=2');
  });

  it.each([
    ['a MAC address', { mac: '52:54:00:77:00:01,romfile=/etc/passwd' }, 'not a MAC address'],
    ['a UUID', { uuid: 'none' }, 'not a UUID'],
    ['a disk', { disk: { kind: 'image', file: '/tmp/a,readonly=off' } as const }, 'a path with a comma'],
  ])('rejects a value that is not %s instead of passing it on as QEMU options', (_what, wrong, words) => {
    expect(() => qemuCommand({ ...machine('uefi-pxe', 1), ...wrong }, place)).toThrow(words);
  });
});

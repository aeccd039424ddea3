// The QEMU arguments of a machine with a BMC, beyond those of every virtual machine.

import { describe, expect, it } from 'vitest';
import { qemuCommand } from '../../../appliance/lab/rack/firmware.ts';
import { machine } from './machines.ts';

const place = { tap: 'tap0', variables: '/rack/variables.fd' };
const disk = { kind: 'image', file: '/rack/disk.img' } as const;

describe('qemuCommand for a machine with a BMC', () => {
  it.each([
    ['network', 'bootindex=1'],
    ['disk', 'bootindex=3'],
  ] as const)('puts the card where it belongs when the %s is first', (first, index) => {
    const words = qemuCommand({ ...machine('uefi-pxe', 1), disk, first }, place).join(' ');
    expect(words).toMatch(new RegExp(`id=card0,[^ ]*${index}( |$)`));
    expect(words).toContain('drive=d0,bootindex=2');
  });

  it('has further cards, each on its own port, that are not boot devices', () => {
    const spec = { ...machine('bios-ipxe-rom', 1), moreCards: ['52:54:00:77:01:01'] };
    const words = qemuCommand(spec, { ...place, moreTaps: ['tap1'] }).join(' ');
    expect(words).toContain('-netdev tap,id=n1,ifname=tap1,script=no,downscript=no');
    expect(words).toMatch(/netdev=n1,id=card1,mac=52:54:00:77:01:01,romfile=( |$)/);
    expect(() => qemuCommand(machine('bios-ipxe-rom', 1), { ...place, moreTaps: ['tap1'] })).toThrow('tap1 has no MAC');
  });

  it('has a control socket, and connects its operating system to its BMC', () => {
    const words = qemuCommand(machine('uefi-pxe', 1), { ...place, control: '/rack/qemu-1', inBandBmcPort: 9001 }).join(
      ' ',
    );
    expect(words).toContain('socket,id=control0,path=/rack/qemu-1 -mon chardev=control0,mode=control');
    expect(words).toContain('socket,id=bmc0,host=127.0.0.1,port=9001,reconnect=1');
    expect(words).toContain('isa-ipmi-kcs,bmc=bmc1');
  });

  it('can have a read-only disk, or one smaller than its image', () => {
    const spec = { ...machine('uefi-pxe', 1), disk: { ...disk, readOnly: true, shownBytes: 1_048_576 } };
    expect(qemuCommand(spec, place).join(' ')).toContain('file=/rack/disk.img,readonly=on,size=1048576');
  });

  it.each([
    ['bios-ipxe-rom', 'tpm-tis'],
    ['uefi-pxe', 'tpm-tis'],
    ['arm64-uefi', 'tpm-tis-device'],
  ] as const)('connects the TPM of %s as %s, and has none otherwise', (firmware, device) => {
    const emulated = { ...place, tpm: { kind: 'emulator', socket: '/rack/tpm-1' } } as const;
    expect(qemuCommand(machine(firmware, 1), emulated).join(' ')).toContain(
      `-chardev socket,id=tpm1,path=/rack/tpm-1 -tpmdev emulator,id=tpm0,chardev=tpm1 -device ${device},tpmdev=tpm0`,
    );
    const garbage = { ...place, tpm: { kind: 'inherited', fd: 3 } } as const;
    expect(qemuCommand(machine(firmware, 1), garbage).join(' ')).toContain(
      `-add-fd fd=3,set=1 -tpmdev passthrough,id=tpm0,path=/dev/fdset/1,cancel-path=/dev/null -device ${device},tpmdev=tpm0`,
    );
    expect(qemuCommand(machine(firmware, 1), place).join(' ')).not.toContain('tpm');
  });

  it.each([
    ['a serial number', { serial: 'X,uuid=1' }, 'not a serial number'],
    ['a MAC address', { moreCards: ['52:54:00:77:01:01,romfile=/etc/passwd'] }, 'not a MAC address'],
  ])('rejects a value that is not %s', (_what, wrong, words) => {
    expect(() => qemuCommand({ ...machine('uefi-pxe', 1), ...wrong }, place)).toThrow(words);
  });
});

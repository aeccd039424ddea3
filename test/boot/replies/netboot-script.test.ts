import { describe, expect, it } from 'vitest';
import { readNetbootParameters } from '../../../appliance/boot/replies/netboot-script.ts';

const script = (kernel: string): string => `#!ipxe\n${kernel}\ninitrd initrd\nboot\n`;
const INIT = 'init=/nix/store/abc-nixos-system-worker/init';

describe('the netboot.ipxe of a NixOS image', () => {
  it('has the path of its init and the parameters of its kernel', () => {
    const cmdline = '$'.concat('{cmdline}');
    const text = script(`kernel bzImage ${INIT} initrd=initrd nohibernate loglevel=4 lsm=landlock,yama,bpf ${cmdline}`);
    const parameters = [INIT, 'nohibernate', 'loglevel=4', 'lsm=landlock,yama,bpf'];
    expect(readNetbootParameters(text)).toEqual({ ok: true, value: parameters });
  });

  it.each([
    ['no script', 'kernel bzImage init=/x', 'not an iPXE script'],
    ['no kernel', '#!ipxe\nboot\n', '0 kernel lines'],
    ['two kernels', script(`kernel a ${INIT}\nkernel b ${INIT}`), '2 kernel lines'],
    ['no init', script('kernel bzImage quiet'), 'no init='],
    [
      'a setting that only its own script sets',
      script(`kernel bzImage ${INIT} x=$`.concat('{y}')),
      'cannot be passed on',
    ],
    ['another command on the line', script(`kernel bzImage ${INIT} || shell`), 'cannot be passed on'],
  ])('is rejected with %s', (_what, text, reason) => {
    expect(readNetbootParameters(text)).toEqual({ ok: false, reason: expect.stringContaining(reason) });
  });
});

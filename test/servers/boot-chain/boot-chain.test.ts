import { statSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parsePrefix } from '../../../appliance/domain/ipv4.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { fetchable } from '../../../appliance/servers/http-boot/fetchable.ts';
import { intentWith, machineIn, name, networkWith, profileWith } from '../../boot/boot-fixtures.ts';
import { ARM_KERNEL, BootChainRig, LARGE, X86_KERNEL } from './boot-chain-rig.ts';

const IMAGES = [
  'service-os-x86_64/kernel',
  'service-os-x86_64/initrd',
  'service-os-arm64/kernel',
  'service-os-arm64/initrd',
  'nixos/worker/bzImage',
  'nixos/worker/initrd',
];
const LOADERS = [
  ...['undionly.kpxe', 'ipxe.efi', 'snponly.efi', 'shimx64.efi', 'grubx64.efi', 'shimaa64.efi', 'grubaa64.efi'],
];

describe('the boot chain', () => {
  it('has no problems when the real servers serve everything advertised', async () => {
    const rig = await BootChainRig.start();
    const { problems, missing } = await rig.chain.check();
    expect(problems).toEqual([]);
    expect(missing.every(({ what }) => what === 'loader')).toBe(true);
    expect(new Set(rig.requests)).toEqual(
      new Set([
        ...['GET /boot/ipxe/boot.ipxe', 'GET /boot/ipxe/menu.ipxe', 'RRQ autoexec.ipxe', 'RRQ grub/grub.cfg'],
        ...LOADERS.flatMap((file) => [`GET /boot/loader/${file}`, `RRQ ${file}`]),
        ...IMAGES.flatMap((file) => [`GET /boot/${file}`, `RRQ boot/${file}`]),
      ]),
    );
  });

  it('is checked without a trail entry for any machine, and without consuming an intent', async () => {
    const armed = machineIn('deploying', {
      intent: intentWith({ uuid: null }),
      spec: { uuid: null, secureBoot: true },
    });
    const rig = await BootChainRig.start({ machines: [armed] });
    expect((await rig.chain.check()).problems).toEqual([]);
    const own = rig.httpAt ? `http://127.0.0.1:${rig.httpAt.port}/boot/ipxe/52-54-00-12-34-56.ipxe` : '';
    expect(await fetchable(own, rig.chain.headersFor(own))).toMatchObject({ ok: true });
    expect([rig.notes, rig.consumed]).toEqual([[], []]);
  });

  it('is checked where unknown machines get no reply', async () => {
    const rig = await BootChainRig.start({ network: { unknown: 'ignore' } });
    expect((await rig.chain.check()).problems).toEqual([]);
  });

  it('fetches no images over TFTP without a GRUB that would request them', async () => {
    const rig = await BootChainRig.start({ without: /shim|grub/ });
    expect((await rig.chain.check()).problems).toEqual([]);
    expect(rig.requests.filter((line) => line.startsWith('RRQ boot/'))).toEqual([]);
  });

  it('costs little, however large the images are', async () => {
    const rig = await BootChainRig.start();
    await rig.shelve('images/service-os-x86_64/initrd', Buffer.from('070701'), LARGE);
    expect((await rig.chain.check()).problems).toEqual([]);
    // A large file is not read into memory to check its beginning.
    expect(rig.http.usage.heldBytes).toBeLessThan(1024 * 1024);
  });

  it('reports a kernel of the wrong architecture, and machines that get none', async () => {
    const rig = await BootChainRig.start({ without: /service-os-x86_64\/kernel/ });
    await rig.shelve('images/service-os-arm64/kernel', X86_KERNEL);
    const { problems, missing } = await rig.chain.check();
    expect(problems).toEqual([
      'images/service-os-arm64/kernel is advertised to arm64 as kernel of the service OS and is a Linux kernel for x86_64',
    ]);
    expect(missing).toContainEqual({
      file: 'images/service-os-x86_64/kernel',
      what: 'service OS',
      architectures: ['x86_64'],
    });
  });

  it.each([
    [
      /^boot\/service-os-arm64\/kernel$/,
      'images/service-os-arm64/kernel over TFTP from 127.0.0.1: error 2: refusedNames',
    ],
    [/^grub\/grub.cfg$/, 'grub/grub.cfg over TFTP from 127.0.0.1: error 2: refusedNames'],
    [/^autoexec.ipxe$/, 'autoexec.ipxe over TFTP from 127.0.0.1: error 2: refusedNames'],
  ])('reports files that the TFTP server does not serve: %s', async (refusedNames, problem) => {
    const rig = await BootChainRig.start();
    rig.refusedNames = refusedNames;
    expect((await rig.chain.check()).problems).toEqual([problem]);
  });

  it('reports a file that differs from the library record, over both protocols', async () => {
    const rig = await BootChainRig.start();
    const file = rig.library.find('images/service-os-x86_64/kernel')?.file ?? '';
    const { atime, mtime } = statSync(file);
    writeFileSync(file, ARM_KERNEL.subarray(0, 5000));
    utimesSync(file, atime, mtime);
    expect((await rig.chain.check()).problems).toEqual([
      'images/service-os-x86_64/kernel over HTTP: the server answers 503',
      expect.stringContaining('images/service-os-x86_64/kernel over TFTP from 127.0.0.1: '),
    ]);
  });

  it('reports a server that does not answer once, not once for each file', async () => {
    const rig = await BootChainRig.start();
    rig.tftpAt.push({ address: '127.0.0.9', port: 9 });
    expect((await rig.chain.check()).problems).toEqual([
      expect.stringMatching(/^grub\/grub\.cfg over TFTP from 127\.0\.0\.9: no reply/),
    ]);
  });

  it('is checked at the addresses that networks name, where the servers listen on all', async () => {
    const rig = await BootChainRig.start();
    const port = rig.httpAt?.port ?? 0;
    rig.httpAt = { address: '0.0.0.0', port };
    rig.tftpAt[0] = { address: '0.0.0.0', port: rig.tftpAt[0]?.port ?? 0 };
    const { problems } = await rig.chain.check();
    expect(problems).toEqual([]);
    expect(rig.requests).toContain('RRQ boot/service-os-x86_64/kernel');
    // At other addresses, and outside of a check, an address of this machine may be any client's.
    expect(rig.chain.isSelf('127.0.0.1')).toBe(false);
  });

  it('reports a boot server that listens on an address that no network advertises', async () => {
    const rig = await BootChainRig.start({}, '127.0.0.2');
    expect((await rig.chain.check()).problems).toEqual([
      expect.stringMatching(/^\/boot\/ipxe\/boot\.ipxe over HTTP from 127\.0\.0\.1: .*ECONNREFUSED/),
    ]);
    rig.declare({ networks: [networkWith({ prefix: mustParse(parsePrefix('127.0.0.0/8')), dhcp: 'off' })] });
    expect((await rig.chain.check()).problems.filter((problem) => problem.includes('ECONNREFUSED'))).toEqual([]);
  });
});

describe('the boot chain over time', () => {
  it('is checked once, and again only when something has changed', async () => {
    const rig = await BootChainRig.start();
    await rig.chain.followUp();
    const first = rig.requests.length;
    await rig.chain.followUp();
    expect(rig.requests).toHaveLength(first);
    await rig.shelve('images/service-os-x86_64/kernel', Buffer.concat([X86_KERNEL, X86_KERNEL]));
    await rig.chain.followUp();
    expect(rig.requests).toHaveLength(2 * first);
    expect(rig.problemsLogged).toEqual([]);
  });

  it('is checked at a listener that a new network opened, and problems there are reported', async () => {
    const rig = await BootChainRig.start();
    await rig.chain.followUp();
    rig.refusedNames = /^boot\//;
    await rig.openTftp('127.0.0.2');
    await rig.chain.followUp();
    const problems = IMAGES.map((file) => expect.stringContaining(`${file} over TFTP from 127.0.0.2: error 2`));
    expect(rig.problemsLogged).toEqual([{ problems: expect.arrayContaining(problems) }]);

    rig.refusedNames = /^$/;
    rig.tftpAt.pop();
    await rig.chain.followUp();
    expect(rig.logged.at(-1)).toMatchObject({ level: 'info', line: expect.stringContaining('again') });
  });

  it('is checked when a profile is activated whose installer is for other machines', async () => {
    const rig = await BootChainRig.start();
    await rig.chain.followUp();
    await rig.shelve('nixos/arm/bzImage', X86_KERNEL);
    await rig.chain.followUp();
    expect(rig.problemsLogged).toEqual([]);
    rig.declare({ profiles: [profileWith(), profileWith({ name: name('arm'), architectures: ['arm64'] })] });
    await rig.chain.followUp();
    expect(rig.problemsLogged).toEqual([
      { problems: [expect.stringContaining('nixos/arm/bzImage is advertised to arm64')] },
    ]);
  });

  it('is checked once for all callers that arrive while a check runs', async () => {
    const rig = await BootChainRig.start();
    await rig.chain.check();
    const once = rig.requests.length;
    const first = rig.chain.check();
    await expect.poll(() => rig.requests.length).toBeGreaterThan(once);
    await Promise.all([first, ...Array.from({ length: 50 }, () => rig.chain.check())]);
    expect(rig.requests).toHaveLength(3 * once);
  });

  it('is not checked after the appliance has stopped', async () => {
    const rig = await BootChainRig.start();
    await rig.chain.stop();
    await rig.chain.followUp();
    expect(rig.requests).toEqual([]);
  });
});

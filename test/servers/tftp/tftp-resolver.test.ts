import { describe, expect, it } from 'vitest';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { TftpAnswer, TftpResolver, TftpResolverDeps } from '../../../appliance/servers/tftp/tftp-resolver.ts';
import { intentWith, MAC, machineIn, UUID } from '../../boot/boot-fixtures.ts';
import { LOOPBACK, resolverWith } from './tftp-rig.ts';

function inWords({ reply }: TftpAnswer): string {
  if (reply.do === 'ignore') return 'nothing';
  if (reply.do === 'refuse') return `ERROR ${reply.code}`;
  return 'asset' in reply.content ? reply.content.asset.name : `text ${Buffer.from(reply.content.text)}`;
}
const ask = async (resolver: TftpResolver, name: string) => inWords(await resolver.answer(name, LOOPBACK));

/** No UUID: a read request does not contain one. */
const plain = { uuid: null } as const;
const secure = { ...plain, secureBoot: true } as const;
const quarantined = machineIn('quarantined', { spec: plain });
const deploying = (spec: Partial<Machine['spec']>) =>
  machineIn('deploying', { spec, intent: intentWith({ uuid: null }) });

describe('a read request', () => {
  const CASES: readonly [who: string, machine: Machine | null, name: string, answer: string][] = [
    ['a ready machine', machineIn('ready', { spec: plain }), 'snponly.efi', 'snponly.efi'],
    ['firmware with a leading slash', machineIn('ready', { spec: plain }), '/snponly.efi', 'snponly.efi'],
    ['firmware with back slashes', machineIn('ready', { spec: plain }), '\\\\undionly.kpxe', 'undionly.kpxe'],
    ['a quarantined machine, which is to see why', quarantined, 'ipxe.efi', 'ipxe.efi'],
    ['a quarantined machine', quarantined, 'grub/grub.cfg', 'text exit\n'],
    ['an unknown machine on a network that refuses', null, 'snponly.efi', 'snponly.efi'],
    ['a client that guesses', machineIn('ready', { spec: plain }), 'etc/passwd', 'ERROR 1'],
    ['a client that tries path traversal', machineIn('ready', { spec: plain }), '../../etc/passwd', 'ERROR 2'],
    ['a client that knows the folders', machineIn('ready', { spec: plain }), 'loader/snponly.efi', 'ERROR 1'],
    ['a client that names an image directly', deploying(secure), 'nixos/worker/bzImage', 'ERROR 1'],
    ['the GRUB of an armed machine', deploying(secure), 'boot/nixos/worker/bzImage', 'nixos/worker/bzImage'],
    ['the GRUB of an armed machine, for another profile', deploying(secure), 'boot/nixos/other/bzImage', 'ERROR 2'],
    ['an armed machine that has iPXE and HTTP', deploying(plain), 'boot/nixos/worker/bzImage', 'ERROR 2'],
    [
      'the GRUB of a machine in commissioning',
      machineIn('commissioning', { spec: secure }),
      'boot/service-os/linux',
      'images/service-os/linux',
    ],
    ['the GRUB of a ready machine', machineIn('ready', { spec: secure }), 'boot/service-os/linux', 'ERROR 2'],
    [
      'the GRUB of a quarantined machine',
      machineIn('quarantined', { spec: secure }),
      'boot/service-os/linux',
      'ERROR 2',
    ],
    ['an armed GRUB with a name of no file', deploying(secure), 'boot/nixos/worker/nothing', 'ERROR 1'],
  ];

  it.each(CASES.map(([who, machine, name, answer]) => ({ who, machine, name, answer })))(
    'of $who for $name is answered $answer',
    async ({ machine, name, answer }) => {
      expect(await ask(await resolverWith({ machine }), name)).toBe(answer);
    },
  );

  it('of a machine that gets no reply is not even refused', async () => {
    const resolver = await resolverWith({ machine: null, network: { unknown: 'ignore' } });
    expect(await ask(resolver, 'snponly.efi')).toBe('nothing');
    expect(await ask(resolver, 'nothing')).toBe('nothing');
  });

  it('of a machine whose address does not identify it gets the common files, and no image', async () => {
    const resolver = await resolverWith({
      machine: null,
      network: { unknown: 'ignore' },
      resolver: { macOf: () => null },
    });
    expect(await ask(resolver, 'snponly.efi')).toBe('snponly.efi');
    expect(await ask(resolver, 'grub/grub.cfg')).toBe('text exit\n');
    expect(await ask(resolver, 'boot/service-os/linux')).toBe('ERROR 2');
  });

  it('logs the name that was probably meant', async () => {
    const { reply } = await (await resolverWith()).answer('snponly.ef', LOOPBACK);
    expect(reply).toMatchObject({ kind: 'tftp.not-found', why: 'no such file (did you mean snponly.efi?)' });
  });

  it('passes the machine and the decision to the text renderer', async () => {
    const seen: unknown[] = [];
    const scriptFor: TftpResolverDeps['scriptFor'] = async (name, facts, resolved) => {
      seen.push(name, facts.mac, facts.via, resolved.machine?.spec.hostname);
      return { text: 'text', decided: null };
    };
    await ask(await resolverWith({ resolver: { scriptFor } }), 'autoexec.ipxe');
    expect(seen).toEqual(['autoexec.ipxe', MAC, 'tftp', 'node01']);
  });
});

describe('the appliance that checks itself', () => {
  const isSelf = () => true;
  const requested: string[] = [];
  const scriptFor: TftpResolverDeps['scriptFor'] = async (name) => {
    requested.push(name);
    return name.startsWith('grub/') || name === 'autoexec.ipxe' ? { text: 'exit\n', decided: null } : null;
  };

  it.each([
    ['snponly.efi', 'snponly.efi'],
    ['boot/service-os/linux', 'images/service-os/linux'],
    ['boot/nixos/other/bzImage', 'nixos/other/bzImage'],
    ['grub/grub.cfg', 'text exit\n'],
    ['autoexec.ipxe', 'text exit\n'],
  ])('gets %s, although unknown machines get no reply there', async (name, answer) => {
    const resolver = await resolverWith({
      machine: null,
      network: { unknown: 'ignore' },
      resolver: { isSelf, scriptFor },
    });
    const actual = await resolver.answer(name, LOOPBACK);
    expect([inWords(actual), actual.own, actual.mac, actual.resolved]).toEqual([answer, true, null, null]);
  });

  it('gets no text of a machine that way, which might consume an intent', async () => {
    requested.length = 0;
    const resolver = await resolverWith({
      machine: null,
      network: { unknown: 'ignore' },
      resolver: { isSelf, scriptFor },
    });
    const actual = await resolver.answer(`grub/machine/${MAC}_${UUID}.cfg`, LOOPBACK);
    expect([inWords(actual), actual.own, requested]).toEqual(['nothing', undefined, []]);
  });
});

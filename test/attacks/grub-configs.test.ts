// Hosts on the provisioning network request GRUB configurations and images of other machines, under hostile names.

import { describe, expect, it } from 'vitest';
import { GRUB_CONFIGS } from '../../appliance/boot/replies/grub-config.ts';
import { bootRoute } from '../../appliance/servers/http-boot/boot-route.ts';
import { readBootTemplates } from '../../appliance/servers/http-boot/read-templates.ts';
import { eraseIntentWith, intentWith, MAC, machineIn, OTHER_MAC, OTHER_UUID, UUID } from '../boot/boot-fixtures.ts';
import { grubCommands } from '../boot/replies/grub-shell-model.ts';
import { applianceWith } from '../servers/tftp/grub-appliance.ts';

const CONFIG = `grub/machine/${MAC}_${UUID}.cfg`;
const INSTALLED = machineIn('deploying', { intent: intentWith() });
const ERASED = machineIn('releasing', { intent: eraseIntentWith() });

describe("a host that requests another machine's configuration", () => {
  it.each([
    ['an installation', INSTALLED],
    ['an erasure', ERASED],
    ['nothing', machineIn('ready')],
  ])(
    'of %s, from an address that is leased to another card, gets none and uses up no intent',
    async (_what, machine) => {
      const boot = await applianceWith(machine, { holder: OTHER_MAC });
      const { reply } = await boot.answer(CONFIG);
      expect(reply).toMatchObject({ do: 'refuse', code: 2, kind: 'tftp.refused' });
      expect(reply).toMatchObject({
        why: `it is the configuration of ${MAC}, and this address is leased to ${OTHER_MAC}`,
      });
      expect(boot.intentIsUsed()).toBe(false);
      expect(await boot.fetch('boot/nixos/worker/bzImage')).toBe('ERROR 2');
      // The machine itself is still served.
      boot.moveTo(MAC);
      expect(await boot.fetch(CONFIG)).toContain('node01');
    },
  );

  it('with another chassis than the known one gets a refusal, and uses up no intent', async () => {
    const machine = { ...INSTALLED, spec: { ...INSTALLED.spec, uuid: UUID } };
    const boot = await applianceWith(machine);
    expect(await boot.fetch(`grub/machine/${MAC}_${OTHER_UUID}.cfg`)).toContain('chassis-mismatch');
    expect(boot.intentIsUsed()).toBe(false);
  });

  it('again and again gets a ticket once', async () => {
    const boot = await applianceWith(INSTALLED);
    const texts = await Promise.all(Array.from({ length: 20 }, () => boot.fetch(CONFIG)));
    expect(texts.filter((text) => /^\s*if linux /m.test(text))).toHaveLength(1);
  });
});

describe('a hostile name', () => {
  const NAMES = [
    `grub/machine/../machine/${MAC}_${UUID}.cfg`,
    `grub/machine/${MAC}_${UUID}.cfg\0.efi`,
    `grub/machine/${MAC}_${UUID}.cfg%00`,
    `grub/machine/${MAC}_${UUID}'; reboot; '.cfg`,
    `grub/machine/${MAC}_${'a'.repeat(400)}.cfg`,
    `grub/machine/${'0:'.repeat(8)}0_.cfg`,
    'grub/machine/:::::::::::::::::_.cfg',
    'grub/machine/_.cfg',
    'grub/../../../../etc/shadow',
    'grub\\..\\..\\etc\\shadow',
    '../admin-token',
    '/state/vault-key',
    'boot/../../admin-token',
    'boot/nixos/../../admin-token',
    'grub/grub.cfg-01-52-54-00-00-00-01/../x',
    '\u202egfc.burg/burg',
    'grub/\u001b[31mgrub.cfg',
    '',
    '.',
    '/',
  ];

  it.each(NAMES.map((name) => [JSON.stringify(name).slice(0, 80), name] as const))(
    'such as %s over TFTP gets no file of a machine and uses up no intent',
    async (_shown, name) => {
      const boot = await applianceWith(INSTALLED);
      const { reply } = await boot.answer(name);
      if (reply.do === 'send') expect(await boot.fetch(name)).not.toMatch(/linux|ticket|session/);
      else expect(reply.do).toBe('refuse');
      expect(boot.intentIsUsed()).toBe(false);
    },
  );

  it.each([CONFIG, ...NAMES].map((name) => [JSON.stringify(name).slice(0, 80), name] as const))(
    'such as %s over HTTP names at most a file of the library',
    (_shown, name) => {
      const route = bootRoute(`/boot/${name}`);
      expect(['unknown', 'asset']).toContain(route.kind);
      if (route.kind === 'asset') expect(route.name).toMatch(/^(?:images|nixos)\/[A-Za-z0-9._+/-]+$/);
    },
  );
});

describe('a text in a configuration', () => {
  const HOSTILE = [
    "x'; insmod evil; echo '",
    '$(reboot)',
    '$net_default_mac',
    'x\nlinux (tftp,10.0.0.66)/evil\nboot',
    'x\r\nboot',
    '} ; halt ; {',
    '\u2028boot',
    '\\\nboot',
    '#x',
    '`boot`',
  ];

  it.each(HOSTILE.map((text) => [JSON.stringify(text), text] as const))(
    'such as %s adds no command',
    (_shown, text) => {
      const machine = machineIn('ready');
      const hostile = { ...machine, spec: { ...machine.spec, hostname: text as typeof machine.spec.hostname } };
      const because = { id: 'not-armed', words: text } as never;
      const subject = {
        machine: hostile,
        mac: MAC,
        server: { address: '10.0.0.1' as never, bootPort: 8080 },
        architecture: null,
      };
      for (const outcome of [
        { kind: 'local-disk' },
        { kind: 'refusal', whatToDo: text },
        { kind: 'hold', whatToDo: text },
      ] as const) {
        const decision = { outcome, because, image: null, findings: [], next: null } as never;
        const config = GRUB_CONFIGS.boot(readBootTemplates(), { ...subject, decision }) ?? '';
        for (const [command] of grubCommands(config)) expect(['echo', 'sleep', 'set', 'exit']).toContain(command);
        expect(config.split('\n').filter((line) => line.startsWith('linux'))).toEqual([]);
      }
    },
  );
});

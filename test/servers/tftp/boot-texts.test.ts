import { describe, expect, it } from 'vitest';
import { BootResolver } from '../../../appliance/boot/boot-resolver.ts';
import { factsFromTftp } from '../../../appliance/boot/client-facts.ts';
import { EVERYTHING_STARTS } from '../../../appliance/boot/startability.ts';
import { instantText } from '../../../appliance/domain/instant.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { unparsable } from '../../../appliance/domain/parsed.ts';
import { readBootTemplates } from '../../../appliance/servers/http-boot/read-templates.ts';
import { ScriptIssuer } from '../../../appliance/servers/http-boot/script-issuer.ts';
import { BootTexts } from '../../../appliance/servers/tftp/boot-texts.ts';
import { MAC, machineIn, NODE_ID, NOW, OTHER_UUID, UUID } from '../../boot/boot-fixtures.ts';
import { fleetOf, LOOPBACK } from './tftp-rig.ts';

function texts(machine: Machine | null) {
  const templates = readBootTemplates();
  const startability = { ...EVERYTHING_STARTS, image: () => unparsable('an image') };
  const resolver = new BootResolver(fleetOf(machine), () => NOW, { startability });
  const findings: string[] = [];
  const scripts = new ScriptIssuer({
    resolver,
    templates,
    consume: async () => true,
    onFinding: (_machine, { kind }) => void findings.push(kind),
    onUnknown: () => {},
    onScriptFetched: () => {},
    onStoreFailure: () => {},
  });
  const boot = new BootTexts({ resolver, scripts, templates, bootPort: 8080 });
  const ask = (name: string) => {
    const facts = factsFromTftp({ address: LOOPBACK, file: name, mac: null });
    return boot.textFor(name, facts, resolver.resolve(facts));
  };
  return { ask, textOf: async (name: string) => (await ask(name))?.text, findings };
}

describe('a text that a loader requests over TFTP', () => {
  it('is the entry script under the name that iPXE 2 requests by default', async () => {
    const { textOf } = texts(machineIn('ready'));
    expect(await textOf('autoexec.ipxe')).toMatch(/^#!ipxe\n/);
  });

  it("is GRUB's configuration, which redirects each machine to its own", async () => {
    const { textOf } = texts(machineIn('ready'));
    expect(await textOf('grub/grub.cfg')).toContain('grub/machine/');
    const own = await textOf(`grub/machine/${MAC}_${UUID}.cfg`);
    expect(own).toContain('node01');
    expect(own).not.toContain('linux ');
  });

  it('is a refusal for another chassis, and the finding is reported', async () => {
    const known = machineIn('ready');
    const { textOf, findings } = texts({ ...known, spec: { ...known.spec, uuid: UUID } });
    expect(await textOf(`grub/machine/${MAC}_${OTHER_UUID}.cfg`)).toContain('chassis-mismatch');
    expect(findings).toEqual(['chassis-mismatch']);
  });

  it('names a removed machine, and states that it was removed', async () => {
    const removed = machineIn('removed');
    const { ask } = texts(removed);
    const { text = '', decided } = (await ask(`grub/machine/${MAC}_${UUID}.cfg`)) ?? {};
    const [who, why, , code] = text.split('\n');
    expect(who).toBe(`echo Coldiron does not boot 'node01 ${MAC}', state: 'removed'`);
    expect(why).toContain(`node01 was removed at ${instantText(removed.lifecycle.since)}, and its identity is revoked`);
    expect(code).toBe("echo Code: 'removed'");
    expect(decided?.resolved).toMatchObject({ machine: null, about: { id: NODE_ID } });
  });

  it.each(['grub/x86_64-efi/command.lst', 'revocations_sbat.efi', 'pxelinux.cfg/default'])(
    'is nothing under %s',
    async (name) => {
      expect(await texts(machineIn('ready')).ask(name)).toBeNull();
    },
  );
});

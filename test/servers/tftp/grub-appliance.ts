// An appliance that answers TFTP requests for one machine, without a socket; its intent is consumed as in the store.

import { BootResolver } from '../../../appliance/boot/boot-resolver.ts';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import type { Mac } from '../../../appliance/domain/mac.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { SiteNetwork } from '../../../appliance/domain/network.ts';
import { readBootTemplates } from '../../../appliance/servers/http-boot/read-templates.ts';
import { ScriptIssuer } from '../../../appliance/servers/http-boot/script-issuer.ts';
import { BootTexts } from '../../../appliance/servers/tftp/boot-texts.ts';
import { TftpResolver } from '../../../appliance/servers/tftp/tftp-resolver.ts';
import { MAC, NOW } from '../../boot/boot-fixtures.ts';
import { fleetOf, LOOPBACK, libraryWithFiles } from './tftp-rig.ts';

interface Situation {
  readonly network?: Partial<SiteNetwork>;
  /** null: the address identifies no machine, as behind a router with another DHCP server. */
  readonly holder?: Mac | null;
  readonly canWrite?: boolean;
}

export async function applianceWith(first: Machine, { network = {}, holder = MAC, canWrite = true }: Situation = {}) {
  let machine = first;
  let now = NOW;
  let heldBy = holder;
  const library = await libraryWithFiles();
  const templates = readBootTemplates();
  const current = (): BootResolver => new BootResolver(fleetOf(machine, network), () => now);
  const resolver: Pick<BootResolver, 'resolve' | 'resolveWithout'> = {
    resolve: (...question) => current().resolve(...question),
    resolveWithout: (...question) => current().resolveWithout(...question),
  };
  const scripts = new ScriptIssuer({
    resolver,
    templates,
    consume: async () => {
      if (!canWrite) throw new Error('the disk is full');
      if (machine.intent === null || machine.intent.consumedAt !== null) return false;
      machine = { ...machine, intent: { ...machine.intent, consumedAt: now } };
      return true;
    },
    onFinding: () => {},
    onUnknown: () => {},
    onScriptFetched: () => {},
    onStoreFailure: () => {},
  });
  const texts = new BootTexts({ resolver, scripts, templates, bootPort: 8080 });
  const tftp = new TftpResolver({ resolver, library, macOf: () => heldBy, now: () => now, scriptFor: texts.textFor });
  const answer = (name: string, address: Ipv4 = LOOPBACK) => tftp.answer(name, address);
  return {
    answer,
    fetch: async (name: string, address?: Ipv4): Promise<string> => {
      const { reply } = await answer(name, address);
      if (reply.do === 'ignore') return 'nothing';
      if (reply.do === 'refuse') return `ERROR ${reply.code}`;
      return 'asset' in reply.content ? reply.content.asset.name : Buffer.from(reply.content.text).toString();
    },
    become: (next: Machine): void => {
      machine = next;
    },
    pass: (ms: number): void => {
      now += ms;
    },
    moveTo: (mac: Mac): void => {
      heldBy = mac;
    },
    intentIsUsed: () => machine.intent?.consumedAt != null,
  };
}

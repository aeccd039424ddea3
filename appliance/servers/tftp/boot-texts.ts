// The text files that a boot loader requests by name over TFTP: GRUB's configuration under Secure Boot, and iPXE's autoexec.

import type { BootResolver, ResolvedBoot } from '../../boot/boot-resolver.ts';
import type { ClientFacts } from '../../boot/client-facts.ts';
import type { Outcome } from '../../boot/decide-boot.ts';
import { GRUB_CONFIGS, parseGrubConfigName, renderGrubEntry } from '../../boot/replies/grub-config.ts';
import { renderEntryScript } from '../../boot/replies/ipxe-script.ts';
import type { Templates } from '../../render/templates.ts';
import type { ScriptIssuer } from '../http-boot/script-issuer.ts';

export interface IssuedText {
  readonly text: string;
  /** The client and the decision it was rendered for; null: the same for every client, which then requests its own. */
  readonly decided: { readonly facts: ClientFacts; readonly resolved: ResolvedBoot } | null;
}

interface BootTextsDeps {
  readonly resolver: Pick<BootResolver, 'resolve'>;
  readonly scripts: Pick<ScriptIssuer, 'issue'>;
  readonly templates: Templates;
  readonly bootPort: number;
}

export class BootTexts {
  readonly #deps: BootTextsDeps;

  constructor(deps: BootTextsDeps) {
    this.#deps = deps;
  }

  /** null: no text file has this name. */
  readonly textFor = async (name: string, facts: ClientFacts, resolved: ResolvedBoot): Promise<IssuedText | null> => {
    const { resolver, scripts, templates, bootPort } = this.#deps;
    const address = resolved.network?.server;
    if (!address) return null;
    const server = { address, bootPort };
    // iPXE 2 requests it before its own DHCP. Behind another DHCP server it is the only way to reach iPXE.
    if (name === 'autoexec.ipxe') return { text: renderEntryScript(templates, server), decided: null };
    const config = parseGrubConfigName(name);
    if (config === null) return null;
    if (config.kind === 'entry') return { text: renderGrubEntry(templates, server), decided: null };
    const stated = { ...facts, mac: config.mac, uuid: config.uuid };
    const machine = { resolved: resolver.resolve(stated, resolved.network), facts: stated };
    const issued = await scripts.issue({ ...machine, server, language: GRUB_CONFIGS, forReal: true });
    if (issued.text === null) return null;
    const decision = issued.held !== null ? { ...issued.decision, outcome: HELD } : issued.decision;
    return { text: issued.text, decided: { facts: stated, resolved: { ...machine.resolved, decision } } };
  };
}

/** The decision waits until it can be persisted. */
const HELD: Outcome = { kind: 'hold', whatToDo: 'Nothing: the machine retries by itself.' };

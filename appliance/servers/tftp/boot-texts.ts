// The texts that a boot loader asks for by name over TFTP: GRUB's configuration under Secure Boot, and iPXE's autoexec.

import type { BootResolver, ResolvedBoot } from '../../boot/boot-resolver.ts';
import type { ClientFacts } from '../../boot/client-facts.ts';
import type { Outcome } from '../../boot/decide-boot.ts';
import { GRUB_CONFIGS, parseGrubConfigName, renderGrubEntry } from '../../boot/replies/grub-config.ts';
import { renderEntryScript } from '../../boot/replies/ipxe-script.ts';
import type { Templates } from '../../render/templates.ts';
import type { ScriptIssuer } from '../http-boot/script-issuer.ts';

export interface IssuedText {
  readonly text: string;
  /** For whom it was made, and what was decided for it; null: everybody gets the same, and asks for its own next. */
  readonly decided: { readonly facts: ClientFacts; readonly resolved: ResolvedBoot } | null;
}

interface BootTextsDeps {
  readonly resolver: Pick<BootResolver, 'resolve'>;
  readonly scripts: Pick<ScriptIssuer, 'issue'>;
  readonly templates: Templates;
  readonly bootPort: number;
}

export class BootTexts {
  readonly #parts: BootTextsDeps;

  constructor(parts: BootTextsDeps) {
    this.#parts = parts;
  }

  /** null: no text has this name. */
  readonly textFor = async (name: string, facts: ClientFacts, resolved: ResolvedBoot): Promise<IssuedText | null> => {
    const { resolver, scripts, templates, bootPort } = this.#parts;
    const address = resolved.network?.server;
    if (!address) return null;
    const server = { address, bootPort };
    // iPXE 2 asks for it before its own DHCP. Behind a foreign DHCP server it is the only way to reach it.
    if (name === 'autoexec.ipxe') return { text: renderEntryScript(templates, server), decided: null };
    const config = parseGrubConfigName(name);
    if (config === null) return null;
    if (config.kind === 'entry') return { text: renderGrubEntry(templates, server), decided: null };
    const told = { ...facts, mac: config.mac, uuid: config.uuid };
    const machine = { resolved: resolver.resolve(told, resolved.network), facts: told };
    const handed = await scripts.issue({ ...machine, server, language: GRUB_CONFIGS, forReal: true });
    if (handed.text === null) return null;
    const decision = handed.held ? { ...handed.decision, outcome: HELD } : handed.decision;
    return { text: handed.text, decided: { facts: told, resolved: { ...machine.resolved, decision } } };
  };
}

/** What was decided waits until it can be written down. */
const HELD: Outcome = { kind: 'hold', whatToDo: 'It asks again by itself.' };

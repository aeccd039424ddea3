// The texts that a boot loader asks for by name over TFTP: GRUB's configuration under Secure Boot, and iPXE's autoexec.

import type { ClientFacts } from '../../policy/client-facts.ts';
import { GRUB_CONFIGS, parseGrubConfigName, renderGrubEntry } from '../../render/grub-config.ts';
import { renderEntryScript } from '../../render/ipxe-script.ts';
import type { Templates } from '../../render/templates.ts';
import type { BootDesk, Judged } from '../boot-desk.ts';
import type { ScriptDesk } from '../http/script-desk.ts';

interface BootTextParts {
  readonly desk: Pick<BootDesk, 'judge'>;
  readonly scripts: Pick<ScriptDesk, 'handOut'>;
  readonly templates: Templates;
  readonly bootPort: number;
}

export class BootTexts {
  readonly #parts: BootTextParts;

  constructor(parts: BootTextParts) {
    this.#parts = parts;
  }

  /** null: no text has this name. */
  readonly textFor = async (name: string, facts: ClientFacts, judged: Judged): Promise<string | null> => {
    const { templates, bootPort } = this.#parts;
    const address = judged.network?.server;
    if (!address) return null;
    const server = { address, bootPort };
    // iPXE 2 asks for it before its own DHCP. Behind a foreign DHCP server it is the only way to reach it.
    if (name === 'autoexec.ipxe') return renderEntryScript(templates, server);
    const config = parseGrubConfigName(name);
    if (config === null) return null;
    if (config.kind === 'entry') return renderGrubEntry(templates, server);
    const told = { ...facts, mac: config.mac, uuid: config.uuid };
    const machine = { judged: this.#parts.desk.judge(told, judged.network), facts: told };
    return (await this.#parts.scripts.handOut({ ...machine, server, language: GRUB_CONFIGS, forReal: true })).text;
  };
}

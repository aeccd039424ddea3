// What a read request is answered: a loader, a text for this machine, an image that its boot needs, or an ERROR. By name
// and decision only; no path from the wire ever reaches the file system.

import type { Asset } from '../../assets/asset.ts';
import { sanitizeTftpName } from '../../codecs/tftp/name.ts';
import { TFTP_ERRORS } from '../../codecs/tftp/packet.ts';
import { type Instant, MINUTE } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';
import { assetOfBootPath } from '../../policy/boot-paths.ts';
import { type ClientFacts, factsFromTftp } from '../../policy/client-facts.ts';
import type { Outcome } from '../../policy/decide-boot.ts';
import { bootsThroughGrub, mayFetchImage, needsImages } from '../../policy/fetched-images.ts';
import { parseGrubConfigName } from '../../render/grub-config.ts';
import type { BootDesk, Judged } from '../boot-desk.ts';

export interface TftpDeskParts {
  readonly desk: Pick<BootDesk, 'judge'>;
  readonly library: { find(name: string): Asset | null; suggestionFor(name: string): string };
  /** Whose address this is now; null when no lease tells. */
  readonly macOf: (address: Ipv4) => Mac | null;
  /** The machine's own text under this name (grub/grub.cfg, autoexec.ipxe …); null: there is none. */
  readonly scriptFor: (name: string, facts: ClientFacts, judged: Judged) => Promise<string | null> | string | null;
  readonly now: () => Instant;
  /** Addresses of this appliance itself, which asks whether it serves what it advertises. */
  readonly isSelf?: (address: Ipv4) => boolean;
}

export type TftpContent = { readonly asset: Asset } | { readonly text: Uint8Array };

export interface TftpAnswer {
  readonly name: string;
  readonly mac: Mac | null;
  readonly judged: Judged | null;
  /** The appliance asks itself what it serves: no part of any story. */
  readonly own?: boolean;
  readonly reply:
    | { readonly do: 'send'; readonly content: TftpContent }
    | {
        readonly do: 'refuse';
        readonly code: number;
        readonly message: string;
        readonly kind: 'tftp.not-found' | 'tftp.refused';
        /** For the log; more than a firmware screen has room for. */
        readonly why: string;
      }
    /** Not even an ERROR: the decision is that this appliance does not exist for this machine. */
    | { readonly do: 'ignore'; readonly why: string };
}

/** Long enough to load a kernel and an initrd over the slowest link that still boots. */
const HANDED_FOR = 30 * MINUTE;

export class TftpDesk {
  readonly #parts: TftpDeskParts;
  /** Where the text led that a machine was handed: an installation's intent is used up by then, its images are not. */
  readonly #handed = new Map<Mac, { readonly outcome: Outcome; readonly until: Instant }>();

  constructor(parts: TftpDeskParts) {
    this.#parts = parts;
  }

  async answer(fileName: string, address: Ipv4): Promise<TftpAnswer> {
    const { desk, library, macOf } = this.#parts;
    const sanitized = sanitizeTftpName(fileName);
    const mac = macOf(address);
    if (!sanitized.ok) {
      const reply = refusal('tftp.refused', TFTP_ERRORS.accessViolation, 'not a name that is served', sanitized.reason);
      return { name: fileName, mac, judged: null, reply };
    }
    const name = sanitized.value;
    const loader = library.find(name);
    const isLoader = loader?.kind === 'bios' || loader?.kind === 'efi';
    const own = this.#parts.isSelf?.(address) ? await this.#forSelf(name, address) : null;
    if (own !== null) return { name, mac: null, judged: null, own: true, reply: send(own) };
    const facts = factsFromTftp({ address, file: name, mac });
    const judged = desk.judge(facts);
    const told = { name, mac, judged };
    const { outcome, because } = judged.decision;
    if (outcome.kind === 'silent') return { ...told, reply: { do: 'ignore', why: because.words } };

    if (name.startsWith('boot/')) return { ...told, reply: this.#image(name, judged, mac) };
    // Whatever its own architecture: one that is declared wrongly needs its loader to show why it is refused.
    if (isLoader) return { ...told, reply: send({ asset: loader }) };
    const text = await this.#parts.scriptFor(name, facts, judged);
    if (text === null) return { ...told, reply: this.#notFound(name) };
    if (mac !== null) this.#remember(mac, outcome);
    return { ...told, reply: send({ text: new TextEncoder().encode(text) }) };
  }

  /** What is the same for every machine, whoever may fetch it at the moment; null: it is not, and nothing may be used up. */
  async #forSelf(name: string, address: Ipv4): Promise<TftpContent | null> {
    const { desk, library, scriptFor } = this.#parts;
    const isImage = name.startsWith('boot/');
    const asset = library.find((isImage ? assetOfBootPath(name.slice('boot/'.length)) : name) ?? '');
    if (asset !== null && (isImage || asset.kind === 'bios' || asset.kind === 'efi')) return { asset };
    if (name !== 'autoexec.ipxe' && parseGrubConfigName(name)?.kind !== 'entry') return null;
    const facts = factsFromTftp({ address, file: name, mac: null });
    const text = await scriptFor(name, facts, desk.judge(facts));
    return text === null ? null : { text: new TextEncoder().encode(text) };
  }

  #image(name: string, judged: Judged, mac: Mac | null): TftpAnswer['reply'] {
    const asset = assetOfBootPath(name.slice('boot/'.length));
    const found = asset === null ? null : this.#parts.library.find(asset);
    if (asset === null || found === null) return this.#notFound(name);
    const { decision, machine, network } = judged;
    const outcomes = [decision.outcome];
    const before = mac === null ? undefined : this.#handed.get(mac);
    if (before && before.until > this.#parts.now() && decision.outcome.kind !== 'refusal')
      outcomes.push(before.outcome);
    // Whoever was handed a configuration for GRUB has GRUB, whatever the inventory says about Secure Boot.
    const hasGrub = bootsThroughGrub(machine, network) || before !== undefined;
    if (hasGrub && outcomes.some((outcome) => mayFetchImage(asset, outcome))) {
      return send({ asset: found });
    }
    const message = 'this machine does not boot it now';
    return refusal('tftp.refused', TFTP_ERRORS.accessViolation, message, decision.because.words);
  }

  #remember(mac: Mac, outcome: Outcome): void {
    const now = this.#parts.now();
    for (const [known, { until }] of this.#handed) if (until <= now) this.#handed.delete(known);
    // A machine that was handed something else since is on its way there.
    if (needsImages(outcome)) this.#handed.set(mac, { outcome, until: now + HANDED_FOR });
    else this.#handed.delete(mac);
  }

  #notFound(name: string): TftpAnswer['reply'] {
    const why = `no such file${this.#parts.library.suggestionFor(name)}`;
    return refusal('tftp.not-found', TFTP_ERRORS.fileNotFound, 'file not found', why);
  }
}

const send = (content: TftpContent): TftpAnswer['reply'] => ({ do: 'send', content });
const refusal = (
  kind: 'tftp.not-found' | 'tftp.refused',
  code: number,
  message: string,
  why: string,
): TftpAnswer['reply'] => ({ do: 'refuse', code, message, kind, why });

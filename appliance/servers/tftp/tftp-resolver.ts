// What a read request is answered: a loader, a text for this machine, an image that its boot needs, or an ERROR. By name
// and decision only; no path from the wire ever reaches the file system.

import type { Asset } from '../../assets/asset.ts';
import { assetOfBootPath } from '../../boot/boot-paths.ts';
import type { BootResolver, ResolvedBoot } from '../../boot/boot-resolver.ts';
import { type ClientFacts, factsFromTftp } from '../../boot/client-facts.ts';
import { decideImageAccess, type IssuedConfig, isInForce, issuedConfig } from '../../boot/image-access.ts';
import { parseGrubConfigName } from '../../boot/replies/grub-config.ts';
import { sanitizeTftpName } from '../../codecs/tftp/name.ts';
import { TFTP_ERRORS } from '../../codecs/tftp/packet.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';
import type { IssuedText } from './boot-texts.ts';

export interface TftpResolverDeps {
  readonly resolver: Pick<BootResolver, 'resolve'>;
  readonly library: { find(name: string): Asset | null; suggestionFor(name: string): string };
  /** Whose address this is now; null when no lease tells. */
  readonly macOf: (address: Ipv4) => Mac | null;
  /** The machine's own text under this name (grub/grub.cfg, autoexec.ipxe …); null: there is none. */
  readonly scriptFor: (name: string, facts: ClientFacts, resolved: ResolvedBoot) => Promise<IssuedText | null>;
  readonly now: () => Instant;
  /** Addresses of this appliance itself, which asks whether it serves what it advertises. */
  readonly isSelf?: (address: Ipv4) => boolean;
}

export type TftpContent = { readonly asset: Asset } | { readonly text: Uint8Array };

export interface TftpAnswer {
  readonly name: string;
  readonly mac: Mac | null;
  readonly resolved: ResolvedBoot | null;
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

export class TftpResolver {
  readonly #parts: TftpResolverDeps;
  /** The configuration last issued to each address; the oldest come first. */
  readonly #issued = new Map<Ipv4, IssuedConfig>();

  constructor(parts: TftpResolverDeps) {
    this.#parts = parts;
  }

  async answer(fileName: string, address: Ipv4): Promise<TftpAnswer> {
    const { resolver, library, macOf } = this.#parts;
    const sanitized = sanitizeTftpName(fileName);
    const mac = macOf(address);
    if (!sanitized.ok) {
      const reply = refusal('tftp.refused', TFTP_ERRORS.accessViolation, 'not a name that is served', sanitized.reason);
      return { name: fileName, mac, resolved: null, reply };
    }
    const name = sanitized.value;
    const loader = library.find(name);
    const isLoader = loader?.kind === 'bios' || loader?.kind === 'efi';
    const own = this.#parts.isSelf?.(address) ? await this.#forSelf(name, address) : null;
    if (own !== null) return { name, mac: null, resolved: null, own: true, reply: send(own) };
    const facts = factsFromTftp({ address, file: name, mac });
    const resolved = resolver.resolve(facts);
    const told = { name, mac, resolved };
    const { outcome, because } = resolved.decision;
    // Behind a router, and with another server's lease, an address tells nobody. Such a machine was pointed here by its MAC, which
    // its script or its configuration tells us next; until then it may have what is the same for all.
    const isNobody = mac === null && resolved.network !== null;
    if (outcome.kind === 'silent' && !isNobody) return { ...told, reply: { do: 'ignore', why: because.words } };

    if (name.startsWith('boot/')) return this.#image(name, address, facts, resolved);
    // Whatever its own architecture: one that is declared wrongly needs its loader to show why it is refused.
    if (isLoader) return { ...told, reply: send({ asset: loader }) };
    const handed = await this.#parts.scriptFor(name, facts, resolved);
    if (handed === null) return { ...told, reply: this.#notFound(name) };
    const reply = send({ text: new TextEncoder().encode(handed.text) });
    if (handed.decided === null) return { ...told, reply };
    this.#remember(address, mac, handed.decided);
    return { name, mac: handed.decided.facts.mac, resolved: handed.decided.resolved, reply };
  }

  /** What is the same for every machine, whoever may fetch it at the moment; null: it is not, and nothing may be used up. */
  async #forSelf(name: string, address: Ipv4): Promise<TftpContent | null> {
    const { resolver, library, scriptFor } = this.#parts;
    const isImage = name.startsWith('boot/');
    const asset = library.find((isImage ? assetOfBootPath(name.slice('boot/'.length)) : name) ?? '');
    if (asset !== null && (isImage || asset.kind === 'bios' || asset.kind === 'efi')) return { asset };
    if (name !== 'autoexec.ipxe' && parseGrubConfigName(name)?.kind !== 'entry') return null;
    const facts = factsFromTftp({ address, file: name, mac: null });
    const handed = await scriptFor(name, facts, resolver.resolve(facts));
    return handed === null ? null : { text: new TextEncoder().encode(handed.text) };
  }

  #image(name: string, address: Ipv4, facts: ClientFacts, current: ResolvedBoot): TftpAnswer {
    const { library, resolver } = this.#parts;
    const config = this.#issuedTo(address, facts.mac);
    // What has become since of the machine that it said it was.
    const since = config && resolver.resolve({ ...facts, mac: config.mac, uuid: config.uuid }, current.network);
    const resolved = facts.mac === null && since ? since : current;
    const about = { name, mac: facts.mac ?? config?.mac ?? null, resolved };
    const asset = assetOfBootPath(name.slice('boot/'.length));
    const found = asset === null ? null : library.find(asset);
    if (asset === null || found === null) return { ...about, reply: this.#notFound(name) };
    const issued = config && since && { outcome: config.outcome, since };
    const access = decideImageAccess({ asset, holder: facts.mac, current, issued });
    if (access.allowed) return { ...about, reply: send({ asset: found }) };
    const message = 'this machine does not boot it now';
    const { words } = access.because;
    return { ...about, reply: refusal('tftp.refused', TFTP_ERRORS.accessViolation, message, words) };
  }

  #issuedTo(address: Ipv4, holder: Mac | null): IssuedConfig | null {
    const config = this.#issued.get(address) ?? null;
    return config !== null && isInForce(config, holder, this.#parts.now()) ? config : null;
  }

  #remember(address: Ipv4, holder: Mac | null, { facts, resolved }: NonNullable<IssuedText['decided']>): void {
    const now = this.#parts.now();
    for (const [known, { until }] of this.#issued) {
      if (until > now) break;
      this.#issued.delete(known);
    }
    // A machine that was issued something else since is on its way there.
    this.#issued.delete(address);
    const config = issuedConfig(resolved.decision.outcome, facts, holder, now);
    if (config !== null) this.#issued.set(address, config);
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

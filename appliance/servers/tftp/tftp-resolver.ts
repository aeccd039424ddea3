// Resolves a read request to a loader, a text file for this machine, an image that its boot needs, or an ERROR. By name and
// decision only: no path from the network reaches the file system.

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
  /** The current holder of the address; null: no lease shows it. */
  readonly macOf: (address: Ipv4) => Mac | null;
  /** The machine's text file with this name (grub/grub.cfg, autoexec.ipxe …); null: there is none. */
  readonly scriptFor: (name: string, facts: ClientFacts, resolved: ResolvedBoot) => Promise<IssuedText | null>;
  readonly now: () => Instant;
  /** Addresses of this appliance itself, which checks that it serves what it advertises. */
  readonly isSelf?: (address: Ipv4) => boolean;
}

export type TftpContent = { readonly asset: Asset } | { readonly text: Uint8Array };

export interface TftpAnswer {
  readonly name: string;
  readonly mac: Mac | null;
  readonly resolved: ResolvedBoot | null;
  /** A check by the appliance itself: not recorded for any machine. */
  readonly own?: boolean;
  readonly reply:
    | { readonly do: 'send'; readonly content: TftpContent }
    | {
        readonly do: 'refuse';
        readonly code: number;
        readonly message: string;
        readonly kind: 'tftp.not-found' | 'tftp.refused';
        /** For the log: longer than a firmware screen can show. */
        readonly why: string;
      }
    /** Not even an ERROR: the decision is to be silent for this machine. */
    | { readonly do: 'ignore'; readonly why: string };
}

export class TftpResolver {
  readonly #deps: TftpResolverDeps;
  /** The configuration last issued to each address; the oldest come first. */
  readonly #issued = new Map<Ipv4, IssuedConfig>();

  constructor(deps: TftpResolverDeps) {
    this.#deps = deps;
  }

  async answer(fileName: string, address: Ipv4): Promise<TftpAnswer> {
    const { resolver, library, macOf } = this.#deps;
    const sanitized = sanitizeTftpName(fileName);
    const mac = macOf(address);
    if (!sanitized.ok) {
      const reply = refusal('tftp.refused', TFTP_ERRORS.accessViolation, 'invalid file name', sanitized.reason);
      return { name: fileName, mac, resolved: null, reply };
    }
    const name = sanitized.value;
    const loader = library.find(name);
    const isLoader = loader?.kind === 'bios' || loader?.kind === 'efi';
    const own = this.#deps.isSelf?.(address) ? await this.#forSelf(name, address) : null;
    if (own !== null) return { name, mac: null, resolved: null, own: true, reply: send(own) };
    const facts = factsFromTftp({ address, file: name, mac });
    const resolved = resolver.resolve(facts);
    const request = { name, mac, resolved };
    const { outcome, because } = resolved.decision;
    // Behind a router, or with another server's lease, an address identifies no machine. Such a machine was directed here by its
    // MAC, which its script or configuration request states next; until then it may fetch what is the same for all.
    const isUnidentified = mac === null && resolved.network !== null;
    if (outcome.kind === 'silent' && !isUnidentified)
      return { ...request, reply: { do: 'ignore', why: because.words } };

    if (name.startsWith('boot/')) return this.#image(name, address, facts, resolved);
    // For any architecture: a machine declared with the wrong one needs its loader to display why it is refused.
    if (isLoader) return { ...request, reply: send({ asset: loader }) };
    const another = this.#configOfAnother(name, facts, resolved);
    if (another !== null) {
      const reply = refusal('tftp.refused', TFTP_ERRORS.accessViolation, 'not the file of this machine', another);
      return { ...request, reply };
    }
    const issued = await this.#deps.scriptFor(name, facts, resolved);
    if (issued === null) return { ...request, reply: this.#notFound(name) };
    const reply = send({ text: new TextEncoder().encode(issued.text) });
    if (issued.decided === null) return { ...request, reply };
    this.#remember(address, mac, issued.decided);
    return { name, mac: issued.decided.facts.mac, resolved: issued.decided.resolved, reply };
  }

  /**
   * Why a GRUB configuration is not for this client: it would consume the intent of another machine and get its ticket. GRUB names
   * the card that it loads with, so a leased address must belong to the same machine.
   */
  #configOfAnother(name: string, facts: ClientFacts, resolved: ResolvedBoot): string | null {
    const config = parseGrubConfigName(name);
    if (config?.kind !== 'machine' || facts.mac === null || facts.mac === config.mac) return null;
    const { about } = this.#deps.resolver.resolve({ ...facts, mac: config.mac, uuid: config.uuid }, resolved.network);
    if (about === null || about.id === resolved.about?.id) return null;
    return `it is the configuration of ${config.mac}, and this address is leased to ${facts.mac}`;
  }

  /** Content that is the same for every machine; null: it is specific to one, and a check must not consume it. */
  async #forSelf(name: string, address: Ipv4): Promise<TftpContent | null> {
    const { resolver, library, scriptFor } = this.#deps;
    const isImage = name.startsWith('boot/');
    const asset = library.find((isImage ? assetOfBootPath(name.slice('boot/'.length)) : name) ?? '');
    if (asset !== null && (isImage || asset.kind === 'bios' || asset.kind === 'efi')) return { asset };
    if (name !== 'autoexec.ipxe' && parseGrubConfigName(name)?.kind !== 'entry') return null;
    const facts = factsFromTftp({ address, file: name, mac: null });
    const issued = await scriptFor(name, facts, resolver.resolve(facts));
    return issued === null ? null : { text: new TextEncoder().encode(issued.text) };
  }

  #image(name: string, address: Ipv4, facts: ClientFacts, current: ResolvedBoot): TftpAnswer {
    const { library, resolver } = this.#deps;
    const config = this.#issuedTo(address, facts.mac);
    // The current decision for the machine that the configuration was issued to.
    const since = config && resolver.resolve({ ...facts, mac: config.mac, uuid: config.uuid }, current.network);
    const resolved = facts.mac === null && since ? since : current;
    const about = { name, mac: facts.mac ?? config?.mac ?? null, resolved };
    const asset = assetOfBootPath(name.slice('boot/'.length));
    const found = asset === null ? null : library.find(asset);
    if (asset === null || found === null) return { ...about, reply: this.#notFound(name) };
    const issued = config && since && { outcome: config.outcome, since };
    const access = decideImageAccess({ asset, holder: facts.mac, current, issued });
    if (access.allowed) return { ...about, reply: send({ asset: found }) };
    const message = 'not part of the current boot';
    const { words } = access.because;
    return { ...about, reply: refusal('tftp.refused', TFTP_ERRORS.accessViolation, message, words) };
  }

  #issuedTo(address: Ipv4, holder: Mac | null): IssuedConfig | null {
    const config = this.#issued.get(address) ?? null;
    return config !== null && isInForce(config, holder, this.#deps.now()) ? config : null;
  }

  #remember(address: Ipv4, holder: Mac | null, { facts, resolved }: NonNullable<IssuedText['decided']>): void {
    const now = this.#deps.now();
    for (const [known, { until }] of this.#issued) {
      if (until > now) break;
      this.#issued.delete(known);
    }
    // A newer configuration replaces the one issued before.
    this.#issued.delete(address);
    const config = issuedConfig(resolved.decision.outcome, facts, holder, now);
    if (config !== null) this.#issued.set(address, config);
  }

  #notFound(name: string): TftpAnswer['reply'] {
    const why = `no such file${this.#deps.library.suggestionFor(name)}`;
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

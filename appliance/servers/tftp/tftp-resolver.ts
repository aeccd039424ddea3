// What a read request is answered: a loader, a text for this machine, an image that its boot needs, or an ERROR. By name
// and decision only; no path from the wire ever reaches the file system.

import type { Asset } from '../../assets/asset.ts';
import { assetOfBootPath } from '../../boot/boot-paths.ts';
import type { BootResolver, ResolvedBoot } from '../../boot/boot-resolver.ts';
import { type ClientFacts, factsFromTftp } from '../../boot/client-facts.ts';
import type { Outcome } from '../../boot/decide-boot.ts';
import { bootsThroughGrub, mayFetchImage, needsImages } from '../../boot/image-access.ts';
import { parseGrubConfigName } from '../../boot/replies/grub-config.ts';
import { sanitizeTftpName } from '../../codecs/tftp/name.ts';
import { TFTP_ERRORS } from '../../codecs/tftp/packet.ts';
import type { ChassisUuid } from '../../domain/chassis.ts';
import { type Instant, MINUTE } from '../../domain/instant.ts';
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

/** Long enough to load a kernel and an initrd over the slowest link that still boots. */
const HANDED_FOR = 30 * MINUTE;

/** What a machine was handed a text for. */
interface Handed {
  readonly outcome: Outcome;
  /** As it named itself: an address behind a router tells nothing. */
  readonly mac: Mac | null;
  readonly uuid: ChassisUuid | null;
  /** Whose address it was then, as far as that was known. */
  readonly holder: Mac | null;
  readonly until: Instant;
}

export class TftpResolver {
  readonly #parts: TftpResolverDeps;
  /**
   * Where the text led that was handed to an address: an installation's intent is used up by then, its images are not. The
   * oldest come first.
   */
  readonly #handed = new Map<Ipv4, Handed>();

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

  #image(name: string, address: Ipv4, facts: ClientFacts, resolved: ResolvedBoot): TftpAnswer {
    const { library, resolver } = this.#parts;
    const before = this.#handedTo(address, facts.mac);
    // What has become since of the machine that it said it was.
    const since = before && resolver.resolve({ ...facts, mac: before.mac, uuid: before.uuid }, resolved.network);
    const told = {
      name,
      mac: facts.mac ?? before?.mac ?? null,
      resolved: facts.mac === null && since ? since : resolved,
    };
    const asset = assetOfBootPath(name.slice('boot/'.length));
    const found = asset === null ? null : library.find(asset);
    if (asset === null || found === null) return { ...told, reply: this.#notFound(name) };
    // An address that tells nobody is an unknown machine's, until somebody names itself there.
    const standing = since === null ? [resolved] : facts.mac === null ? [since] : [resolved, since];
    const denied = standing.find(({ decision }) => isDenied(decision.outcome));
    const outcomes = [resolved.decision.outcome, ...(before ? [before.outcome] : [])];
    // Whoever was handed a configuration for GRUB has GRUB, whatever the inventory says about Secure Boot.
    const hasGrub = before !== null || bootsThroughGrub(resolved.machine, resolved.network);
    if (!denied && hasGrub && outcomes.some((outcome) => mayFetchImage(asset, outcome))) {
      return { ...told, reply: send({ asset: found }) };
    }
    const why = (denied ?? told.resolved).decision.because.words;
    const message = 'this machine does not boot it now';
    return { ...told, reply: refusal('tftp.refused', TFTP_ERRORS.accessViolation, message, why) };
  }

  #handedTo(address: Ipv4, holder: Mac | null): Handed | null {
    const before = this.#handed.get(address) ?? null;
    if (before === null || before.until <= this.#parts.now()) return null;
    // The address has passed to another machine since.
    if (before.holder !== null && holder !== null && before.holder !== holder) return null;
    return before;
  }

  #remember(address: Ipv4, holder: Mac | null, { facts, resolved }: NonNullable<IssuedText['decided']>): void {
    const now = this.#parts.now();
    for (const [known, { until }] of this.#handed) {
      if (until > now) break;
      this.#handed.delete(known);
    }
    // Whoever was handed something else since is on its way there.
    this.#handed.delete(address);
    const { outcome } = resolved.decision;
    const { mac, uuid } = facts;
    if (needsImages(outcome)) this.#handed.set(address, { outcome, mac, uuid, holder, until: now + HANDED_FOR });
  }

  #notFound(name: string): TftpAnswer['reply'] {
    const why = `no such file${this.#parts.library.suggestionFor(name)}`;
    return refusal('tftp.not-found', TFTP_ERRORS.fileNotFound, 'file not found', why);
  }
}

const isDenied = ({ kind }: Outcome): boolean => kind === 'refusal' || kind === 'silent';
const send = (content: TftpContent): TftpAnswer['reply'] => ({ do: 'send', content });
const refusal = (
  kind: 'tftp.not-found' | 'tftp.refused',
  code: number,
  message: string,
  why: string,
): TftpAnswer['reply'] => ({ do: 'refuse', code, message, kind, why });

// Opens the session of a ticket: checks who asks, decides what that machine has proved, and delivers the session key.

import type { Profile } from '../../domain/catalogue.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Json } from '../../domain/event.ts';
import type { BoundHardware, ShownHardware } from '../../domain/hardware-identity.ts';
import { type Instant, MINUTE, SECOND } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { ObjectName } from '../../domain/names.ts';
import type { Parsed } from '../../domain/parsed.ts';
import { plainLine } from '../../domain/plain-line.ts';
import type { Session, SessionIdentity, SessionSecret } from '../../domain/session.ts';
import { differingHardware, quarantinedForHardware } from '../../machines/commands/hardware.ts';
import type { MachineCommands } from '../../machines/execute.ts';
import { APPLIANCE } from '../../machines/record.ts';
import type { Change } from '../../store/change.ts';
import type { Store } from '../../store/store.ts';
import { mediumShown } from '../media/decide-medium.ts';
import { decideOpening, type OpeningDecision, type OpeningQuestion } from './decide-opening.ts';
import { openerOf, type SeenAt } from './openers.ts';
import { type OpeningBody, readFacts, readOpening, type TpmBody } from './reports.ts';
import { sessionKeyOf } from './sealed-file.ts';
import { type OpenedMedium, sessionOpened, sessionReopened } from './session-commands.ts';
import { isSessionCurrent, sessionEnd } from './session-eligibility.ts';
import { hashOfNonce, hashOfSecret, newSessionSecret } from './session-secret.ts';
import type { SessionSeeds } from './session-seeds.ts';
import { hardwareOfFacts, shownHardware } from './shown-hardware.ts';
import type { ProvenTpm } from './tpm-proof.ts';

export interface SessionCall {
  readonly address: SeenAt['address'];
  readonly correlationId: string;
}

export interface SessionOpenerDeps {
  readonly store: Pick<Store, 'machine' | 'sessionByTicket' | 'mediumOf' | 'factsOf' | 'commit'>;
  readonly commands: Pick<MachineCommands, 'execute'>;
  readonly seenAt: (address: SeenAt['address']) => SeenAt;
  readonly profile: (name: ObjectName) => Profile | null;
  /** Reads what a TPM sent; `nonce` is the qualifying data of its quote. */
  readonly readTpm: (body: TpmBody, nonce: Buffer) => Parsed<ProvenTpm>;
  readonly seeds: SessionSeeds;
  /** Records the refused attempt. */
  readonly refuse: (held: Found, reason: string, call: SessionCall) => Promise<ColdironError>;
  readonly now: () => Instant;
}

interface Found {
  readonly session: Session;
  readonly machine: Machine;
}

/** What the reply holds besides the order: the key, or what gives the key to nobody but the machine. */
interface DeliveredKey {
  readonly keyHash: string;
  readonly salt: string | null;
  readonly reply: { readonly [key: string]: Json };
}

type Open = Extract<OpeningDecision, { outcome: 'open' }>;

export class SessionOpener {
  readonly #deps: SessionOpenerDeps;

  constructor(deps: SessionOpenerDeps) {
    this.#deps = deps;
  }

  /** Once for each ticket. An opener that did not receive the reply, and sends its nonce again, gets a new key. */
  async open(ticket: SessionSecret, body: unknown, call: SessionCall): Promise<Json> {
    const { store, now, seenAt } = this.#deps;
    const request = readOpening(body);
    const ticketHash = hashOfSecret(ticket);
    const session = await store.sessionByTicket(ticketHash);
    const machine = session && (await store.machine(session.machine));
    if (!session || !machine) throw new ColdironError('not_found', 'there is no such ticket');
    const found = { session, machine };
    const problem = ticketProblem(session, machine, now());
    if (problem !== null) throw await this.#deps.refuse(found, problem, call);
    const opener = openerOf(machine, request, seenAt(call.address));
    if (!opener.ok) throw await this.#deps.refuse(found, opener.reason, call);

    const tpm = request.tpm ? this.#deps.readTpm(request.tpm, Buffer.from(ticketHash, 'hex')) : null;
    const tpmProblem = tpm !== null && !tpm.ok ? tpm.reason : (request.tpm_error ?? null);
    const proven = tpm?.ok ? tpm.value : null;
    const medium = await this.#medium(found, request.media ?? null);
    const shown = shownHardware(request, proven?.shown ?? null, tpmProblem && plainLine(tpmProblem), medium.shows);
    const bound = machine.hardware.bound ?? (await this.#boundByFacts(found));
    const signed = proven?.signed ?? [];
    const decision = this.#decide(found, request, { shown, signed, bound, medium: medium.shows });
    if (decision.outcome !== 'open') throw await this.#reject(found, decision, shown, call);
    return this.#deliver(found, request, { decision, shown, proven, medium, mac: opener.value, ticketHash }, call);
  }

  /** A machine that was commissioned before its hardware was recorded is bound to what it reported then. */
  async #boundByFacts({ machine, session }: Found): Promise<BoundHardware | null> {
    if (session.mode === 'commission') return null;
    const [newest] = await this.#deps.store.factsOf(machine.id);
    return newest ? hardwareOfFacts(readFacts(newest.facts), newest.at) : null;
  }

  async #medium({ machine, session }: Found, shown: string | null): Promise<OpenedMedium> {
    const { store, seeds, now } = this.#deps;
    const medium = await store.mediumOf(machine.id);
    if (medium === null) return { shows: 'none', salt: null };
    const opening = { shown, hash: seeds.mediumHash(medium.salt), session: session.id, now: now() };
    return { shows: mediumShown(medium, machine, opening), salt: medium.salt };
  }

  #decide(
    { machine, session }: Found,
    request: OpeningBody,
    hardware: Pick<OpeningQuestion, 'shown' | 'signed' | 'bound' | 'medium'>,
  ): OpeningDecision {
    const name = session.mode === 'install' ? (machine.intent?.profile ?? machine.spec.profile) : null;
    const profile = name && this.#deps.profile(name);
    return decideOpening({
      hostname: machine.spec.hostname,
      mode: session.mode,
      profile: name,
      required: profile?.identity ?? 'bound',
      requiredPcrs: profile?.requiredPcrs ?? [],
      declared: machine.spec.tpm,
      ...hardware,
      showsAll: request.macs != null && request.tpm !== undefined,
    });
  }

  async #reject(
    found: Found,
    decision: Exclude<OpeningDecision, Open>,
    shown: ShownHardware,
    call: SessionCall,
  ): Promise<ColdironError> {
    const { session, machine } = found;
    const origin = { actor: APPLIANCE, correlationId: session.id };
    if (decision.outcome === 'quarantine') {
      const { reason, differences } = decision;
      const differing = { shown, mode: session.mode, address: call.address, differences, reason, origin };
      await this.#deps.commands.execute(
        { machine: machine.id, name: 'hardware-differs', input: { reason }, origin },
        (current, context) => quarantinedForHardware(current, differing, context),
      );
    } else if (decision.keep) {
      await this.#deps.store.commit(differingHardware(machine, shown, this.#deps.now()));
    }
    return this.#deps.refuse(found, decision.reason, call);
  }

  async #deliver(
    found: Found,
    request: OpeningBody,
    opened: {
      readonly decision: Open;
      readonly shown: ShownHardware;
      readonly proven: ProvenTpm | null;
      readonly medium: OpenedMedium;
      readonly mac: string;
      readonly ticketHash: string;
    },
    call: SessionCall,
  ): Promise<Json> {
    const { session, machine } = found;
    const { decision, shown, ticketHash } = opened;
    const at = this.#deps.now();
    const key = this.#key(found, decision, opened);
    const identity: SessionIdentity = { level: decision.level, key: decision.key, salt: key.salt, shown };
    const expiresAt = sessionEnd(machine, at);
    const exchange = { at, machine, correlationId: call.correlationId };
    const said = { mode: session.mode, mac: opened.mac, address: call.address };
    const nonceHash = request.nonce ? hashOfNonce(request.nonce) : null;
    const opening = { ticketHash, keyHash: key.keyHash, nonceHash, now: at, expiresAt, identity };
    const isOpen =
      session.openedAt === null &&
      (await this.#committed(
        sessionOpened(exchange, session, opening, said, {
          firmware: request.firmware ?? null,
          changedPcrs: decision.changedPcrs,
          medium: opened.medium,
        }),
      ));
    if (!isOpen && !(await this.#reopened(exchange, session, { opening, said }))) {
      throw await this.#deps.refuse(found, USED, call);
    }
    return {
      ...key.reply,
      node: machine.spec.hostname,
      mode: session.mode,
      identity: decision.level,
      expires_in: Math.floor((expiresAt - at) / SECOND),
      order: session.order,
    };
  }

  async #reopened(
    exchange: Parameters<typeof sessionReopened>[0],
    session: Session,
    { opening, said }: { opening: Parameters<typeof sessionOpened>[2]; said: Parameters<typeof sessionReopened>[3] },
  ): Promise<boolean> {
    const { ticketHash, keyHash, nonceHash, identity } = opening;
    if (nonceHash === null) return false;
    const openedSince = exchange.at - REOPENED_WITHIN;
    return this.#committed(
      sessionReopened(exchange, session, { ticketHash, keyHash, nonceHash, openedSince, identity }, said),
    );
  }

  #key(
    { session }: Found,
    { key, ek }: Open,
    { proven, medium }: { readonly proven: ProvenTpm | null; readonly medium: OpenedMedium },
  ): DeliveredKey {
    const { seeds } = this.#deps;
    if (key === 'clear') {
      const { text, hash } = newSessionSecret();
      return { keyHash: hash, salt: null, reply: { session: text } };
    }
    if (key === 'media') {
      if (medium.salt === null) throw new ColdironError('internal', 'a key on a medium needs the medium');
      const keyHash = hashOfSecret(sessionKeyOf(seeds.mediumSeed(medium.salt)));
      return { keyHash, salt: medium.salt, reply: {} };
    }
    if (proven === null || ek === null)
      throw new ColdironError('internal', 'a key for a TPM needs the keys of the TPM');
    const salt = seeds.newSalt();
    const seed = seeds.seed(session.id, salt);
    return { keyHash: hashOfSecret(sessionKeyOf(seed)), salt, reply: { credential: proven.credential(ek, seed) } };
  }

  /** False: the store refused it, because another request was first. */
  async #committed(change: Change): Promise<boolean> {
    return (await this.#deps.store.commit(change)).outcome === 'committed';
  }
}

/** Enough to notice a lost reply, and to restart an appliance. */
const REOPENED_WITHIN = 5 * MINUTE;

const USED = 'the ticket was used already: another client opened the session';

function ticketProblem(session: Session, machine: Machine, now: Instant): string | null {
  // The store decides whether it is the same opener.
  const unused = session.openedAt === null;
  if (session.ended !== null) return unused ? (session.ended.reason ?? 'the ticket is no longer valid') : USED;
  if (unused && now >= session.ticketExpiresAt) return 'the ticket has expired; boot again for a new one';
  return isSessionCurrent(machine, session) ? null : `${machine.spec.hostname} is ${machine.lifecycle.state} now`;
}

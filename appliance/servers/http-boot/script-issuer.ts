// Renders a decision as a boot script or GRUB configuration and issues it. If the script starts our code, its ticket is on
// disk before the text is sent; if it destroys data, so is the consumed intent.

import { type OfferedSession, trustsAuthority } from '../../boot/boot-images.ts';
import type { BootServer } from '../../boot/boot-paths.ts';
import type { BootResolver, ResolvedBoot } from '../../boot/boot-resolver.ts';
import type { ClientFacts } from '../../boot/client-facts.ts';
import type { BootDecision, Finding } from '../../boot/decide-boot.ts';
import type { BootSubject, ScriptLanguage } from '../../boot/replies/boot-subject.ts';
import { type StartingOutcome, startsOurCode } from '../../boot/startability.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { IntentId } from '../../domain/intent.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';
import type { Machine } from '../../domain/machine.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import type { Parsed } from '../../domain/parsed.ts';
import type { DraftTicket } from '../../provisioning/sessions/tickets.ts';
import type { Templates } from '../../render/templates.ts';
import type { NewTicket } from '../../store/session-store.ts';

export interface ScriptSessions {
  /** The order of the machine, with a ticket that is not stored yet. The decision has checked that there is an order. */
  readonly draft: (
    machine: Machine,
    outcome: StartingOutcome,
    server: BootServer,
    verifiesTls: boolean,
  ) => Parsed<DraftTicket>;
  readonly put: (ticket: NewTicket) => Promise<void>;
  /** A machine with a consumed intent requests a script again: its earlier run is over. */
  readonly onRestart: (machine: Machine) => void;
}

export interface ScriptIssuerDeps {
  readonly resolver: Pick<BootResolver, 'resolveWithout'>;
  readonly templates: Templates;
  /** True for exactly one caller, and only after intent and ticket are on disk. */
  readonly consume: (intent: IntentId, machine: Machine, ticket: NewTicket | null) => Promise<boolean>;
  /** If absent, started systems get no order and have no session to report to. */
  readonly sessions?: ScriptSessions;
  readonly onFinding: (machine: Machine, finding: Finding) => void;
  /** A machine that is not in the inventory fetched its script: it may never have sent us a DHCP request. */
  readonly onUnknown: (facts: ClientFacts, network: SiteNetwork) => void;
  /** Why the client at this address is another machine; null: nothing shows that. */
  readonly strangerAt?: (machine: Machine, address: Ipv4 | null) => string | null;
  readonly onScriptFetched: (mac: Mac, address: Ipv4 | null) => void;
  readonly onStoreFailure: (error: unknown, machine: Machine) => void;
}

export interface IssuedScript {
  readonly text: string | null;
  /** The decision in the text: repeated if another request consumed the intent. */
  readonly decision: BootDecision;
  /** Why the machine waits instead; null: it does not. */
  readonly held: string | null;
}

export interface ScriptRequest {
  readonly resolved: ResolvedBoot;
  readonly facts: ClientFacts;
  readonly server: BootServer;
  /** iPXE's script or GRUB's configuration. */
  readonly language: ScriptLanguage;
  /** False: a preview (HEAD). Nothing is consumed and no callback is called. */
  readonly forReal: boolean;
}

const NOT_WRITTEN = 'the appliance could not save this start to disk; the machine waits and retries';

export class ScriptIssuer {
  readonly #deps: ScriptIssuerDeps;

  constructor(deps: ScriptIssuerDeps) {
    this.#deps = deps;
  }

  async issue(request: ScriptRequest): Promise<IssuedScript> {
    const { resolved, facts, forReal } = request;
    const { machine, decision, network } = resolved;
    // Another host must not use up the work of the machine, or end it. It may read what starts nothing.
    const stranger = machine && forReal ? (this.#deps.strangerAt?.(machine, facts.address) ?? null) : null;
    if (stranger !== null && startsOurCode(decision.outcome)) return this.#hold(request, stranger);
    if (forReal && stranger === null) this.#notify(resolved, facts);
    const draft = this.#draft(request);
    // Render first: an intent must not be consumed for a script that cannot be rendered.
    const session = draft && { id: draft.ticket.id, url: draft.url, madeAt: draft.ticket.madeAt };
    const text = this.#render(request, decision, session);
    const { outcome } = decision;
    const intent = 'intent' in outcome ? outcome.intent : null;
    if (machine === null || !forReal || (intent === null && draft === null)) return { text, decision, held: null };
    try {
      if (await this.#begin(machine, intent, draft)) return { text, decision, held: null };
    } catch (error) {
      this.#deps.onStoreFailure(error, machine);
      return this.#hold(request, NOT_WRITTEN);
    }
    const again = intent === null ? resolved : this.#deps.resolver.resolveWithout(intent, facts, network);
    return { text: this.#render(request, again.decision, null), decision: again.decision, held: null };
  }

  #hold(request: ScriptRequest, why: string): IssuedScript {
    const { decision } = request.resolved;
    return {
      text: request.language.hold(this.#deps.templates, this.#subject(request, decision), why),
      decision,
      held: why,
    };
  }

  #notify({ machine, about, network, decision }: ResolvedBoot, facts: ClientFacts): void {
    const { onFinding, onUnknown, onScriptFetched, sessions } = this.#deps;
    if (machine) for (const finding of decision.findings) onFinding(machine, finding);
    // As for DHCP: a request of an operating system is not a boot. A script says more than a DHCP packet, such as the serial number.
    const isUndeclared = about === null || about.lifecycle.state === 'discovered';
    if (isUndeclared && network !== null && facts.program !== 'os') onUnknown(facts, network);
    if (facts.mac) onScriptFetched(facts.mac, facts.address);
    if (machine && decision.because.id === 'intent-consumed') sessions?.onRestart(machine);
  }

  /** Writes to disk before the text is sent. False: another request consumed the intent. */
  async #begin(machine: Machine, intent: IntentId | null, draft: DraftTicket | null): Promise<boolean> {
    if (intent !== null) return this.#deps.consume(intent, machine, draft?.ticket ?? null);
    if (draft !== null) await this.#deps.sessions?.put(draft.ticket);
    return true;
  }

  #draft({ resolved, server, forReal }: ScriptRequest): DraftTicket | null {
    const { machine, decision } = resolved;
    const { sessions } = this.#deps;
    if (!startsOurCode(decision.outcome) || machine === null || !forReal || !sessions) return null;
    const verifiesTls = decision.image !== null && trustsAuthority(decision.image);
    const draft = sessions.draft(machine, decision.outcome, server, verifiesTls);
    if (draft.ok) return draft.value;
    throw new ColdironError('internal', `${machine.spec.hostname} has no order to start with: ${draft.reason}`);
  }

  #render(request: ScriptRequest, decision: BootDecision, session: OfferedSession | null): string | null {
    return request.language.boot(this.#deps.templates, { ...this.#subject(request, decision), session });
  }

  #subject({ resolved, facts, server }: ScriptRequest, decision: BootDecision): BootSubject {
    const { about } = resolved;
    const architecture = about?.spec.architecture ?? facts.cpu;
    return { decision, machine: about, mac: facts.mac, server, architecture };
  }
}

// Renders a decision as a boot script or GRUB configuration and issues it. For what starts, its ticket is on disk before the
// text leaves; for what destroys data, so is the end of its intent.

import type { BootServer } from '../../boot/boot-paths.ts';
import type { BootResolver, ResolvedBoot } from '../../boot/boot-resolver.ts';
import type { ClientFacts } from '../../boot/client-facts.ts';
import type { BootDecision, Finding } from '../../boot/decide-boot.ts';
import type { BootSubject, ScriptLanguage } from '../../boot/replies/ipxe-script.ts';
import { type StartingOutcome, startsOurCode } from '../../boot/startability.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { IntentId } from '../../domain/intent.ts';
import type { Mac } from '../../domain/mac.ts';
import type { Machine } from '../../domain/machine.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import type { Parsed } from '../../domain/parsed.ts';
import type { Templates } from '../../render/templates.ts';
import type { NewTicket } from '../../store/session-store.ts';
import type { DraftTicket } from '../../work/sessions/tickets.ts';

export interface ScriptSessions {
  /** The order of the machine, behind a ticket that is in no store yet. The decision has checked that there is one. */
  readonly draft: (machine: Machine, outcome: StartingOutcome, server: BootServer) => Parsed<DraftTicket>;
  readonly put: (ticket: NewTicket) => Promise<void>;
  /** A machine whose intent is consumed asks for a script again: what it had begun is over. */
  readonly onRestart: (machine: Machine) => void;
}

export interface ScriptIssuerDeps {
  readonly resolver: Pick<BootResolver, 'resolveWithout'>;
  readonly templates: Templates;
  /** True for exactly one caller, and only when it is on disk, together with the ticket. */
  readonly consume: (intent: IntentId, machine: Machine, ticket: NewTicket | null) => Promise<boolean>;
  /** Left out: what is started gets no order and reports to nobody. */
  readonly sessions?: ScriptSessions;
  readonly onFinding: (machine: Machine, finding: Finding) => void;
  /** A machine that nobody has listed fetched its script: it may never have sent us a DHCP request. */
  readonly onUnknown: (facts: ClientFacts, network: SiteNetwork) => void;
  readonly onScriptFetched: (mac: Mac) => void;
  readonly onStoreFailure: (error: unknown, machine: Machine) => void;
}

export interface IssuedScript {
  readonly text: string | null;
  /** What the text says: decided again when the intent was consumed by somebody else. */
  readonly decision: BootDecision;
  readonly held: boolean;
}

export interface ScriptQuestion {
  readonly resolved: ResolvedBoot;
  readonly facts: ClientFacts;
  readonly server: BootServer;
  /** iPXE's script or GRUB's configuration. */
  readonly language: ScriptLanguage;
  /** False: only to see what it would be (HEAD). Nothing is consumed and nobody is notified. */
  readonly forReal: boolean;
}

const NOT_WRITTEN = 'the appliance could not write down that this begins, so it does not begin yet';

export class ScriptIssuer {
  readonly #deps: ScriptIssuerDeps;

  constructor(deps: ScriptIssuerDeps) {
    this.#deps = deps;
  }

  async issue(question: ScriptQuestion): Promise<IssuedScript> {
    const { resolved, facts, forReal, language } = question;
    const { machine, decision, network } = resolved;
    if (forReal) this.#notify(resolved, facts);
    const draft = this.#draft(question);
    // The text comes first: an intent is not consumed for a script that cannot be rendered.
    const text = this.#render(question, decision, draft?.url ?? null);
    const { outcome } = decision;
    const intent = 'intent' in outcome ? outcome.intent : null;
    if (machine === null || !forReal || (intent === null && draft === null)) return { text, decision, held: false };
    try {
      if (await this.#begin(machine, intent, draft)) return { text, decision, held: false };
    } catch (error) {
      this.#deps.onStoreFailure(error, machine);
      const held = language.hold(this.#deps.templates, this.#subject(question, decision), NOT_WRITTEN);
      return { text: held, decision, held: true };
    }
    const again = intent === null ? resolved : this.#deps.resolver.resolveWithout(intent, facts, network);
    return { text: this.#render(question, again.decision, null), decision: again.decision, held: false };
  }

  #notify({ machine, about, network, decision }: ResolvedBoot, facts: ClientFacts): void {
    const { onFinding, onUnknown, onScriptFetched, sessions } = this.#deps;
    if (machine) for (const finding of decision.findings) onFinding(machine, finding);
    // As for DHCP: an operating system that asks is no machine that boots.
    else if (about === null && network !== null && facts.program !== 'os') onUnknown(facts, network);
    if (facts.mac) onScriptFetched(facts.mac);
    if (machine && decision.because.id === 'intent-consumed') sessions?.onRestart(machine);
  }

  /** On disk before the text leaves. False: the intent was consumed by another request. */
  async #begin(machine: Machine, intent: IntentId | null, draft: DraftTicket | null): Promise<boolean> {
    if (intent !== null) return this.#deps.consume(intent, machine, draft?.ticket ?? null);
    if (draft !== null) await this.#deps.sessions?.put(draft.ticket);
    return true;
  }

  #draft({ resolved, server, forReal }: ScriptQuestion): DraftTicket | null {
    const { machine, decision } = resolved;
    const { sessions } = this.#deps;
    if (!startsOurCode(decision.outcome) || machine === null || !forReal || !sessions) return null;
    const draft = sessions.draft(machine, decision.outcome, server);
    if (draft.ok) return draft.value;
    throw new ColdironError('internal', `${machine.spec.hostname} was to start without an order: ${draft.reason}`);
  }

  #render(question: ScriptQuestion, decision: BootDecision, sessionUrl: string | null): string | null {
    return question.language.boot(this.#deps.templates, { ...this.#subject(question, decision), sessionUrl });
  }

  #subject({ resolved, facts, server }: ScriptQuestion, decision: BootDecision): BootSubject {
    const { about } = resolved;
    const architecture = about?.spec.architecture ?? facts.cpu;
    return { decision, machine: about, mac: facts.mac, server, architecture };
  }
}

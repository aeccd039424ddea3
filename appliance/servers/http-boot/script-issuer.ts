// From a request for a script to its text: facts, decision, image, the ticket for what is started, and for what destroys data
// the intent, used up for good before the text leaves.

import { type BootImage, imageFor } from '../../boot/boot-images.ts';
import type { BootServer } from '../../boot/boot-paths.ts';
import type { ResolvedBoot } from '../../boot/boot-resolver.ts';
import type { ClientFacts } from '../../boot/client-facts.ts';
import type { BootDecision, Finding } from '../../boot/decide-boot.ts';
import type { BootSubject, ScriptLanguage } from '../../boot/replies/ipxe-script.ts';
import { withoutImage, withoutIntent, withoutOrder } from '../../boot/veto.ts';
import type { IntentId } from '../../domain/intent.ts';
import type { Mac } from '../../domain/mac.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Parsed } from '../../domain/parsed.ts';
import type { Templates } from '../../render/templates.ts';
import type { NewTicket } from '../../store/session-store.ts';
import type { DraftTicket, StartingOutcome } from '../../work/sessions/tickets.ts';
import type { AvailableImages } from './available-images.ts';

export interface ScriptSessions {
  /** What the machine is to do, behind a ticket that is in no store yet; or why that cannot be said. */
  readonly draft: (machine: Machine, outcome: StartingOutcome, server: BootServer) => Parsed<DraftTicket>;
  readonly put: (ticket: NewTicket) => Promise<void>;
  /** A machine asks for a script again whose intent it has used up: what it had begun is over. */
  readonly onRestart: (machine: Machine) => void;
}

export interface ScriptIssuerDeps {
  readonly images: Pick<AvailableImages, 'find'>;
  readonly templates: Templates;
  /** True for exactly one caller, and only when it is on disk, together with the ticket. */
  readonly consume: (intent: IntentId, machine: Machine, ticket: NewTicket | null) => Promise<boolean>;
  readonly sessions?: ScriptSessions;
  readonly onFinding: (machine: Machine, finding: Finding) => void;
  readonly onScriptFetched: (mac: Mac) => void;
  readonly onStoreFailure: (error: unknown, machine: Machine) => void;
}

/** The decision as it was handed out: other than the one made, when something was missing for it. */
export interface IssuedScript {
  readonly text: string | null;
  readonly decision: BootDecision;
  readonly held: boolean;
}

export interface ScriptQuestion {
  readonly resolved: ResolvedBoot;
  readonly facts: ClientFacts;
  readonly server: BootServer;
  /** iPXE's script or GRUB's configuration. */
  readonly language: ScriptLanguage;
  /** False: only to see what it would be (HEAD). Nothing is used up and nobody is told. */
  readonly forReal: boolean;
}

interface Startable {
  readonly decision: BootDecision;
  readonly image: BootImage | null;
}

interface Started extends Startable {
  readonly draft: DraftTicket | null;
}

export class ScriptIssuer {
  readonly #deps: ScriptIssuerDeps;

  constructor(deps: ScriptIssuerDeps) {
    this.#deps = deps;
  }

  async issue(question: ScriptQuestion): Promise<IssuedScript> {
    const { resolved, facts, forReal } = question;
    const { machine } = resolved;
    if (forReal) {
      if (machine) for (const finding of resolved.decision.findings) this.#deps.onFinding(machine, finding);
      if (facts.mac) this.#deps.onScriptFetched(facts.mac);
    }
    if (forReal && machine && resolved.decision.because.id === 'intent-consumed')
      this.#deps.sessions?.onRestart(machine);
    const { decision, image, draft } = this.#withTicket(question, await this.#withImage(question));
    // The text comes first: an intent is not used up for a script that cannot be made.
    const text = this.#render(question, decision, image, draft?.url ?? null);
    const { outcome } = decision;
    const intent = 'intent' in outcome ? outcome.intent : null;
    if (machine === null || !forReal || (intent === null && draft === null)) return { text, decision, held: false };
    try {
      if (await this.#begin(machine, intent, draft)) return { text, decision, held: false };
    } catch (error) {
      this.#deps.onStoreFailure(error, machine);
      const why = 'the appliance could not write down that this begins, so it does not begin yet';
      const text = question.language.hold(this.#deps.templates, this.#subject(question, decision, null), why);
      return { text, decision, held: true };
    }
    const lost = withoutIntent(decision, machine.spec.hostname);
    return { text: this.#render(question, lost, null), decision: lost, held: false };
  }

  /** On disk before the text leaves. False: the intent was somebody else's. */
  async #begin(machine: Machine, intent: IntentId | null, draft: DraftTicket | null): Promise<boolean> {
    if (intent !== null) return this.#deps.consume(intent, machine, draft?.ticket ?? null);
    if (draft !== null) await this.#deps.sessions?.put(draft.ticket);
    return true;
  }

  #withTicket({ resolved, server, forReal }: ScriptQuestion, { decision, image }: Startable): Started {
    const { outcome } = decision;
    const { machine } = resolved;
    const { sessions } = this.#deps;
    const starts = outcome.kind === 'service-os' || outcome.kind === 'installer';
    if (!starts || machine === null || !forReal || !sessions) return { decision, image, draft: null };
    const draft = sessions.draft(machine, outcome, server);
    if (draft.ok) return { decision, image, draft: draft.value };
    return { decision: withoutOrder(decision, machine.spec.hostname, draft.reason), image: null, draft: null };
  }

  async #withImage({ resolved, facts }: ScriptQuestion): Promise<Startable> {
    const { decision, machine, profile } = resolved;
    const { outcome } = decision;
    if (outcome.kind !== 'service-os' && outcome.kind !== 'installer') return { decision, image: null };
    const name = machine?.spec.hostname ?? facts.mac ?? 'this machine';
    const architecture = machine?.spec.architecture ?? facts.cpu;
    if (architecture === null) {
      return {
        decision: withoutImage(decision, name, 'a service OS for an architecture that it does not tell'),
        image: null,
      };
    }
    const wanted = imageFor(outcome, architecture, profile);
    const found = wanted && (await this.#deps.images.find(wanted));
    if (found?.ok) return { decision, image: found.value };
    return { decision: withoutImage(decision, name, found?.reason ?? 'an image that nobody named'), image: null };
  }

  #render(
    question: ScriptQuestion,
    decision: BootDecision,
    image: BootImage | null,
    sessionUrl: string | null = null,
  ): string | null {
    return question.language.boot(this.#deps.templates, {
      ...this.#subject(question, decision, image),
      sessionUrl,
    });
  }

  #subject({ resolved, facts, server }: ScriptQuestion, decision: BootDecision, image: BootImage | null): BootSubject {
    const { about } = resolved;
    const architecture = about?.spec.architecture ?? facts.cpu;
    return { decision, machine: about, mac: facts.mac, server, architecture, image };
  }
}

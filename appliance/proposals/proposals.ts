// Proposals: made, approved, carried out exactly once. A proposal that is approved is carried out at once; after a crash, the next sweep
// continues. The command id of the operation is derived from the proposal, so a second attempt writes nothing.

import { ColdironError } from '../domain/errors.ts';
import type { Json } from '../domain/event.ts';
import { HOUR, type Instant } from '../domain/instant.ts';
import { shown } from '../domain/parsed.ts';
import { type Approver, isOver, type Proposal, type ProposalId, type ProposalState } from '../domain/proposal.ts';
import type { ProposalQuery, ProposalStore } from '../store/proposal-store.ts';
import { approved, carriedOut, ended, isExpired, made, type ProposalChange, rejected } from './decide.ts';
import { type NewProposal, newProposal } from './new-proposal.ts';

export interface ProposalDeps {
  readonly store: ProposalStore;
  readonly now: () => Instant;
  readonly newId: () => string;
  readonly log: { error(fields: object, message: string): void };
  /** Executes the operation as a direct call would; a repetition returns the answer of the first. */
  readonly carryOut: (proposal: Proposal) => Promise<Json>;
  /** Throws `version_conflict`, which lists the changes, when the plan no longer holds. */
  readonly checkPlan: (proposal: Proposal) => Promise<void>;
}

export type Proposed = Omit<NewProposal, 'proposedAt' | 'expiresAt'>;

interface By {
  readonly approver: Approver;
  readonly correlationId: string | null;
}

/** Long enough for a person to look, short enough that the plan still describes the machine. */
export const APPROVAL_TIME = HOUR;
export const MOST_OPEN = 50;
const SWEPT_AT_ONCE = 500;

export class Proposals {
  readonly #deps: ProposalDeps;
  /** Proposals that this process carries out now. */
  readonly #running = new Map<ProposalId, Promise<Proposal>>();

  constructor(deps: ProposalDeps) {
    this.#deps = deps;
  }

  /** Returns the open proposal of the same change if there is one. */
  async propose(proposed: Proposed): Promise<Proposal> {
    const { store, now, newId } = this.#deps;
    const at = now();
    const { proposal, events, audit } = made(
      newProposal(newId(), { ...proposed, proposedAt: at, expiresAt: at + APPROVAL_TIME }),
    );
    let open = await store.createProposal(proposal, events, audit, MOST_OPEN);
    if (isExpired(open, at)) {
      await this.#end(open, 'expired', EXPIRED);
      open = await store.createProposal(proposal, events, audit, MOST_OPEN);
    }
    return open.state === 'approved' ? this.settle(open) : open;
  }

  async find(id: string): Promise<Proposal> {
    const proposal = await this.#deps.store.proposal(id as ProposalId);
    if (proposal) return proposal;
    const hint = 'List the proposals: coldiron proposals list --all';
    throw new ColdironError('not_found', `there is no proposal ${shown(id)}`, [], hint);
  }

  list(query: ProposalQuery): Promise<Proposal[]> {
    return this.#deps.store.proposals(query);
  }

  /** The newest change of this kind that was carried out. */
  async last(subject: string): Promise<Proposal | null> {
    const states: readonly ProposalState[] = ['carried-out'];
    return (await this.#deps.store.proposals({ subject, states, limit: 1 }))[0] ?? null;
  }

  async approve(id: string, { approver, correlationId }: By, hash: string, note: string | null): Promise<Proposal> {
    const { now, checkPlan } = this.#deps;
    const proposal = await this.find(id);
    const change = approved(proposal, approver, { at: now(), correlationId, hash, note });
    try {
      await checkPlan(proposal);
    } catch (error) {
      if (!(error instanceof ColdironError) || !isStale(error)) throw error;
      await this.#end(proposal, 'failed', staleText(error));
      throw error;
    }
    await this.#write(change);
    return change.proposal.state === 'approved' ? this.settle(change.proposal) : change.proposal;
  }

  async reject(id: string, { approver, correlationId }: By, reason: string): Promise<Proposal> {
    const proposal = await this.find(id);
    const change = rejected(proposal, approver, { at: this.#deps.now(), correlationId, reason });
    await this.#write(change);
    return change.proposal;
  }

  /** Carries an approved proposal out, and returns how it ended. A store that fails leaves it approved. */
  async settle(proposal: Proposal): Promise<Proposal> {
    const { id, state, carriedOutBy } = proposal;
    if (state !== 'approved' || carriedOutBy !== 'appliance') return proposal;
    const running = this.#running.get(id);
    if (running !== undefined) return running;
    const settling = this.#settle(proposal).finally(() => this.#running.delete(id));
    this.#running.set(id, settling);
    return settling;
  }

  /** Continues what a crash interrupted, and ends what has expired. */
  async sweep(): Promise<void> {
    const { store, now, log } = this.#deps;
    const open = await store.proposals({ states: ['proposed', 'approved'], limit: SWEPT_AT_ONCE });
    for (const proposal of open) {
      try {
        if (isExpired(proposal, now())) await this.#end(proposal, 'expired', EXPIRED);
        else await this.settle(proposal);
      } catch (error) {
        log.error({ err: error, proposal: proposal.id }, 'a proposal could not be continued');
      }
    }
  }

  async #settle(proposal: Proposal): Promise<Proposal> {
    const { carryOut, now } = this.#deps;
    try {
      const result = await carryOut(proposal);
      // The change itself may have settled it, in its own transaction.
      const known = await this.find(proposal.id);
      if (isOver(known.state)) return known;
      const by = { actor: proposal.proposedBy, at: now(), correlationId: proposal.correlationId };
      const change = carriedOut(known, result, by);
      await this.#write(change);
      return change.proposal;
    } catch (error) {
      if (!(error instanceof ColdironError) || isTransient(error)) throw error;
      const reason = isStale(error) ? staleText(error) : [error.message, ...error.details].join('; ');
      return this.#end(proposal, 'failed', reason);
    }
  }

  async #end(proposal: Proposal, state: 'expired' | 'failed', reason: string): Promise<Proposal> {
    const by = { actor: 'appliance', at: this.#deps.now(), correlationId: proposal.correlationId };
    const change = ended(proposal, state, reason, by);
    await this.#write(change);
    return change.proposal;
  }

  #write({ proposal, events, audit }: ProposalChange): Promise<void> {
    return this.#deps.store.updateProposal(proposal, events, audit);
  }
}

const EXPIRED = 'it was not approved in time';

const isStale = (error: ColdironError): boolean => error.code === 'version_conflict';

const staleText = ({ message, details }: ColdironError): string =>
  ['what it was planned for has changed', message, ...details].join('; ');

/** Trying again may succeed. `outcome_unknown` of an operation that must not be repeated is final. */
const isTransient = ({ code }: ColdironError): boolean =>
  code === 'store_unavailable' || code === 'request_in_progress';

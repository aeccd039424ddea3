// Changes of access objects: read, decide, write the next version; every change and every refusal is audited.

import type { AccessKind, AccessObjects, AccessVersion } from '../domain/access-object.ts';
import { ColdironError } from '../domain/errors.ts';
import { type Json, type NewAuditEntry, type NewEvent, newEvent, type Origin } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import { type ObjectName, parseObjectName } from '../domain/names.ts';
import type { Parsed } from '../domain/parsed.ts';
import type { Role } from '../domain/token.ts';
import type { Store } from '../store/store.ts';

export interface AccessChangesDeps {
  readonly store: Pick<Store, 'accessVersions' | 'putAccessVersion' | 'appendAudit' | 'appendEvents'>;
  readonly now: () => Instant;
}

/** Who asks: an admin may change everything, others what they own. */
export interface AccessCaller {
  readonly origin: Origin;
  readonly role: Role;
}

export interface AccessStep<Kind extends AccessKind> {
  readonly value: AccessObjects[Kind];
  /** For the trail. */
  readonly change: string;
  /** The persons whose objects it changes; empty: it is for admins. */
  readonly owners: readonly ObjectName[];
}

/** Null: the object is as requested already, and stays. */
export type DecideAccess<Kind extends AccessKind> = (before: AccessVersion<Kind> | null) => AccessStep<Kind> | null;

const MAX_TRIES = 5;

export class AccessChanges {
  readonly #deps: AccessChangesDeps;

  constructor(deps: AccessChangesDeps) {
    this.#deps = deps;
  }

  /** `request` is the verb in the audit log. A concurrent change makes it decide again. */
  async change<Kind extends AccessKind>(
    kind: Kind,
    name: string,
    request: string,
    caller: AccessCaller,
    decide: DecideAccess<Kind>,
  ): Promise<AccessVersion<Kind>> {
    const object = `${kind}:${name}`;
    return this.audited(object, request, caller, async () => {
      for (let tries = 1; ; tries += 1) {
        const [before = null] = await this.#deps.store.accessVersions(kind, name, 1);
        const step = decide(before);
        if (step === null) {
          if (!before) throw new ColdironError('not_found', `there is no ${object}`);
          mustOwn(caller, 'owner' in before.value ? [before.value.owner] : []);
          return before;
        }
        mustOwn(caller, step.owners);
        try {
          return await this.#deps.store.putAccessVersion(this.#versionOf(kind, name, request, caller, before, step));
        } catch (error) {
          const isStale = error instanceof ColdironError && error.code === 'version_conflict';
          if (!isStale || tries === MAX_TRIES) throw error;
        }
      }
    });
  }

  #versionOf<Kind extends AccessKind>(
    kind: Kind,
    name: string,
    request: string,
    caller: AccessCaller,
    before: AccessVersion<Kind> | null,
    { value, change }: AccessStep<Kind>,
  ) {
    const [after, object] = [before?.version ?? 0, `${kind}:${name}`];
    const { at, actor, correlationId } = this.frame(caller);
    const audit: NewAuditEntry = {
      ...{ at, actor, correlationId, action: `${kind}.${request}`, target: object },
      before: asJson(before?.value ?? null),
      after: asJson(value),
    };
    const data = { object, change, version: after + 1 };
    const events: NewEvent[] = [newEvent(this.frame(caller), 'access.changed', data)];
    return { kind, name, after, at, value, events, audit };
  }

  /** A refusal for lack of rights or because of the state is audited, too: who tried what, and why not. */
  async audited<T>(object: string, request: string, caller: AccessCaller, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ColdironError && (error.code === 'forbidden' || error.code === 'conflict')) {
        const { at, actor, correlationId } = this.frame(caller);
        const reason = error.message;
        const entry = { action: 'access.refused', target: object, before: null, after: { request, reason } };
        await this.#deps.store.appendAudit([{ at, actor, correlationId, ...entry }]);
        const data = { object, request, reason };
        await this.#deps.store.appendEvents([newEvent(this.frame(caller), 'access.refused', data)]);
      }
      throw error;
    }
  }

  frame({ origin: { actor, correlationId } }: AccessCaller) {
    return { at: this.#deps.now(), actor, correlationId, machine: null };
  }
}

/** `token:alice` and `local:alice` are alice. */
export const personOf = ({ origin: { actor } }: AccessCaller): string => actor.slice(actor.indexOf(':') + 1);

export function ownerOf(given: string | undefined, caller: AccessCaller): ObjectName {
  return must(parseObjectName(given ?? personOf(caller)), 'owner');
}

export function mustOwn(caller: AccessCaller, owners: readonly ObjectName[]): void {
  if (caller.role === 'admin') return;
  const person = personOf(caller);
  const other = owners.find((owner) => owner !== person);
  if (other !== undefined || owners.length === 0) {
    throw new ColdironError(
      'forbidden',
      other === undefined ? 'this needs the role admin' : `this belongs to ${other}, and you are ${person}`,
      [],
      'Only the owner and admins may change it.',
    );
  }
}

export function must<T>(result: Parsed<T>, field: string): T {
  if (!result.ok) throw new ColdironError('invalid_request', `${field}: ${result.reason}`);
  return result.value;
}

const asJson = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;

// Sudo policies: written by one person, and used only after a person has reviewed exactly this version. Every change is audited.

import { createHash } from 'node:crypto';
import type { AccessVersion, SudoPolicy } from '../domain/access-object.ts';
import type { AllocationSudo } from '../domain/allocation.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Instant } from '../domain/instant.ts';
import { parseObjectName } from '../domain/names.ts';
import { shown } from '../domain/parsed.ts';
import { MAX_SUDO_COMMANDS, parseSudoCommand, sudoersPath, sudoersText } from '../domain/sudo-policy.ts';
import type { Store } from '../store/store.ts';
import { type AccessCaller, AccessChanges, must, ownerOf } from './access-changes.ts';

export interface SudoPoliciesDeps {
  readonly store: Pick<Store, 'accessObjects' | 'accessVersions' | 'putAccessVersion' | 'appendAudit' | 'appendEvents'>;
  readonly now: () => Instant;
}

export class SudoPolicies {
  readonly #deps: SudoPoliciesDeps;
  readonly #changes: AccessChanges;

  constructor(deps: SudoPoliciesDeps) {
    this.#deps = deps;
    this.#changes = new AccessChanges(deps);
  }

  /** Removed ones are left out. */
  async list(): Promise<AccessVersion<'sudo-policy'>[]> {
    return (await this.#deps.store.accessObjects('sudo-policy')).filter(({ value }) => !value.removed);
  }

  /** A changed list needs a new review. */
  async put(name: string, owner: string | undefined, commands: readonly string[], caller: AccessCaller) {
    const policy = must(parseObjectName(name), 'policy');
    const list = [...new Set(commands.map((command) => must(parseSudoCommand(command), 'commands')))];
    if (list.length === 0) throw new ColdironError('invalid_request', 'commands: a policy has at least one command');
    if (list.length > MAX_SUDO_COMMANDS) {
      throw new ColdironError('invalid_request', `commands: at most ${MAX_SUDO_COMMANDS} in one policy`);
    }
    return this.#changes.change('sudo-policy', policy, 'declare', caller, (before) => {
      const known = before?.value.removed === false ? before.value : null;
      const value: SudoPolicy = {
        ...{ owner: ownerOf(owner ?? known?.owner, caller), commands: list, review: null, removed: false },
      };
      if (known && known.owner === value.owner && same(known.commands, list)) return null;
      const owners = [value.owner, ...(known ? [known.owner] : [])];
      return { value, change: `${list.length} commands`, owners };
    });
  }

  /** The reviewer names the checksum of what they have read; it is recorded with their name. */
  async review(name: string, checksum: string, caller: AccessCaller) {
    const { origin } = caller;
    return this.#changes.change('sudo-policy', name, 'review', caller, (before) => {
      const policy = present(before, name);
      const current = policyChecksum(policy.commands);
      if (checksum !== current) {
        throw new ColdironError('conflict', `checksum: the policy ${name} is ${current} now`, [], SHOW_HINT);
      }
      if (policy.review?.checksum === checksum) return null;
      const review = { by: origin.actor, at: this.#deps.now(), checksum };
      return { value: { ...policy, review }, change: `reviewed by ${origin.actor}`, owners: [] };
    });
  }

  async remove(name: string, caller: AccessCaller) {
    return this.#changes.change('sudo-policy', name, 'remove', caller, (before) => {
      if (!before) throw absent(name);
      if (before.value.removed) return null;
      const value = { ...before.value, review: null, removed: true };
      return { value, change: 'removed', owners: [before.value.owner] };
    });
  }

  /** What an allocation records: the exact file for this user, its place and checksum, and who reviewed the policy. */
  async forUser(name: string, user: string): Promise<AllocationSudo> {
    const [newest = null] = await this.#deps.store.accessVersions('sudo-policy', name, 1);
    const { commands, review } = present(newest, name);
    if (review === null || newest === null) {
      throw new ColdironError('conflict', `the sudo policy ${name} has not been reviewed`, [], SHOW_HINT);
    }
    const text = sudoersText(user, commands);
    return {
      ...{ policy: newest.name, version: newest.version, reviewer: review.by, text },
      checksum: sha256(text),
      path: sudoersPath(user),
    };
  }
}

const SHOW_HINT =
  'Read it and review it: coldiron sudo-policies list, then coldiron sudo-policies review POLICY --checksum SUM';

/** What a reviewer confirms: the same for every user. */
export const policyChecksum = (commands: readonly string[]): string => sha256(sudoersText('USER', commands));

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const absent = (name: string): ColdironError =>
  new ColdironError(
    'not_found',
    `there is no sudo policy ${shown(name)}`,
    [],
    'List them: coldiron sudo-policies list',
  );

function present(before: AccessVersion<'sudo-policy'> | null, name: string): SudoPolicy {
  if (!before || before.value.removed) throw absent(name);
  return before.value;
}

const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item, at) => item === b[at]);

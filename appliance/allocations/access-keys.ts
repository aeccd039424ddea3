// SSH keys, key sets and the default key sets of sites: who may change them, and every change and refusal in the audit log.

import {
  type AccessVersion,
  type KeySet,
  MAX_ACCESS_OBJECTS,
  parseSshKeyId,
  type SshKeyId,
} from '../domain/access-object.ts';
import { ALLOCATION_STATE_NAMES, allocationText, isOpen } from '../domain/allocation.ts';
import { ColdironError } from '../domain/errors.ts';
import { newEvent } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import { type ObjectName, parseObjectName } from '../domain/names.ts';
import { shown } from '../domain/parsed.ts';
import type { Store } from '../store/store.ts';
import { type AccessCaller, AccessChanges, type AccessStep, must, mustOwn, ownerOf } from './access-changes.ts';
import type { KeyProbe } from './key-probe.ts';
import {
  declaredSet,
  type KeyBook,
  type KeySetStep,
  removedSet,
  rolledBack,
  rotationFinished,
  rotationStarted,
  rotationValidated,
} from './key-sets.ts';
import { parseSshPublicKey } from './ssh-public-key.ts';

export interface AccessKeysDeps {
  readonly store: Pick<
    Store,
    'accessObjects' | 'accessVersions' | 'putAccessVersion' | 'appendAudit' | 'appendEvents' | 'allocations'
  >;
  readonly now: () => Instant;
  readonly probe: KeyProbe;
  readonly siteExists: (site: ObjectName) => boolean;
}

export interface KeyLogin {
  readonly host: string;
  readonly port: number;
  readonly username: string;
}

/** How many versions of an object are read to show and to restore. */
const VERSIONS_READ = 100;

export class AccessKeys {
  readonly #deps: AccessKeysDeps;
  readonly #changes: AccessChanges;

  constructor(deps: AccessKeysDeps) {
    this.#deps = deps;
    this.#changes = new AccessChanges(deps);
  }

  /** Removed keys are left out. */
  async keys(): Promise<AccessVersion<'ssh-key'>[]> {
    return (await this.#deps.store.accessObjects('ssh-key')).filter(({ value }) => !value.removed);
  }

  async book(): Promise<KeyBook> {
    return new Map((await this.#deps.store.accessObjects('ssh-key')).map(({ name, value }) => [name, value]));
  }

  async add(text: string, owner: string | undefined, caller: AccessCaller): Promise<AccessVersion<'ssh-key'>> {
    const key = must(parseSshPublicKey(text), 'key');
    const { line, fingerprint, comment, id } = key;
    const value = { owner: ownerOf(owner, caller), line, fingerprint, comment, removed: false };
    return this.#changes.change('ssh-key', id, 'add', caller, (before) => {
      if (before?.value.removed === false) {
        if (before.value.owner === value.owner) return null;
        throw new ColdironError('conflict', `this key (${fingerprint}) belongs to ${before.value.owner}`);
      }
      return { value, change: `added ${fingerprint} of ${value.owner}`, owners: [value.owner] };
    });
  }

  async remove(id: string, caller: AccessCaller): Promise<AccessVersion<'ssh-key'>> {
    const users = (await this.sets()).filter(({ value }) => value.keys.includes(id as SshKeyId));
    return this.#changes.change('ssh-key', must(parseSshKeyId(id), 'key'), 'remove', caller, (before) => {
      const { value } = existing(before, `there is no SSH key ${shown(id)}`);
      if (value.removed) return null;
      if (users.length > 0) {
        const names = users.map(({ name }) => name).join(', ');
        throw new ColdironError('conflict', `this key is in the key sets ${names}: take it out of them first`);
      }
      return { value: { ...value, removed: true }, change: `removed ${value.fingerprint}`, owners: [value.owner] };
    });
  }

  /** Removed sets are left out. */
  async sets(): Promise<AccessVersion<'key-set'>[]> {
    return (await this.#deps.store.accessObjects('key-set')).filter(({ value }) => !value.removed);
  }

  /** The newest version first. */
  async setVersions(name: string): Promise<AccessVersion<'key-set'>[]> {
    const versions = await this.#deps.store.accessVersions('key-set', name, VERSIONS_READ);
    if (versions.length === 0)
      throw new ColdironError('not_found', `there is no key set ${shown(name)}`, [], SETS_HINT);
    return versions;
  }

  async putSet(name: string, owner: string | undefined, keys: readonly string[], caller: AccessCaller) {
    const [set, book] = [must(parseObjectName(name), 'set'), await this.book()];
    const ids = keys.map((id) => must(parseSshKeyId(id), 'keys'));
    return this.#changeSet(set, 'declare', caller, (before) => {
      const owned = owner ?? before?.value.owner;
      return declaredSet(before?.value ?? null, ownerOf(owned, caller), ids, book);
    });
  }

  async removeSet(name: string, caller: AccessCaller) {
    const users = await this.#usersOf(name);
    return this.#changeSet(name, 'remove', caller, (before) => {
      const { value } = existing(before, `there is no key set ${shown(name)}`);
      if (value.removed) return null;
      if (users.length > 0) throw new ColdironError('conflict', `the key set ${name} is in use`, users);
      return removedSet(value);
    });
  }

  /** Sites whose default it is, and allocations that name it: without it nobody could log in there. */
  async #usersOf(name: string): Promise<string[]> {
    const { store } = this.#deps;
    const states = ALLOCATION_STATE_NAMES.filter(isOpen);
    const allocations = await store.allocations({ states, limit: MAX_ACCESS_OBJECTS });
    return [
      ...(await store.accessObjects('site-keys')).flatMap((site) =>
        site.value.keySet === name ? [`default key set of ${site.name}`] : [],
      ),
      ...allocations.flatMap(({ allocation }) => (allocation.keySet === name ? [allocationText(allocation)] : [])),
    ];
  }

  async rotate(name: string, from: string, to: string, caller: AccessCaller) {
    const book = await this.book();
    const [old, fresh] = [must(parseSshKeyId(from), 'from'), must(parseSshKeyId(to), 'to')];
    return this.#changeSet(name, 'rotate', caller, (before) =>
      rotationStarted(present(before, name), old, fresh, book),
    );
  }

  /** Asks the server whether it accepts the new key. `probe_failed` with the server's answer if it does not. */
  async validate(name: string, login: KeyLogin, caller: AccessCaller) {
    const [current] = await this.setVersions(name);
    const rotation = current?.value.rotation;
    // Before the probe: a caller without the right to change the set must not make the appliance connect anywhere.
    await this.#changes.audited(`key-set:${name}`, 'validate', caller, async () => {
      if (current) mustOwn(caller, [current.value.owner]);
      if (!rotation) throw new ColdironError('conflict', 'no rotation of this set has started');
    });
    if (!rotation) throw new ColdironError('conflict', 'no rotation of this set has started');
    const line = (await this.book()).get(rotation.to)?.line ?? '';
    const answer = await this.#deps.probe({ ...login, line });
    const { host, username } = login;
    if (!answer.accepted) {
      const about = { object: `key-set:${name}`, key: rotation.to, host, username };
      const { reason, hostKey } = answer;
      await this.#deps.store.appendEvents([
        newEvent(this.#changes.frame(caller), 'access.not_validated', { ...about, reason, host_key: hostKey }),
      ]);
      throw new ColdironError(
        'probe_failed',
        `${username}@${host} port ${login.port}: ${reason}`,
        [],
        'Check that the node has the keys of the set, and that host and user are right; the old key stays.',
      );
    }
    const validation = { at: this.#deps.now(), host, username, hostKey: answer.hostKey };
    return this.#changeSet(name, 'validate', caller, (before) =>
      rotationValidated(present(before, name), rotation.to, validation),
    );
  }

  async finish(name: string, caller: AccessCaller) {
    return this.#changeSet(name, 'finish', caller, (before) => rotationFinished(present(before, name)));
  }

  async rollBack(name: string, version: number | undefined, caller: AccessCaller) {
    const [versions, book] = [await this.setVersions(name), await this.book()];
    return this.#changeSet(name, 'rollback', caller, () => rolledBack(versions, version, book));
  }

  siteKeys(): Promise<AccessVersion<'site-keys'>[]> {
    return this.#deps.store.accessObjects('site-keys');
  }

  async putSiteKeys(site: string, keySet: string | null, caller: AccessCaller) {
    const name = this.#site(site);
    const sets = await this.sets();
    return this.#changes.change('site-keys', name, 'assign', caller, (before) => {
      if (keySet !== null && !sets.some((set) => set.name === keySet)) {
        throw new ColdironError('not_found', `there is no key set ${shown(keySet)}`, [], SETS_HINT);
      }
      if ((before?.value.keySet ?? null) === keySet) return before ? null : assigned(null);
      return assigned(keySet as ObjectName | null);
    });
  }

  /** The assignment before the current one. */
  async rollBackSiteKeys(site: string, caller: AccessCaller) {
    const name = this.#site(site);
    const [, previous] = await this.#deps.store.accessVersions('site-keys', name, 2);
    if (!previous) throw new ColdironError('conflict', `${name} had no default keys before`);
    return this.putSiteKeys(name, previous.value.keySet, caller);
  }

  #site(text: string): ObjectName {
    const name = parseObjectName(text);
    if (!name.ok || !this.#deps.siteExists(name.value)) {
      throw new ColdironError('not_found', `there is no site ${shown(text)}`);
    }
    return name.value;
  }

  #changeSet(
    name: string,
    request: string,
    caller: AccessCaller,
    decide: (before: AccessVersion<'key-set'> | null) => KeySetStep | null,
  ): Promise<AccessVersion<'key-set'>> {
    return this.#changes.change('key-set', name, request, caller, (before) => {
      const step = decide(before);
      return step && { ...step, owners: [step.value.owner, ...(before ? [before.value.owner] : [])] };
    });
  }
}

const SETS_HINT = 'List the key sets: coldiron key-sets list';

const assigned = (keySet: ObjectName | null): AccessStep<'site-keys'> => ({
  value: { keySet },
  change: keySet === null ? 'no default keys' : `default keys are ${keySet}`,
  owners: [],
});

function existing<T>(value: T | null, otherwise: string): T {
  if (value === null) throw new ColdironError('not_found', otherwise, [], SETS_HINT);
  return value;
}

function present(before: AccessVersion<'key-set'> | null, name: string): KeySet {
  const { value } = existing(before, `there is no key set ${shown(name)}`);
  if (value.removed) throw new ColdironError('conflict', `the key set ${name} is removed`, [], SETS_HINT);
  return value;
}

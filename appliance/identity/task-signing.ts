// Tasks are signed, so that a node does what its control plane said and nothing that somebody on the way says. The next key is
// known to the nodes before it signs, and the last one is accepted for a while after.

import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { ColdironError } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import { canonicalJson, type Json } from '../domain/event.ts';
import { type Instant, instantText } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { TaskVerifier } from '../render/bundle/bundle.ts';
import type { EnrollmentStore, SigningKeyId, SigningKeyRecord } from '../store/enrollment-store.ts';
import { signingKeyAudit } from './enrollment-records.ts';
import { fingerprintOf } from './fingerprint.ts';
import type { KeyFolder } from './key-folder.ts';
import type { EnrollmentSettings } from './settings.ts';

/** Bound to its node and to a time: neither another node nor a later day can use it. */
export interface TaskToSign {
  readonly taskId: string;
  readonly nodeId: MachineId;
  readonly kind: string;
  readonly parameters: Json;
  readonly issuedAt: Instant;
  readonly expiresAt: Instant;
}

export interface SignedTask {
  readonly keyId: SigningKeyId;
  /** The exact text that was signed. The node checks these bytes before it reads them. */
  readonly payload: string;
  /** Ed25519 (RFC 8032), in base64: `openssl pkeyutl -verify -rawin` takes it. */
  readonly signature: string;
}

export interface TaskSigner {
  sign(task: TaskToSign): Promise<SignedTask>;
  /** The one in use first. */
  verifiers(): Promise<TaskVerifier[]>;
  stage(onBehalf: Origin): Promise<SigningKeyId>;
  /** `conflict` when none is staged. */
  activate(onBehalf: Origin): Promise<SigningKeyId>;
  /** Those whose grace is over are accepted no longer. */
  retireOld(): Promise<SigningKeyId[]>;
}

export interface TaskSignerDeps {
  readonly store: Pick<
    EnrollmentStore,
    'signingKeys' | 'createFirstSigningKey' | 'stageSigningKey' | 'activateSigningKey' | 'retireSigningKeys'
  >;
  readonly keys: KeyFolder;
  readonly now: () => Instant;
  readonly settings: Pick<EnrollmentSettings, 'signingGrace'>;
}

const APPLIANCE: Origin = { actor: 'appliance', correlationId: null };
const SHOWN_STATES = ['active', 'staged', 'grace'] as const;

export async function openTaskSigner(dependencies: TaskSignerDeps): Promise<TaskSigner> {
  const { store, keys, now, settings } = dependencies;
  if ((await store.signingKeys()).length === 0) {
    const first = await makeKey(dependencies, 'active');
    await store.createFirstSigningKey(first, signingKeyAudit('task_signing_key.created', first.id, now(), APPLIANCE));
  }
  const inState = async (state: SigningKeyRecord['state']): Promise<SigningKeyRecord> => {
    const found = (await store.signingKeys()).find((key) => key.state === state);
    if (!found) throw new ColdironError('conflict', `no task-signing key is ${state}`);
    return found;
  };
  await keys.read((await inState('active')).id);

  return {
    sign: async (task) => {
      const { id } = await inState('active');
      const payload = taskText(task);
      return {
        keyId: id,
        payload,
        signature: sign(null, Buffer.from(payload), await keys.read(id)).toString('base64'),
      };
    },
    verifiers: async () => {
      const known = await store.signingKeys();
      return SHOWN_STATES.flatMap((state) =>
        known
          .filter((key) => key.state === state && (key.graceUntil === null || now() < key.graceUntil))
          .map(({ id, publicKey }) => ({ state, id, publicKey })),
      );
    },
    stage: async (onBehalf) => {
      const key = await makeKey(dependencies, 'staged');
      await store.stageSigningKey(key, signingKeyAudit('task_signing_key.staged', key.id, now(), onBehalf));
      return key.id;
    },
    activate: async (onBehalf) => {
      const { id } = await inState('staged');
      await keys.read(id);
      const graceUntil = now() + settings.signingGrace;
      await store.activateSigningKey(
        id,
        now(),
        graceUntil,
        signingKeyAudit('task_signing_key.activated', id, now(), onBehalf, { grace_until: instantText(graceUntil) }),
      );
      return id;
    },
    retireOld: () =>
      store.retireSigningKeys(now(), (id) => signingKeyAudit('task_signing_key.retired', id, now(), APPLIANCE)),
  };
}

const taskText = (task: TaskToSign): string =>
  canonicalJson({
    task_id: task.taskId,
    node_id: task.nodeId,
    kind: task.kind,
    parameters: task.parameters,
    issued_at: instantText(task.issuedAt),
    expires_at: instantText(task.expiresAt),
  });

async function makeKey({ keys, now }: TaskSignerDeps, state: 'active' | 'staged'): Promise<SigningKeyRecord> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const spki = publicBytes(privateKey);
  const id = fingerprintOf(spki).slice(0, 16) as SigningKeyId;
  await keys.write(id, privateKey);
  return {
    id,
    state,
    publicKey: spki.toString('base64'),
    createdAt: now(),
    activatedAt: state === 'active' ? now() : null,
    graceUntil: null,
  };
}

const publicBytes = (key: KeyObject): Buffer => createPublicKey(key).export({ format: 'der', type: 'spki' });

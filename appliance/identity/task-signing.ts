// Signs tasks, so that a node runs only tasks of its control plane and none injected on the way. Nodes know the next key
// before it signs, and accept the previous one for a grace period.

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

/** Bound to one node and a lifetime: it cannot be replayed to another node or later. */
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
  /** The exact signed text. The node verifies these bytes before it parses them. */
  readonly payload: string;
  /** Ed25519 (RFC 8032), in base64: `openssl pkeyutl -verify -rawin` accepts it. */
  readonly signature: string;
}

export interface TaskSigner {
  sign(task: TaskToSign): Promise<SignedTask>;
  /** Signs other text for nodes, which must not have the form of a task. */
  signText(text: string): Promise<SignedTask>;
  /** The active key comes first. */
  verifiers(): Promise<TaskVerifier[]>;
  stage(origin: Origin): Promise<SigningKeyId>;
  /** `conflict` when none is staged. */
  activate(origin: Origin): Promise<SigningKeyId>;
  /** Retires the keys whose grace period is over. */
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

export async function openTaskSigner(deps: TaskSignerDeps): Promise<TaskSigner> {
  const { store, keys, now, settings } = deps;
  if ((await store.signingKeys()).length === 0) {
    const first = await makeKey(deps, 'active');
    await store.createFirstSigningKey(first, signingKeyAudit('task_signing_key.created', first.id, now(), APPLIANCE));
  }
  const inState = async (state: SigningKeyRecord['state']): Promise<SigningKeyRecord> => {
    const found = (await store.signingKeys()).find((key) => key.state === state);
    if (!found) throw new ColdironError('conflict', `no task-signing key is ${state}`);
    return found;
  };
  await keys.read((await inState('active')).id);

  const signText: TaskSigner['signText'] = async (payload) => {
    const { id } = await inState('active');
    const signature = sign(null, Buffer.from(payload), await keys.read(id)).toString('base64');
    return { keyId: id, payload, signature };
  };

  return {
    sign: (task) => signText(taskText(task)),
    signText,
    verifiers: async () => {
      const known = await store.signingKeys();
      return SHOWN_STATES.flatMap((state) =>
        known
          .filter((key) => key.state === state && (key.graceUntil === null || now() < key.graceUntil))
          .map(({ id, publicKey }) => ({ state, id, publicKey })),
      );
    },
    stage: async (origin) => {
      const key = await makeKey(deps, 'staged');
      await store.stageSigningKey(key, signingKeyAudit('task_signing_key.staged', key.id, now(), origin));
      return key.id;
    },
    activate: async (origin) => {
      const { id } = await inState('staged');
      await keys.read(id);
      const graceUntil = now() + settings.signingGrace;
      await store.activateSigningKey(
        id,
        now(),
        graceUntil,
        signingKeyAudit('task_signing_key.activated', id, now(), origin, { grace_until: instantText(graceUntil) }),
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

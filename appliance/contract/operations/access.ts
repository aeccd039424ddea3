// The operations on SSH keys, key sets and the default keys of sites.

import { type Operation, V1, WRITES } from '../operation.ts';

const reads = { method: 'GET', access: 'viewer', tag: 'access', errors: [], write: null } as const;
/** Operators change what they own; admins change everything. */
const writes = {
  method: 'POST',
  access: 'operator',
  tag: 'access',
  errors: ['conflict', 'not_found'],
  write: { ...WRITES, idempotent: true },
} as const;
const SET = `${V1}/key-sets/:set`;
const POLICY = `${V1}/sudo-policies/:policy`;
const SITE = `${V1}/sites/:site/key-set`;

export const ACCESS_OPERATIONS = {
  listSshKeys: { ...reads, path: `${V1}/ssh-keys`, summary: 'List the SSH keys of people', cli: 'keys list' },
  addSshKey: {
    ...writes,
    path: `${V1}/ssh-keys`,
    status: 201,
    summary: 'Add an SSH public key; without an owner it belongs to the caller',
    cli: 'keys add',
  },
  removeSshKey: {
    ...writes,
    method: 'DELETE',
    path: `${V1}/ssh-keys/:key`,
    summary: 'Remove an SSH key; refused while a key set contains it',
    cli: 'keys remove',
  },
  listKeySets: { ...reads, path: `${V1}/key-sets`, summary: 'List the key sets', cli: 'key-sets list' },
  getKeySet: { ...reads, path: SET, summary: 'Read a key set with its versions', cli: 'key-sets show' },
  putKeySet: {
    ...writes,
    method: 'PUT',
    path: SET,
    summary: 'Set the keys of a key set; refused during a rotation',
    cli: 'key-sets set',
  },
  removeKeySet: {
    ...writes,
    method: 'DELETE',
    path: SET,
    summary: 'Remove a key set; refused while something uses it',
    cli: 'key-sets remove',
  },
  rotateKeySet: {
    ...writes,
    path: `${SET}/rotate`,
    summary: 'Begin to replace a key: the new key is added, and the old key stays until the rotation is finished',
    cli: 'key-sets rotate',
  },
  validateKeySet: {
    ...writes,
    path: `${SET}/validate`,
    errors: [...writes.errors, 'probe_failed'],
    summary: 'Ask an SSH server whether it lets a user in with the new key of a rotation',
    cli: 'key-sets validate',
  },
  finishKeySetRotation: {
    ...writes,
    path: `${SET}/finish`,
    write: WRITES,
    summary: 'Remove the old key of a rotation; refused before the new key was validated',
    cli: 'key-sets finish',
  },
  rollBackKeySet: {
    ...writes,
    path: `${SET}/rollback`,
    write: WRITES,
    summary: 'Restore an earlier version of a key set',
    cli: 'key-sets rollback',
  },
  listSiteKeySets: {
    ...reads,
    path: `${V1}/site-key-sets`,
    summary: 'List the default key sets of sites',
    cli: 'key-sets default',
  },
  putSiteKeySet: {
    ...writes,
    method: 'PUT',
    access: 'admin',
    path: SITE,
    summary: 'Set the default key set of a site, or none',
    cli: 'key-sets default',
  },
  rollBackSiteKeySet: {
    ...writes,
    access: 'admin',
    path: `${SITE}/rollback`,
    write: WRITES,
    summary: 'Restore the default key set that a site had before',
    cli: 'key-sets default',
  },
  listSudoPolicies: {
    ...reads,
    path: `${V1}/sudo-policies`,
    summary: 'List the sudo policies, with their files, checksums and reviewers',
    cli: 'sudo-policies list',
  },
  putSudoPolicy: {
    ...writes,
    method: 'PUT',
    path: POLICY,
    summary: 'Set the commands of a sudo policy; a changed policy must be reviewed again',
    cli: 'sudo-policies set',
  },
  reviewSudoPolicy: {
    ...writes,
    access: 'admin',
    path: `${POLICY}/review`,
    summary: 'Record that the caller has reviewed a sudo policy with this checksum; before, it cannot be used',
    cli: 'sudo-policies review',
  },
  removeSudoPolicy: {
    ...writes,
    method: 'DELETE',
    path: POLICY,
    summary: 'Remove a sudo policy; allocations that have it keep it',
    cli: 'sudo-policies remove',
  },
} as const satisfies Readonly<Record<string, Operation>>;

// Events of work on a machine: armed intents, sessions of the service OS, and rendered files.

import { Type } from 'typebox';
import { IDENTITY_LEVELS } from '../hardware-identity.ts';
import { instantText } from '../instant.ts';
import { LIFECYCLE_STATES } from '../lifecycle.ts';
import { SESSION_MODES } from '../session.ts';
import { also, flag, nullable, number, optional, rowsOf, text, texts } from './event-row.ts';

const row = rowsOf('provisioning');
const deliveries = rowsOf('deliveries');

const mode = Type.Enum([...SESSION_MODES]);
const INTENT_NAMES = { deploy: 'Installation', erase: 'Erasure' } as const;
const STEP_STATES = ['started', 'progress', 'done', 'failed'] as const;

const facts = {
  product: nullable(text),
  serial: nullable(text),
  threads: nullable(number),
  memory_bytes: nullable(number),
  disks: number,
  nics: number,
};

/** `erased_by`: the session that reported the erasure. */
const erasure = { mode, bytes: number, disks: number, erased_by: text };
const disksText = (count: number): string => (count === 1 ? 'one disk' : `${count} disks`);

const difference = Type.Object({ field: text, recorded: text, found: text });
const contradiction = Type.Object({ field: text, declared: text, found: text });

export const PROVISIONING_EVENTS = {
  'intent.armed': row(
    'info',
    {
      intent: text,
      kind: Type.Enum(['deploy', 'erase']),
      profile: nullable(text),
      macs: texts,
      uuid: nullable(text),
      expires_at: number,
    },
    (data) => `${INTENT_NAMES[data.kind]} is armed${also(data.profile, (profile) => ` with profile ${profile}`)}`,
  ),
  'intent.consumed': row('info', { intent: text }, () => 'Starts the armed work; its intent is consumed'),
  'intent.revoked': row(
    'info',
    { intent: optional(text), state: optional(Type.Enum([...LIFECYCLE_STATES])) },
    () => 'Armed intent is revoked',
  ),
  'session.opened': row(
    'info',
    {
      mode,
      mac: nullable(text),
      address: nullable(text),
      firmware: nullable(text),
      identity: optional(Type.Enum([...IDENTITY_LEVELS])),
    },
    (data) =>
      `Service OS is up for ${data.mode}${also(data.address, (address) => `, address ${address}`)}${also(data.identity ?? null, (level) => `, identity ${level}`)}`,
  ),
  'session.reopened': row(
    'info',
    { mode, mac: nullable(text), address: nullable(text) },
    () => 'Service OS opened its session again because the first answer was lost',
  ),
  'session.refused': row(
    'warning',
    { mode, reason: text, address: nullable(text) },
    (data) => `Session is rejected${also(data.address, (address) => ` for ${address}`)}: ${data.reason}`,
  ),
  'hardware.bound': row(
    'info',
    { identity: text, uuid: nullable(text), serial: nullable(text), macs: texts, tpm: texts },
    (data) => `Hardware is recorded as its identity: ${data.identity}`,
  ),
  'hardware.differs': row(
    'error',
    { mode, address: nullable(text), differences: Type.Array(difference) },
    (data) =>
      `Another machine, or changed hardware, opened a session${also(data.address, (address) => ` from ${address}`)}: ${data.differences
        .map(({ field, found, recorded }) => `${field} is ${found} instead of ${recorded}`)
        .join('; ')}`,
  ),
  'hardware.rebound': row(
    'warning',
    { before: nullable(text), after: text },
    (data) => `Changed hardware was accepted as its identity: ${data.after}`,
  ),
  'hardware.measurements-changed': row(
    'warning',
    { pcrs: Type.Array(number) },
    (data) => `Firmware or boot configuration changed: PCR ${data.pcrs.join(', ')} differ from the accepted values`,
  ),
  'hardware.twin': row('error', { reason: text }, (data) => `Two machines use its identity: ${data.reason}`),
  'hardware.erasure-verified': row(
    'info',
    { ...erasure },
    (data) => `Erasure is verified: ${data.bytes} bytes in samples of ${disksText(data.disks)} hold only zeros`,
  ),
  'hardware.erasure-unverified': row(
    'warning',
    { ...erasure, problems: texts },
    (data) =>
      `Erasure could not be verified completely: ${data.problems.join('; ')}; ${data.bytes} bytes were read and hold only zeros`,
  ),
  'hardware.not-erased': row(
    'error',
    { ...erasure, problems: texts },
    (data) => `Disks that were reported as erased hold data: ${data.problems.join('; ')}`,
  ),
  'session.facts': row(
    'info',
    facts,
    (data) =>
      `Hardware report: ${data.product ?? 'product name not reported'}, ${data.threads === null ? '' : `${data.threads} threads, `}${data.disks} disks, ${data.nics} network cards`,
  ),
  'session.contradicted': row(
    'warning',
    { contradictions: Type.Array(contradiction) },
    (data) =>
      `Hardware differs from the inventory: ${data.contradictions
        .map(({ field, found, declared }) => `${field} is ${found} instead of ${declared}`)
        .join('; ')}`,
  ),
  'session.step': row(
    'info',
    {
      mode,
      step: text,
      status: Type.Enum([...STEP_STATES]),
      percent: nullable(number),
      message: nullable(text),
      log: optional(text),
    },
    (data) =>
      `Step ${data.step}: ${data.status === 'progress' && data.percent !== null ? `${Math.floor(data.percent)} %` : data.status}${also(data.message, (message) => `, ${message}`)}`,
  ),
  'session.stalled': row(
    'warning',
    { mode, step: text, percent: nullable(number), bytes: number, since: number, heard_at: number },
    (data) =>
      `Step ${data.step} stands still at ${data.percent === null ? `${data.bytes} bytes` : `${Math.floor(data.percent)} %`} since ${instantText(data.since)}; last report at ${instantText(data.heard_at)}`,
  ),
  'session.moving': row(
    'info',
    { mode, step: text, seconds: number },
    (data) => `Step ${data.step} goes on after it stood still for ${data.seconds} s`,
  ),
  'session.ended': row('info', { mode, ok: flag, step: nullable(text), reason: nullable(text) }, (data) =>
    data.ok
      ? `Service OS finished ${data.mode}`
      : `Service OS session for ${data.mode} ended without success${also(data.reason, (reason) => `: ${reason}`)}`,
  ),
  'rendering.delivered': deliveries(
    'info',
    { by: text, inventory_revision: number, files: number, secret_files: texts },
    (data) => `Received ${data.files} rendered files of inventory revision ${data.inventory_revision}`,
  ),
};

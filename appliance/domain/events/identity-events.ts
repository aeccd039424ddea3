// Events of enrolled nodes: bundles, certificates, tasks and heartbeats. They contain no secrets: tokens by id, certificates by serial.

import { Type } from 'typebox';
import { TASK_KIND_NAMES } from '../task.ts';
import { nullable, number, rowsOf, text } from './event-row.ts';

const row = rowsOf('identity');

const certificate = { serial: text, kind: text, fingerprint: text, authority: text, not_after: text };
const taskKind = Type.Enum([...TASK_KIND_NAMES]);
const task = { task: text, kind: taskKind };
const result = { task: text, output: text };

export const IDENTITY_EVENTS = {
  'enrollment.bundle_handed_over': row(
    'info',
    { token: text, kind: text, delivery: text, handed_to: text, handed_over_at: text, expires_at: text },
    (data) => `Bootstrap bundle was issued to ${data.handed_to}, valid until ${data.expires_at}`,
  ),
  'enrollment.enrolled': row(
    'info',
    certificate,
    (data) => `Enrolled with a certificate that is valid until ${data.not_after}`,
  ),
  'enrollment.recovered': row(
    'info',
    certificate,
    (data) => `Enrolled again with a certificate that is valid until ${data.not_after}`,
  ),
  'enrollment.renewed': row('info', certificate, (data) => `Renewed its certificate, valid until ${data.not_after}`),
  'task.created': row(
    'info',
    { ...task, parameters: Type.Record(Type.String(), Type.String()) },
    (data) => `Task ${data.kind} is queued`,
  ),
  'task.begun': row('info', task, (data) => `Started task ${data.kind}`),
  'task.succeeded': row('info', result, (data) => `Task succeeded: ${data.output}`),
  'task.failed': row('error', result, (data) => `Task failed: ${data.output}`),
  'task.queued': row('warning', task, (data) => `Task ${data.kind} is queued again: no report arrived in time`),
  'task.expired': row('warning', task, (data) => `Task ${data.kind} expired before it was started`),
  'task.cancelled': row(
    'info',
    { ...task, reason: text },
    (data) => `Task ${data.kind} was cancelled before it was started: ${data.reason}`,
  ),
  'task.resumed': row(
    'info',
    { ...task, next: text, reason: text },
    (data) => `Task ${data.kind} is run again as ${data.next}: ${data.reason}`,
  ),
  'task.abandoned': row(
    'warning',
    { ...task, reason: text },
    (data) => `Task ${data.kind} was given up: ${data.reason}`,
  ),
  'task.unknown': row('warning', task, (data) => `Task ${data.kind} was started and its result was never reported`),
  'health.online': row('info', { before: Type.Enum(['unknown', 'silent']) }, (data) =>
    data.before === 'silent' ? 'Sends heartbeats again' : 'Sends heartbeats',
  ),
  'health.silent': row('warning', { last_heard: nullable(number) }, (data) =>
    data.last_heard === null
      ? 'Stopped sending heartbeats'
      : `Stopped sending heartbeats; the last one came at ${new Date(data.last_heard).toISOString()}`,
  ),
};

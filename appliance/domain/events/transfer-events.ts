// Events of the TFTP and HTTP boot servers: files that machines fetch, and what they report while they boot.

import { Type } from 'typebox';
import { ipxeErrorText } from '../ipxe-error.ts';
import { also, flag, nullable, number, optional, rowsOf, text, texts } from './event-row.ts';

const tftp = rowsOf('tftp');
const http = rowsOf('http-boot');

const OUTCOMES = ['silent', 'local-disk', 'service-os', 'installer', 'hold', 'refusal'] as const;
const OUTCOME_NAMES: Readonly<Record<(typeof OUTCOMES)[number], string>> = {
  silent: 'no answer',
  'local-disk': 'boot from disk',
  'service-os': 'boot the service OS',
  installer: 'boot the installer',
  hold: 'wait for approval',
  refusal: 'rejected',
};
const outcome = Type.Enum([...OUTCOMES]);

/** A TFTP request that was not answered with a transfer. */
const unanswered = { mac: optional(text), file: text, address: text, why: text };

/** A TFTP transfer that has ended, or stalled. */
const transfer = {
  mac: optional(text),
  file: text,
  address: text,
  bytes: number,
  blocks: number,
  resent: number,
  ms: number,
  blockSize: number,
  windowSize: number,
  reason: nullable(text),
};

const took = (ms: number | undefined): string => also(ms, (value) => `, ${value} ms`);

const because = (reason: string | null): string => also(reason, (words) => `: ${words}`);

const report = {
  mac: optional(text),
  stage: optional(text),
  errno: optional(text),
  platform: optional(text),
  version: optional(text),
  message: optional(text),
};

const TFTP_EVENTS = {
  'tftp.begun': tftp(
    'info',
    { mac: optional(text), file: text, address: text, size: number },
    (data) => `Starts to fetch ${data.file} over TFTP (${data.size} bytes)`,
  ),
  'tftp.stalled': tftp(
    'warning',
    transfer,
    (data) => `TFTP transfer of ${data.file} makes no progress after ${data.blocks} blocks${because(data.reason)}`,
  ),
  'tftp.completed': tftp(
    'info',
    transfer,
    (data) => `Fetched ${data.file} over TFTP (${data.bytes} bytes, ${data.ms} ms, ${data.resent} blocks resent)`,
  ),
  'tftp.probe': tftp('info', transfer, (data) => `Asked over TFTP for the size of ${data.file}`),
  'tftp.aborted': tftp('info', transfer, (data) => `Aborted the TFTP transfer of ${data.file}${because(data.reason)}`),
  'tftp.timeout': tftp(
    'warning',
    transfer,
    (data) => `Stopped answering during the TFTP transfer of ${data.file}, after ${data.blocks} blocks`,
  ),
  'tftp.error': tftp('warning', transfer, (data) => `TFTP transfer of ${data.file} failed${because(data.reason)}`),
  'tftp.not-found': tftp(
    'info',
    unanswered,
    (data) => `Asked over TFTP for ${data.file}, which does not exist: ${data.why}`,
  ),
  'tftp.refused': tftp('warning', unanswered, (data) => `TFTP request for ${data.file} is rejected: ${data.why}`),
  'tftp.ignored': tftp('warning', unanswered, (data) => `TFTP request for ${data.file} is not answered: ${data.why}`),
  'tftp.malformed': tftp(
    'warning',
    { mac: optional(text), address: text, why: text },
    (data) => `Sent a TFTP request that cannot be read: ${data.why}`,
  ),
  'boot.decided': tftp(
    'info',
    { mac: optional(text), file: text, outcome, because: text, words: text },
    (data) => `GRUB configuration: ${OUTCOME_NAMES[data.outcome]}, because ${data.words}`,
  ),
};

const HTTP_EVENTS = {
  'http.entry': http('info', { mac: optional(text), path: text }, () => 'Fetched the common iPXE script'),
  'http.menu': http('info', { mac: optional(text), path: text }, () => 'Fetched the boot menu'),
  'http.script': http(
    'info',
    {
      mac: optional(text),
      outcome,
      because: text,
      words: text,
      oddities: texts,
      manufacturer: optional(text),
      product: optional(text),
      serial: optional(text),
      asset: optional(text),
      version: optional(text),
    },
    (data) => `iPXE script: ${OUTCOME_NAMES[data.outcome]}, because ${data.words}`,
  ),
  'http.probe': http(
    'info',
    { mac: optional(text), path: text, asset: optional(text), status: optional(number) },
    (data) => `Asked over HTTP whether ${data.path} exists`,
  ),
  'http.served': http(
    'info',
    { mac: optional(text), asset: text, from: number, bytes: number, of: number, complete: flag, ms: optional(number) },
    (data) =>
      data.complete
        ? `Fetched ${data.asset} over HTTP (${data.bytes} of ${data.of} bytes${took(data.ms)})`
        : `HTTP transfer of ${data.asset} was interrupted after ${data.bytes} of ${data.of} bytes${took(data.ms)}`,
  ),
  'http.refused': http(
    'warning',
    { mac: optional(text), path: text, why: text },
    (data) => `HTTP request for ${data.path} is rejected: ${data.why}`,
  ),
  'boot.failed': http(
    'error',
    report,
    (data) =>
      `Reports a failed boot${also(data.stage, (stage) => ` at ${stage}`)}${also(data.errno, (errno) => `, iPXE error ${ipxeErrorText(String(errno))}`)}${also(data.message, (message) => `: ${message}`)}`,
  ),
  'boot.reported': http(
    'info',
    report,
    (data) =>
      `Reports its boot${also(data.stage, (stage) => ` at ${stage}`)}${also(data.platform, (platform) => `, platform ${platform}`)}${also(data.message, (message) => `: ${message}`)}`,
  ),
};

export const TRANSFER_EVENTS = { ...TFTP_EVENTS, ...HTTP_EVENTS };

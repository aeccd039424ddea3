// Events of the media that BMCs insert for a session: a one-time secret on a CD image. Neither the secret nor the URL is in an event.

import { flag, nullable, rowsOf, text } from './event-row.ts';

const row = rowsOf('provisioning');

export const MEDIUM_EVENTS = {
  'medium.inserted': row(
    'info',
    { address: text },
    (data) => `BMC ${data.address} inserted the medium with the secret of this boot`,
  ),
  'medium.unavailable': row(
    'info',
    { reason: text },
    (data) => `No secret through the BMC for this boot, its identity is bound at most: ${data.reason}`,
  ),
  'medium.failed': row(
    'warning',
    { reason: text },
    (data) => `The medium with the secret of this boot was not inserted, its identity is bound at most: ${data.reason}`,
  ),
  'medium.fetched': row('info', { address: text }, (data) => `BMC ${data.address} reads the medium of this boot`),
  'medium.refused': row(
    'warning',
    { address: nullable(text), reason: text },
    (data) => `The medium of this boot was refused to ${data.address ?? 'an unknown address'}: ${data.reason}`,
  ),
  'medium.unseen': row('warning', { read: flag }, (data) =>
    data.read
      ? 'The BMC has read the medium of this boot, but the machine does not see it: its identity is bound at most'
      : 'The BMC said that it inserted the medium of this boot, but never read from it: its identity is bound at most',
  ),
  'medium.ejected': row('info', { address: text }, (data) => `BMC ${data.address} ejected the medium of this boot`),
  'medium.not-ejected': row(
    'error',
    { reason: text, given_up: flag },
    (data) =>
      `The medium of this boot could not be ejected${data.given_up ? '; eject it by hand' : ', will be retried'}: ${data.reason}`,
  ),
};

// Replies of a broken or hostile service: genuine ones with some values replaced.

import type { LinkReply, OpenLink } from '../../../appliance/bmc/redfish/link.ts';
import type { MockAnswer } from './mock/mock-answers.ts';
import type { MockService } from './mock/mock-service.ts';

type Next = () => number;

/** xorshift32: the same corruption for the same seed. */
export function numbers(seed: number): Next {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1e308,
  '',
  ' ',
  'constructor',
  '__proto__',
  'toString',
  'On',
  'Off',
  '/redfish/v1/',
  'https://192.0.2.66/redfish/v1/Systems/1',
  '//[',
  '\u0000\u001b[2J',
  'x'.repeat(10_000),
  [],
  [[]],
  {},
  [null, 1, 'a'],
  { '@odata.id': '/redfish/v1/Systems' },
  { '@odata.id': 7 },
  { target: null },
];

const STATUSES = [200, 201, 202, 204, 301, 307, 400, 401, 403, 404, 405, 406, 409, 412, 428, 429, 500, 501, 503, 599];

const pick = <Value>(next: Next, values: readonly Value[], instead: Value): Value =>
  values[next() % values.length] ?? instead;

/** A copy in which one value in `odds` is replaced or removed. */
function corruptedValue(next: Next, value: unknown, odds: number): unknown {
  if (next() % odds === 0) return pick(next, ODD_VALUES, null);
  if (Array.isArray(value)) return value.map((entry) => corruptedValue(next, entry, odds));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(() => next() % odds !== 0);
  return Object.fromEntries(kept.map(([key, entry]) => [key, corruptedValue(next, entry, odds)]));
}

function corrupted(next: Next, genuine: MockAnswer): LinkReply {
  const odds = pick(next, [8, 20, 60], 20);
  const text = genuine.body === null ? '' : JSON.stringify(corruptedValue(next, genuine.body, odds));
  const headers = Object.entries(genuine.headers).flatMap(([name, value]): [string, string][] => {
    if (next() % 12 === 0) return [];
    return [[name, next() % 12 === 0 ? String(pick(next, ODD_VALUES, '')) : value]];
  });
  return {
    status: next() % 15 === 0 ? pick(next, STATUSES, 500) : genuine.status,
    headers: Object.fromEntries(headers),
    body: next() % 30 === 0 ? text.slice(0, next() % (text.length + 1)) : text,
    bytes: text.length,
  };
}

/** A link to a mock service in this process that corrupts some of its replies. */
export const corruptingLink = (service: MockService, next: Next): OpenLink => {
  return () => ({
    exchange: async ({ method, path, headers, body }) => {
      const genuine = service.answer({ method, path, headers, body: body ?? '' });
      const text = genuine.body === null ? '' : JSON.stringify(genuine.body);
      return next() % 3 === 0
        ? corrupted(next, genuine)
        : { status: genuine.status, headers: genuine.headers, body: text, bytes: text.length };
    },
    close: async () => undefined,
  });
};

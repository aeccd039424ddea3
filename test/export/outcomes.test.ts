import { describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { retryDelay } from '../../appliance/export/back-off.ts';
import { failureOf } from '../../appliance/export/outcome.ts';
import { parseWebhookSecrets } from '../../appliance/export/webhook-signature.ts';

describe('the pause before the next attempt', () => {
  it('doubles from one second to five minutes, less up to a half', () => {
    expect([1, 2, 3, 8, 9, 10, 1000].map((failures) => retryDelay(failures, 0, null))).toEqual([
      ...[SECOND, 2 * SECOND, 4 * SECOND, 128 * SECOND, 256 * SECOND, 5 * MINUTE, 5 * MINUTE],
    ]);
    expect(retryDelay(3, 0.999, null)).toBe(2002);
    expect(retryDelay(0, 0, null)).toBe(SECOND);
  });

  it('is as long as the receiver asks, within a limit', () => {
    expect(retryDelay(1, 0, 90 * SECOND)).toBe(90 * SECOND);
    expect(retryDelay(1, 0, 86_400 * SECOND)).toBe(15 * MINUTE);
    expect(retryDelay(10, 0, SECOND)).toBe(5 * MINUTE);
  });
});

describe('an HTTP status', () => {
  const answer = (status: number, retryAfter: string | null = null) => failureOf({ status, retryAfter, text: 'said' });

  it.each([200, 202, 204])('%d means accepted', (status) => expect(answer(status)).toBeNull());
  it.each([301, 302, 307, 308, 401, 403, 404, 408, 410, 429, 502, 503, 504])(
    '%d means that the receiver is unavailable',
    (status) => expect(answer(status)?.kind).toBe('unavailable'),
  );
  it.each([400, 409, 413, 415, 422, 500, 501])('%d means that the message is refused', (status) =>
    expect(answer(status)?.kind).toBe('refused'),
  );

  it('may come with a pause in seconds', () => {
    expect(answer(429, '120')?.retryAfter).toBe(120 * SECOND);
    expect(answer(503, 'Wed, 21 Oct 2026 07:28:00 GMT')?.retryAfter).toBeNull();
  });

  it('comes with the words of the receiver, made safe and short', () => {
    const text = `\u001b[2J password=hunter22 ${'x'.repeat(4000)}`;
    const reason = failureOf({ status: 400, retryAfter: null, text })?.reason ?? '';
    expect(reason).toMatch(/^it answered 400: \\u001b\[2J password=\[secret\] x+…$/);
    expect(reason.length).toBeLessThan(210);
  });
});

describe('the secret file of a webhook', () => {
  const secret = (bytes: number): string => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;

  it('has one secret per line', () => {
    const read = parseWebhookSecrets(`${secret(24)}\n\n ${secret(64)}\n`);
    expect(read.ok && read.value.map(({ length }) => length)).toEqual([24, 64]);
  });

  it.each([
    ['', 'it is empty'],
    ['hunter22', 'line 1 is not whsec_ and base64'],
    [`${secret(24)}\nwhsec_*`, 'line 2 is not whsec_ and base64'],
    [secret(23), 'line 1 has 23 bytes: 24 to 64 are allowed'],
    [secret(65), 'line 1 has 65 bytes: 24 to 64 are allowed'],
    [Array(5).fill(secret(24)).join('\n'), 'it has 5 lines: at most 4 secrets'],
  ])('is rejected without showing it: %j', (text, reason) => {
    expect(parseWebhookSecrets(text)).toEqual({ ok: false, reason });
  });
});

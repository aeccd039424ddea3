// Webhooks as a receiver gets them, their signatures verified with openssl; and pushes as Loki takes them.

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deliveryTo } from '../../../appliance/export/delivery.ts';
import type { Delivery } from '../../../appliance/export/outcome.ts';
import type { LokiSettings, ReceiverSettings } from '../../../appliance/export/settings.ts';
import { HttpReceiver, type ReceivedRequest } from '../../export/http-receiver.ts';
import { LokiDouble } from '../../export/loki-double.ts';
import { AT, EVERYTHING, message } from '../../export/sample-messages.ts';
import { needPackages } from '../packages.ts';

const NEVER = new AbortController().signal;
const secrets = [randomBytes(32), randomBytes(24)];
const secretText = (secret: Buffer): string => `whsec_${secret.toString('base64')}`;

let folder = '';
let peer: HttpReceiver;
const opened: Delivery[] = [];
beforeAll(() => {
  needPackages(['openssl']);
  folder = mkdtempSync(join(tmpdir(), 'coldiron-webhook-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(async () => {
  peer = await HttpReceiver.open();
  writeSecret(secrets.map(secretText).join('\n'));
});
afterEach(async () => {
  for (const each of opened.splice(0)) each.close();
  await peer.close();
});

function writeSecret(text: string, mode = 0o600): void {
  writeFileSync(join(folder, 'secret'), text);
  chmodSync(join(folder, 'secret'), mode);
}

function deliveryOf(target: ReceiverSettings['target']): Delivery {
  const settings = { name: 'r', target, selection: EVERYTHING, backfill: false };
  const delivery = deliveryTo(settings, { now: () => AT + 90_000, host: 'appliance-1' });
  opened.push(delivery);
  return delivery;
}

describe('a webhook', () => {
  const webhook = (path = '/hook'): Delivery =>
    deliveryOf({ kind: 'webhook', url: new URL(path, peer.url), secretFile: join(folder, 'secret'), ca: null });

  /** As a receiver verifies it, with a program that we did not write. */
  const openssl = ({ headers, body }: ReceivedRequest, secret: Buffer): string => {
    const input = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const { stdout, status } = spawnSync(
      'openssl',
      ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${secret.toString('hex')}`, '-binary'],
      { input },
    );
    expect(status).toBe(0);
    return `v1,${stdout.toString('base64')}`;
  };

  it('is one signed request for each event', async () => {
    expect(await webhook().deliver([message(1), message(2)], NEVER)).toEqual({ accepted: 2, failure: null });
    expect(peer.requests.map(({ path, headers }) => [path, headers['webhook-id']])).toEqual([
      ['/hook', 'evt_00c0ffee00c0ffee_1'],
      ['/hook', 'evt_00c0ffee00c0ffee_2'],
    ]);
    const [first] = peer.requests;
    if (!first) throw new Error('two requests were made');
    expect(first.headers['webhook-timestamp']).toBe(String(Math.floor((AT + 90_000) / 1000)));
    expect(first.headers['webhook-signature']).toBe(secrets.map((secret) => openssl(first, secret)).join(' '));
    expect(JSON.parse(first.body)).toMatchObject({
      type: 'trail.gap',
      timestamp: '2026-01-15T08:00:00.250Z',
      data: { id: 'evt_00c0ffee00c0ffee_1', seq: 1, site_id: 'lab', hostname: 'node01', event: { lost: 1 } },
    });
    expect(JSON.stringify(peer.requests)).not.toContain(secrets[0]?.toString('base64'));
  });

  it('has another signature when a character of the body is another', async () => {
    await webhook().deliver([message(1)], NEVER);
    const [request] = peer.requests;
    if (!request) throw new Error('one request was made');
    const changed = { ...request, body: request.body.replace('trail.gap', 'trail.gaP') };
    expect(request.headers['webhook-signature']).not.toContain(openssl(changed, secrets[0] as Buffer));
  });

  it('uses a rotated secret at once', async () => {
    const delivery = webhook();
    await delivery.deliver([message(1)], NEVER);
    writeSecret(secretText(secrets[1] as Buffer));
    await delivery.deliver([message(2)], NEVER);
    const second = peer.requests[1] as ReceivedRequest;
    expect(second.headers['webhook-signature']).toBe(openssl(second, secrets[1] as Buffer));
  });

  it.each([
    ['readable by everybody', () => writeSecret(secretText(secrets[0] as Buffer), 0o644), /accessible to everybody/],
    ['malformed', () => writeSecret('hunter22'), /line 1 is not whsec_ and base64/],
    ['missing', () => rmSync(join(folder, 'secret')), /there is no file/],
  ])('is not sent with a secret file that is %s', async (_, change, reason) => {
    change();
    const { accepted, failure } = await webhook().deliver([message(1)], NEVER);
    expect([accepted, failure?.kind, peer.requests]).toEqual([0, 'unavailable', []]);
    expect(failure?.reason).toMatch(reason);
    expect(failure?.reason).not.toContain('hunter22');
  });

  it('does not follow a redirect to another host', async () => {
    const other = await HttpReceiver.open();
    try {
      peer.answer = (_, response) => response.writeHead(307, { location: other.url }).end();
      const { failure } = await webhook().deliver([message(1)], NEVER);
      expect(failure).toMatchObject({ kind: 'unavailable', reason: expect.stringContaining('redirect') });
      expect(other.requests).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it('stops at the first failure, and says how many were accepted', async () => {
    peer.answer = (_, response) => response.writeHead(peer.requests.length === 2 ? 422 : 204).end('no such field');
    const outcome = await webhook().deliver([message(1), message(2), message(3)], NEVER);
    expect(outcome).toMatchObject({
      accepted: 1,
      failure: { kind: 'refused', reason: 'it answered 422: no such field' },
    });
    expect(peer.requests).toHaveLength(2);
  });

  it('reads only the beginning of an endless answer', { timeout: 20_000 }, async () => {
    peer.answer = (_, response) => {
      response.writeHead(500);
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      response.on('error', () => undefined);
      more();
    };
    const { failure } = await webhook().deliver([message(1)], NEVER);
    expect(failure?.reason.length).toBeLessThan(250);
  });

  it('ends when the appliance stops, although the receiver does not answer', async () => {
    const stopped = new AbortController();
    peer.answer = () => stopped.abort();
    expect(await webhook().deliver([message(1)], stopped.signal)).toMatchObject({ accepted: 0 });
  });
});

describe('a push to Loki', () => {
  const loki = (changes: Partial<LokiSettings> = {}): Delivery =>
    deliveryOf({
      ...{ kind: 'loki', url: new URL(peer.url), ca: null, tenant: null, login: null, streamLabels: ['site_id'] },
      ...changes,
    } as LokiSettings);

  it('stores every event once, also when the same batch is sent twice', async () => {
    const double = new LokiDouble();
    peer.answer = double.answer;
    const batch = [message(1), message(2), message(3, { machine: null })];
    expect(await loki().deliver(batch, NEVER)).toEqual({ accepted: 3, failure: null });
    expect(await loki().deliver(batch, NEVER)).toEqual({ accepted: 3, failure: null });
    expect(double.lines.map(({ seq, message: words }) => [seq, words])).toEqual([
      [1, 'The trail dropped 1 events'],
      [2, 'The trail dropped 2 events'],
      [3, 'The trail dropped 3 events'],
    ]);
    expect(double.streams).toEqual([
      { job: 'coldiron', severity: 'warning', site_id: 'lab' },
      { job: 'coldiron', severity: 'warning' },
    ]);
    expect(double.entries[0]?.metadata).toMatchObject({ hostname: 'node01', correlation_id: 'c-1' });
  });

  it('names its tenant and logs in, below the path of a gateway', async () => {
    writeSecret('s3cret pass\n', 0o640);
    const login = { username: 'appliance', file: join(folder, 'secret') };
    await loki({ tenant: 'site-a', login, url: new URL('/gateway', peer.url) }).deliver([message(1)], NEVER);
    await loki({ login: { username: null, file: join(folder, 'secret') } }).deliver([message(1)], NEVER);
    expect(peer.requests.map(({ path, headers }) => [path, headers['x-scope-orgid'], headers.authorization])).toEqual([
      ['/gateway/loki/api/v1/push', 'site-a', `Basic ${Buffer.from('appliance:s3cret pass').toString('base64')}`],
      ['/loki/api/v1/push', undefined, 'Bearer s3cret pass'],
    ]);
  });

  it('that is refused has the words of Loki', async () => {
    peer.answer = (_, response) => response.writeHead(400).end('entry too far behind\n');
    expect(await loki().deliver([message(1)], NEVER)).toEqual({
      accepted: 0,
      failure: { kind: 'refused', reason: 'it answered 400: entry too far behind', retryAfter: null },
    });
  });

  it('to nobody waits', async () => {
    const delivery = loki();
    await peer.close();
    expect(await delivery.deliver([message(1)], NEVER)).toMatchObject({
      accepted: 0,
      failure: { kind: 'unavailable' },
    });
    peer = await HttpReceiver.open();
  });
});

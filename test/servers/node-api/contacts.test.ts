// What the node API notes about connections that fail, with clients that we did not write.

import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventData } from '../../../appliance/domain/events/event-table.ts';
import { HOUR, MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { failureOf, NodeContacts } from '../../../appliance/servers/node-api/node-contacts.ts';
import type { TrailNote } from '../../../appliance/trail/trail.ts';
import { needPackages } from '../../interop/packages.ts';
import { newMachineId } from '../../store/samples.ts';
import { NodeApiSite, run } from './node-api-site.ts';
import { newCertificateFile } from './other-authority.ts';

type Failure = EventData<'node-api.handshake-failed'>;

describe('a failed TLS handshake', () => {
  let site: NodeApiSite;
  beforeAll(async () => {
    needPackages(['curl', 'openssl']);
    site = await NodeApiSite.open();
  });
  afterAll(() => site.end());

  /** The reason that was noted for what the client did. */
  const noted = async (client: () => Promise<unknown>): Promise<Failure> => {
    // The limit is one event of a kind in a minute.
    site.ahead += 2 * MINUTE;
    const before = site.notes.length;
    await client();
    const failures = () => site.notes.slice(before).filter(({ kind }) => kind === 'node-api.handshake-failed');
    await expect.poll(() => failures().length).toBe(1);
    return failures()[0]?.data as Failure;
  };
  const client = async (...options: string[]) => {
    const { pem } = await site.enrollment.authority.trust();
    const node = await site.client({ id: newMachineId() });
    node.write('ca.pem', pem);
    return node.openssl(['-CAfile', node.file('ca.pem'), '-verify_return_error', ...options]);
  };

  it('tells that the client does not know our authority', async () => {
    const other = newCertificateFile(site.folder);
    const { reason, address, detail, not_before, not_after } = await noted(() =>
      run('curl', ['--silent', '--cacert', other, `${site.url}/node/v1/ca`]),
    );
    expect({ reason, address, detail }).toEqual({
      reason: 'client-unknown-authority',
      address: '127.0.0.1',
      detail: 'tlsv1 alert unknown ca',
    });
    expect(Date.parse(not_before)).toBeLessThan(Date.now());
    expect(Date.parse(not_after)).toBeGreaterThan(Date.now());
  });

  it('tells the clock of the client from its alert: behind, and ahead', async () => {
    const at = (year: number) => String(Math.floor(Date.UTC(year, 0, 1) / SECOND));
    expect((await noted(() => client('-attime', at(2020)))).reason).toBe('client-bad-certificate');
    expect((await noted(() => client('-attime', at(2035)))).reason).toBe('client-certificate-expired');
  });

  it('tells an old protocol, another protocol, and a client that goes away', async () => {
    const old = ['-tls1_1', '-cipher', 'DEFAULT@SECLEVEL=0'];
    expect((await noted(() => client(...old))).reason).toBe('protocol-version');
    const plain = `http://127.0.0.1:${site.port}/`;
    expect((await noted(() => run('curl', ['--silent', '--noproxy', '*', plain]))).reason).toBe('not-tls');
    const leaves = async (): Promise<void> => {
      const socket = connect(site.port, '127.0.0.1');
      await once(socket, 'connect');
      socket.destroy();
    };
    expect((await noted(leaves)).reason).toBe('broken-off');
  });

  it('is not noted for a node that is let in, whose refusals are', async () => {
    site.ahead += 2 * MINUTE;
    const before = site.notes.length;
    const machine = await site.machine(1);
    const node = await site.client(machine);
    expect((await node.enroll('ce_000000000001_wrong')).status).toBe(403);
    const refusals = site.notes.slice(before).filter(({ kind }) => kind === 'node-api.refused');
    expect(refusals.map(({ data }) => data)).toEqual([
      {
        address: '127.0.0.1',
        path: '/node/v1/enroll',
        code: 'enrollment_refused',
        words: 'the enrollment token is not accepted',
        count: 1,
      },
    ]);
    expect(site.notes.slice(before).some(({ kind }) => kind === 'node-api.handshake-failed')).toBe(false);
  });
});

describe('the record of contacts', () => {
  const opened = () => {
    const notes: TrailNote[] = [];
    const at = { now: 0 };
    const machine = newMachineId();
    const contacts = new NodeContacts({
      trail: { note: (note) => void notes.push(note) },
      now: () => at.now,
      machineAt: (address) => (address === '10.0.0.5' ? machine : null),
      validity: () => ({ notBefore: 0, notAfter: HOUR }),
    });
    return { notes, at, machine, contacts };
  };
  const error = (code: string) => Object.assign(new Error(code), { code });

  it('names the machine of the address, counts repeats, and writes one event a minute', () => {
    const { notes, at, machine, contacts } = opened();
    for (let second = 0; second < 61; second += 10) {
      at.now = second * SECOND;
      contacts.failed('::ffff:10.0.0.5', error('ECONNRESET'));
    }
    expect(notes.map(({ machine: about, data }) => [about, (data as Failure).count])).toEqual([
      [machine, 1],
      [machine, 6],
    ]);
    contacts.failed('10.9.9.9', error('ECONNRESET'));
    expect(notes.at(-1)).toMatchObject({ machine: null, siteWide: true });
    expect(contacts.at('10.0.0.5')).toMatchObject({ failures: 7, securedAt: null });
    expect(contacts.at('10.0.0.6')).toBeNull();
  });

  it('notes the first connection in a while, and stays bounded', () => {
    const { notes, at, contacts } = opened();
    for (const minute of [0, 1, 5, 16]) {
      at.now = minute * MINUTE;
      contacts.connected('10.0.0.5');
    }
    expect(notes.map(({ kind }) => kind)).toEqual(['node-api.connected', 'node-api.connected']);
    expect(contacts.at('10.0.0.5')?.connections).toBe(4);
    for (let n = 0; n < 5000; n++) contacts.connected(`10.1.${n >> 8}.${n & 255}`);
    expect(contacts.at('10.0.0.5')).toBeNull();
  });

  it('notes a wrong clock when it begins, and every hour', () => {
    const { notes, at, machine, contacts } = opened();
    for (const [minute, offset] of [
      [0, 10],
      [1, -90],
      [2, -91],
      [62, -92],
      [63, 0],
      [64, 45],
    ] as const) {
      at.now = minute * MINUTE;
      contacts.clock(machine, offset * SECOND, null);
    }
    expect(notes.map(({ data }) => (data as { seconds: number }).seconds)).toEqual([-90, -92, 45]);
  });

  it('has a reason for each kind of error', () => {
    expect(
      ['ERR_TLS_HANDSHAKE_TIMEOUT', 'ERR_SSL_TLSV1_ALERT_ACCESS_DENIED', 'ERR_X'].map((code) => failureOf({ code })),
    ).toEqual(['silent', 'client-other-alert', 'other']);
  });
});

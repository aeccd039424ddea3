// A hostile BMC answers Redfish requests with pages, bodies and links that never end or lead elsewhere.

import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { redfishBmc } from '../../appliance/bmc/redfish/redfish-bmc.ts';
import { MINUTE } from '../../appliance/domain/instant.ts';
import { selfSigned } from '../bmc/redfish/mock/certificates.ts';
import { ADMIN } from '../bmc/redfish/mock/machine.ts';
import { answer, type MockAnswer } from '../bmc/redfish/mock/mock-answers.ts';
import type { MockRequest } from '../bmc/redfish/mock/mock-service.ts';
import { VENDORS } from '../bmc/redfish/mock/vendors.ts';
import { fastDeps, MemoryPins, type Rig, rig, shortTimeoutDeps, startMock, targetOf } from '../bmc/redfish/rig.ts';

const { supermicro } = VENDORS;
const MEGABYTE = 1024 * 1024;

/** Answers the requests below this path of the mock; all others are answered as usual. */
function take({ service }: Rig, below: string, reply: (request: MockRequest) => MockAnswer): void {
  service.intercept = (request) => (request.path.startsWith(below) ? reply(request) : null);
}

const entriesOf = ({ service }: Rig): string => `${service.paths.log}/Entries`;

describe('a log in pages', () => {
  it('that never end is cut off, and the error names the number of pages', async () => {
    const made = await rig(supermicro);
    const path = entriesOf(made);
    let page = 0;
    take(made, path, () => answer(200, { Members: [{ Id: '1' }], 'Members@odata.nextLink': `${path}?page=${++page}` }));
    await expect(made.bmc.eventLog()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringContaining('more than 200 pages'),
    });
    expect(page).toBeLessThanOrEqual(201);
  });

  it('with more entries than any log has is refused, and the error names the number', async () => {
    const made = await rig(supermicro);
    const path = entriesOf(made);
    const page = Array.from({ length: 5000 }, (_, at) => ({ Id: String(at), Message: 'x' }));
    let asked = 0;
    take(made, path, () => answer(200, { Members: page, 'Members@odata.nextLink': `${path}?page=${++asked}` }));
    await expect(made.bmc.eventLog()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringContaining('more than 10000 entries'),
    });
    expect(asked).toBeLessThan(5);
  });

  it.each<[what: string, size: number, pages: number]>([
    ['of 7 MB each', 7 * MEGABYTE, 200],
    ['of 1 MB each', MEGABYTE, 200],
  ])('%s is cut off, and the error names the bytes of all of them', async (_what, size, pages) => {
    const made = await rig(supermicro);
    const path = entriesOf(made);
    const entry = { Id: '1', Message: 'm'.repeat(size) };
    let asked = 0;
    take(made, path, () => answer(200, { Members: [entry], 'Members@odata.nextLink': `${path}?page=${++asked}` }));
    await expect(made.bmc.eventLog()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringContaining('more than 67108864 bytes'),
    });
    expect(asked).toBeLessThan(pages);
  });

  it('that link their entries, each a megabyte large, is cut off too', async () => {
    const made = await rig(supermicro);
    const path = entriesOf(made);
    const members = Array.from({ length: 9000 }, (_, at) => ({ '@odata.id': `${path}/${at}` }));
    const large = { Id: '1', Message: 'm'.repeat(MEGABYTE) };
    let asked = 0;
    take(made, path, ({ path: at }) => {
      asked += 1;
      return at === path ? answer(200, { Members: members }) : answer(200, large);
    });
    await expect(made.bmc.eventLog()).rejects.toThrow('more than 67108864 bytes');
    expect(asked).toBeLessThan(70);
  });

  it.each<[what: string, list: string, work: (made: Rig) => Promise<unknown>]>([
    ['entries of its log', 'Members', ({ bmc }) => bmc.eventLog()],
    ['temperatures', 'Temperatures', ({ bmc }) => bmc.sensors()],
  ])('or one list of two million %s is cut off or refused, without a crash', async (_what, list, work) => {
    const made = await rig(supermicro);
    const body = `{"Members":[],"${list}":[${'{},'.repeat(2_000_000)}{}]}`;
    made.service.intercept = ({ path }) =>
      path.startsWith(entriesOf(made)) || /\/(Thermal|Power)$/.test(path) ? answer(200, body) : null;
    const outcome = await work(made).catch((error: unknown) => error);
    if (outcome instanceof Error) expect(outcome).toMatchObject({ failure: 'malformed' });
    else expect((outcome as unknown[]).length).toBeLessThanOrEqual(10_000);
  });

  it('that lead back to themselves ends', async () => {
    const made = await rig(supermicro);
    const path = entriesOf(made);
    take(made, path, () => answer(200, { Members: [{ Id: '1' }], 'Members@odata.nextLink': path }));
    expect(await made.bmc.eventLog()).toHaveLength(1);
  });

  it('whose entries link themselves and each other is read once each', async () => {
    const made = await rig(supermicro);
    const path = entriesOf(made);
    let asked = 0;
    take(made, path, () => {
      asked += 1;
      return answer(200, { Members: [{ '@odata.id': path }, { '@odata.id': path }] });
    });
    await made.bmc.eventLog();
    expect(asked).toBe(3);
  });
});

describe('a reply', () => {
  it('of one byte at a time is given up, and the error names the time', async () => {
    const mock = await startMock(supermicro);
    mock.misbehave = (_method, path) => (path.endsWith('/Systems') ? 'trickle' : null);
    const deps = shortTimeoutDeps();
    const limits = { ...deps.limits, exchange: 500 };
    const bmc = redfishBmc(targetOf(mock), {}, { ...deps, limits });
    onTestFinished(() => bmc.close());
    await expect(bmc.powerState()).rejects.toMatchObject({
      failure: 'vanished',
      message: expect.stringContaining('no complete reply within 0.5 s'),
    });
  });

  it('in endless chunks is given up, and the error names the size', async () => {
    const made = await rig(supermicro);
    made.mock.misbehave = (_method, path) => (path.endsWith('/Systems') ? 'endless' : null);
    await expect(made.bmc.powerState()).rejects.toThrow('larger than the limit of 8388608 bytes');
  });

  it('with endless headers is given up', async () => {
    const made = await rig(supermicro);
    const headers = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`x-${at}`, 'v'.repeat(200)]));
    take(made, '/redfish/v1/Systems', () => answer(200, { Members: [] }, headers));
    await expect(made.bmc.powerState()).rejects.toMatchObject({ failure: 'malformed' });
  });

  it.each<[what: string, body: string]>([
    ['lists', `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
    ['objects', `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`],
    [
      'error messages',
      `{"error":{"@Message.ExtendedInfo":[{"MessageArgs":${'['.repeat(100_000)}${']'.repeat(100_000)}}]}}`,
    ],
  ])('of deeply nested %s is malformed or refused, without a crash', async (_what, body) => {
    const made = await rig(supermicro);
    for (const status of [200, 400]) {
      take(made, '/redfish/v1/Systems', () => answer(status, body));
      await expect(made.bmc.powerState()).rejects.toMatchObject({
        failure: expect.stringMatching(/malformed|refused/),
      });
    }
  });

  it('whose error message has objects as arguments is a refusal', async () => {
    const made = await rig(supermicro);
    const info = [{ MessageId: 'Base.1.0.X', MessageArgs: [{ toString: 1, valueOf: 1 }, null, ['a'], 7, 'text'] }];
    take(made, '/redfish/v1/Systems', () => answer(400, { error: { '@Message.ExtendedInfo': info } }));
    await expect(made.bmc.powerState()).rejects.toMatchObject({
      failure: 'refused',
      message: expect.stringContaining('X 7 text'),
    });
  });

  it('of another type than JSON is malformed, also where its header says JSON', async () => {
    const made = await rig(supermicro);
    for (const type of ['text/html', 'application/json', 'application/octet-stream']) {
      take(made, '/redfish/v1/Systems', () => answer(200, '<html>\u001b[31m</html>', { 'content-type': type }));
      await expect(made.bmc.powerState()).rejects.toMatchObject({ failure: 'malformed' });
    }
  });

  it('with escape sequences in every text shows none of them', async () => {
    const made = await rig(supermicro);
    const path = entriesOf(made);
    const escapes = '\u001b]0;owned\u0007\u009b31m\u202e\nlifecycle.ready forged';
    take(made, path, () => answer(200, { Members: [{ Id: escapes, Message: escapes, Severity: escapes }] }));
    const [entry] = await made.bmc.eventLog();
    expect(JSON.stringify(entry)).not.toMatch(/\\u001b|\\u0007|\\u009b|\\u202e|\\n/);
    take(made, '/redfish/v1/Systems', () => answer(400, { error: { message: escapes } }));
    const error = await made.bmc.powerState().catch(({ message }: Error) => message);
    expect(error).not.toMatch(/[\p{C}]/u);
  });
});

describe('a link to another host', () => {
  /** A host that the BMC would like us to log in at; it must not get a single request. */
  async function otherHost(): Promise<{ readonly origin: string; readonly requests: string[] }> {
    const { key, certificate } = selfSigned();
    const requests: string[] = [];
    const server = createServer({ key, cert: certificate }, (request, response) => {
      requests.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
      response.end('{}');
    });
    server.on('connection', () => requests.push('connection'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return { origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
  }

  it.each<[what: string, attack: (made: Rig, origin: string) => void, work: (made: Rig) => Promise<unknown>]>([
    [
      'as a redirect of the service root',
      (made, origin) => take(made, '/redfish/v1', () => answer(302, null, { location: `${origin}/redfish/v1/` })),
      ({ bmc }) => bmc.powerState(),
    ],
    [
      'as a redirect of the login',
      (made, origin) =>
        take(made, made.service.paths.sessions, () => answer(307, null, { location: `${origin}/redfish/v1/Sessions` })),
      ({ bmc }) => bmc.powerState(),
    ],
    [
      'as a redirect without a scheme',
      (made, origin) =>
        take(made, '/redfish/v1/Systems', () => answer(301, null, { location: `//${new URL(origin).host}/x` })),
      ({ bmc }) => bmc.powerState(),
    ],
    [
      'as the place of the sessions',
      (made, origin) =>
        take(made, '/redfish/v1', ({ path }) =>
          /^\/redfish\/v1\/?$/.test(path)
            ? answer(200, { Links: { Sessions: { '@odata.id': `${origin}/redfish/v1/steal` } } })
            : answer(404),
        ),
      ({ bmc }) => bmc.powerState(),
    ],
    [
      'as the id of a system',
      (made, origin) =>
        take(made, '/redfish/v1/Systems', () => answer(200, { Members: [{ '@odata.id': `${origin}/redfish/v1/x` }] })),
      ({ bmc }) => bmc.powerState(),
    ],
    [
      'as the next page',
      (made, origin) =>
        take(made, entriesOf(made), () => answer(200, { Members: [], 'Members@odata.nextLink': `${origin}/next` })),
      ({ bmc }) => bmc.eventLog(),
    ],
    [
      'as the target of an action',
      (made, origin) => {
        const { system } = made.service.paths;
        take(made, system, ({ path }) =>
          path.replace(/\/$/, '') === system
            ? answer(200, {
                PowerState: 'Off',
                Actions: { '#ComputerSystem.Reset': { target: `${origin}/reset` } },
              })
            : answer(404),
        );
      },
      ({ bmc }) => bmc.powerOn(),
    ],
  ])('%s gets no request and no credentials', async (_what, attack, work) => {
    const other = await otherHost();
    const made = await rig(supermicro);
    attack(made, other.origin);
    await work(made).catch(() => undefined);
    expect(other.requests).toEqual([]);
  });

  it('with user information or a fragment stays at the BMC', async () => {
    const other = await otherHost();
    const made = await rig(supermicro, {}, fastDeps(new MemoryPins()));
    const { host } = new URL(other.origin);
    const odd = [`https://u:p@${host}/x`, `//${host}\\@x`, `\\\\${host}\\x`, `javascript:alert(1)`, `https:${host}`];
    take(made, '/redfish/v1/Systems', () => answer(200, { Members: odd.map((id) => ({ '@odata.id': id })) }));
    await made.bmc.powerState().catch(() => undefined);
    expect(other.requests).toEqual([]);
    expect(made.service.received.join('\n')).not.toContain(ADMIN.password);
  });
});

describe('a BMC that asks to come back', () => {
  it('for ever is given up within the time limit of a verb', async () => {
    const deps = fastDeps();
    const made = await rig(supermicro, {}, { ...deps, limits: { ...deps.limits, verb: 5 * MINUTE } });
    let asked = 0;
    take(made, '/redfish/v1/Systems', () => {
      asked += 1;
      return answer(503, null, { 'retry-after': '99999999' });
    });
    await expect(made.bmc.powerState()).rejects.toMatchObject({ retryable: true });
    expect(asked).toBeLessThan(30);
  });
});

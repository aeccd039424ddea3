// The transport below Redfish: certificates, redirects, timeouts, and endless replies.

import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { redfishDeps } from '../../../appliance/bmc/redfish/deps.ts';
import { type RedfishBmc, type RedfishSettings, redfishBmc } from '../../../appliance/bmc/redfish/redfish-bmc.ts';
import { selfSigned } from './mock/certificates.ts';
import { answer } from './mock/mock-answers.ts';
import { MockServer } from './mock/mock-server.ts';
import { VENDORS } from './mock/vendors.ts';
import { fastDeps, MemoryPins, rig, shortTimeoutDeps, startMock, targetOf } from './rig.ts';

const { idrac, supermicro } = VENDORS;
const fingerprint = (pem: string): string => new X509Certificate(pem).fingerprint256;

function driver(mock: MockServer, pins: MemoryPins, settings: RedfishSettings = {}): RedfishBmc {
  const bmc = redfishBmc(targetOf(mock), settings, fastDeps(pins));
  onTestFinished(() => bmc.close());
  return bmc;
}

async function certified(certificate = selfSigned()): Promise<MockServer> {
  const mock = await MockServer.start(supermicro, certificate);
  onTestFinished(() => mock.stop());
  return mock;
}

describe('a certificate', () => {
  it('is pinned at the first use, and accepted at the next', async () => {
    const [pins, made] = [new MemoryPins(), selfSigned()];
    const mock = await certified(made);
    expect(await driver(mock, pins).powerState()).toBe('off');
    expect([...pins.known]).toEqual([[`127.0.0.1:${mock.port}`, fingerprint(made.certificate)]]);
    expect(await driver(mock, pins).powerState()).toBe('off');
  });

  it('is pinned before anything is sent', async () => {
    const mock = await certified();
    const requestsWhenPinned: number[] = [];
    class WatchingPins extends MemoryPins {
      override async remember(address: string, shown: string): Promise<void> {
        requestsWhenPinned.push(mock.service.received.length);
        await super.remember(address, shown);
      }
    }
    await driver(mock, new WatchingPins()).powerState();
    expect(requestsWhenPinned[0]).toBe(0);
  });

  it('that cannot be saved stops the request', async () => {
    const mock = await certified();
    class FullPins extends MemoryPins {
      override async remember(): Promise<void> {
        throw new Error('the disk is full');
      }
    }
    await expect(driver(mock, new FullPins()).powerState()).rejects.toMatchObject({
      failure: 'untrusted',
      message: expect.stringContaining('the disk is full'),
    });
    expect(mock.service.received).toEqual([]);
  });

  it('that changed is rejected, and the error names both', async () => {
    const [pins, before, after] = [new MemoryPins(), selfSigned(), selfSigned()];
    const mock = await certified(after);
    pins.known.set(`127.0.0.1:${mock.port}`, fingerprint(before.certificate));
    await expect(driver(mock, pins).powerState()).rejects.toMatchObject({
      failure: 'untrusted',
      retryable: false,
      message: expect.stringContaining(
        `Pinned: ${fingerprint(before.certificate)}, presented: ${fingerprint(after.certificate)}`,
      ),
    });
    expect(mock.service.received).toEqual([]);
    expect(pins.known.get(`127.0.0.1:${mock.port}`)).toBe(fingerprint(before.certificate));
  });

  it('that changes in the middle of a session is not sent the token', async () => {
    const mock = await certified();
    const bmc = driver(mock, new MemoryPins());
    await bmc.powerState();
    const requests = mock.service.received.length;
    mock.showCertificate(selfSigned());
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'untrusted' });
    expect(mock.service.received.length).toBe(requests);
  });

  it('can be verified by an authority instead, and is then not pinned', async () => {
    const [pins, made] = [new MemoryPins(), selfSigned()];
    const mock = await certified(made);
    const authority = { pem: made.certificate };
    expect(await driver(mock, pins, { authority }).powerState()).toBe('off');
    const named = { pem: made.certificate, name: 'bmc.example.net' };
    expect(await driver(mock, pins, { authority: named }).powerState()).toBe('off');
    expect(pins.known.size).toBe(0);
  });

  it.each([
    ['of another authority', () => ({ pem: selfSigned('other').certificate })],
    ['for another name', (pem: string) => ({ pem, name: 'elsewhere.example.net' })],
  ])('%s is rejected', async (_, authorityFor) => {
    const made = selfSigned();
    const mock = await certified(made);
    const authority = authorityFor(made.certificate);
    await expect(driver(mock, new MemoryPins(), { authority }).powerState()).rejects.toMatchObject({
      failure: 'untrusted',
    });
    expect(mock.service.received).toEqual([]);
  });
});

describe('a redirect', () => {
  it('to another host is not followed, and that host gets no request', async () => {
    const other = await startMock(idrac);
    const { bmc, service } = await rig(idrac);
    const location = `https://127.0.0.1:${other.port}/redfish/v1/Systems`;
    service.intercept = ({ path }) => (path === '/redfish/v1/Systems' ? answer(307, null, { location }) : null);
    await expect(bmc.powerState()).rejects.toMatchObject({
      failure: 'untrusted',
      message: expect.stringContaining(
        `the BMC redirects to 127.0.0.1:${other.port}, and redirects to other hosts are not followed`,
      ),
    });
    expect(other.service.received).toEqual([]);
  });

  it.each(['//192.0.2.1/redfish/v1/Systems', 'http://127.0.0.1/redfish/v1/Systems', 'gopher://x/', 'https://['])(
    'to %s is not followed',
    async (location) => {
      const { bmc, service } = await rig(idrac);
      service.intercept = ({ path }) => (path === '/redfish/v1/Systems' ? answer(308, null, { location }) : null);
      await expect(bmc.powerState()).rejects.toMatchObject({ failure: expect.stringMatching(/untrusted|malformed/) });
    },
  );

  it('to another path of the same BMC is followed', async () => {
    const { bmc, service, mock } = await rig(idrac);
    service.intercept = ({ path }) =>
      path === '/redfish/v1/Systems'
        ? answer(308, null, { location: `https://127.0.0.1:${mock.port}/redfish/v1/Systems/` })
        : null;
    expect(await bmc.powerState()).toBe('off');
  });

  it('in a loop ends', async () => {
    const { bmc, service } = await rig(idrac);
    service.intercept = ({ path }) =>
      path.startsWith('/redfish/v1/Systems') ? answer(307, null, { location: '/redfish/v1/Systems' }) : null;
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'refused' });
  });
});

describe('a path', () => {
  it('is tried with and without the trailing slash', async () => {
    const { bmc, service } = await rig(supermicro);
    service.intercept = ({ path }) => (path === '/redfish/v1/Systems/1' ? answer(404) : null);
    expect(await bmc.powerState()).toBe('off');
  });

  it('that fails both ways is a refusal that names it', async () => {
    const { bmc, service } = await rig(supermicro);
    service.intercept = ({ path }) => (path.startsWith('/redfish/v1/Systems/1') ? answer(404) : null);
    await expect(bmc.powerState()).rejects.toThrow('GET /redfish/v1/Systems/1: no reason given (HTTP 404)');
  });

  it('of the service root that is missing means no Redfish', async () => {
    const { bmc, service } = await rig(supermicro);
    service.intercept = () => answer(404, '<html>nginx</html>');
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'unsupported' });
  });
});

describe('a missing reply', () => {
  it('to the first request is "unreachable"', async () => {
    const mock = await startMock(supermicro);
    mock.misbehave = () => 'silent';
    const bmc = redfishBmc(targetOf(mock), {}, shortTimeoutDeps());
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'unreachable', retryable: true });
    await bmc.close();
  });

  it('after earlier replies is "vanished", and close does not wait for the session', async () => {
    const mock = await startMock(supermicro);
    const bmc = redfishBmc(targetOf(mock), {}, shortTimeoutDeps());
    await bmc.powerState();
    mock.misbehave = () => 'silent';
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'vanished', retryable: true });
    await bmc.close();
  });

  it('from a closed port is "unreachable"', async () => {
    const mock = await startMock(supermicro);
    const target = targetOf(mock);
    await mock.stop();
    const bmc = redfishBmc(target, {}, redfishDeps(new MemoryPins()));
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'unreachable', retryable: true });
    await bmc.close();
  });

  it('from a server without TLS is "untrusted"', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const login = targetOf(await startMock(supermicro));
    const bmc = redfishBmc({ ...login, port: address.port }, {}, redfishDeps(new MemoryPins()));
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'untrusted' });
    await bmc.close();
  });
});

describe('a connection that is dropped', () => {
  const onceAt = (request: string): MockServer['misbehave'] => {
    let times = 1;
    return (method, path) => (`${method} ${path}`.startsWith(request) && times-- > 0 ? 'hang-up' : null);
  };

  it('is reopened for requests that are safe to repeat', async () => {
    const { bmc, mock } = await rig(supermicro);
    mock.misbehave = onceAt('GET /redfish/v1/Systems/1');
    expect(await bmc.powerState()).toBe('off');
  });

  it('is not reopened for a reset', async () => {
    const { bmc, mock, service } = await rig(supermicro);
    service.machine.power = 'On';
    mock.misbehave = onceAt('POST /redfish/v1/Systems/1/Actions');
    await expect(bmc.powerReset()).rejects.toMatchObject({ failure: 'vanished' });
    expect(service.machine.resets).toEqual([]);
  });
});

describe('a reply', () => {
  it('without an end is cut off', async () => {
    const { bmc, mock } = await rig(supermicro);
    mock.misbehave = (_, path) => (path.endsWith('/Systems') ? 'endless' : null);
    await expect(bmc.powerState()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringContaining('larger than the limit of 8388608 bytes'),
    });
  });

  it.each([
    ['text', '<html>login</html>', 'the reply is not JSON'],
    ['nothing', '', 'is not a resource'],
    ['a list', '[]', 'is not a resource'],
    ['a number', '7', 'is not a resource'],
  ])('that is %s instead of a resource is malformed', async (_, body, words) => {
    const { bmc, service } = await rig(supermicro);
    service.intercept = ({ path }) => (path.endsWith('/Systems') ? answer(200, body) : null);
    await expect(bmc.powerState()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringContaining(words),
    });
  });

  it('in pages that loop ends', async () => {
    const { bmc, service } = await rig(supermicro);
    const path = `${service.paths.log}/Entries`;
    const page = { Members: [{ Id: '1', Message: 'once' }], 'Members@odata.nextLink': path };
    service.intercept = (request) => (request.path.startsWith(path) ? answer(200, page) : null);
    expect(await bmc.eventLog()).toHaveLength(1);
  });

  it('in endless pages is an error', async () => {
    const { bmc, service } = await rig(supermicro);
    const path = `${service.paths.log}/Entries`;
    let page = 0;
    service.intercept = (request) =>
      request.path.startsWith(path)
        ? answer(200, { Members: [{ Id: String(page) }], 'Members@odata.nextLink': `${path}?page=${++page}` })
        : null;
    await expect(bmc.eventLog()).rejects.toThrow('more than 200 pages');
  });
});

describe('compression', () => {
  const packed = (bytes: string): ReturnType<typeof answer> =>
    answer(200, gzipSync(bytes), { 'content-encoding': 'gzip' });

  it('is declined, and accepted if the BMC sends nothing else', async () => {
    const { bmc, service } = await rig(supermicro);
    const systems = JSON.stringify({ Members: [{ '@odata.id': service.paths.system }] });
    service.intercept = ({ path, headers }) => {
      if (!path.endsWith('/Systems')) return null;
      return headers['accept-encoding'] === 'identity' ? answer(406) : packed(systems);
    };
    expect(await bmc.powerState()).toBe('off');
  });

  it('of a reply that is too large when decompressed is cut off', async () => {
    const { bmc, service } = await rig(supermicro);
    const bomb = packed(' '.repeat(32 * 1024 * 1024));
    service.intercept = ({ path }) => (path.endsWith('/Systems') ? bomb : null);
    await expect(bmc.powerState()).rejects.toThrow('larger than the limit of 8388608 bytes');
  });

  it('that is not valid gzip is malformed', async () => {
    const { bmc, service } = await rig(supermicro);
    service.intercept = ({ path }) =>
      path.endsWith('/Systems') ? answer(200, '{}', { 'content-encoding': 'gzip' }) : null;
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'malformed' });
  });
});

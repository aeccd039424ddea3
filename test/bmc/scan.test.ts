import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bmcSystemClock } from '../../appliance/bmc/clock.ts';
import { addressesToProbe, type ScanProgress, type ScanSettings, scanForBmcs } from '../../appliance/bmc/scan.ts';
import { type Prefix, parsePrefix } from '../../appliance/domain/ipv4.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { startSimulator } from './ipmi/client-rig.ts';
import { selfSigned } from './redfish/mock/certificates.ts';
import { VirtualClock } from './virtual-clock.ts';

const prefix = (text: string): Prefix => mustParse(parsePrefix(text));
const ALLOWED = [prefix('127.77.0.0/16')];
const FACTOR = 4;
/** Four times as fast: the timeouts for addresses without a BMC take a quarter of the time. */
const FAST_CLOCK = {
  now: () => performance.now() * FACTOR,
  wakeAt: (at: number, run: () => void) => {
    const timeout = setTimeout(run, Math.max(0, at / FACTOR - performance.now()));
    return () => clearTimeout(timeout);
  },
};

async function webServer(address: string, root: string, port = 0): Promise<number> {
  const { key, certificate } = selfSigned();
  const server: Server = createServer({ key, cert: certificate }, (request, response) => {
    expect(request.headers.authorization).toBeUndefined();
    response.writeHead(request.url === '/redfish/v1/' ? 200 : 404).end(root);
  });
  server.listen(port, address);
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

describe('a BMC scan', () => {
  it('finds IPMI, Redfish and both, and never logs in', async () => {
    const both = await startSimulator({ address: '127.77.0.5' });
    const ports = { ipmi: both.port, redfish: await webServer('127.77.0.5', ROOTS.supermicro) };
    const old = await startSimulator({ address: '127.77.0.6', port: ports.ipmi, ipmi2: false });
    await webServer('127.77.0.7', ROOTS.hpe, ports.redfish);
    await webServer('127.77.0.8', '<html>a printer</html>', ports.redfish);
    await webServer('127.77.0.9', `{"RedfishVersion":"${'x'.repeat(100_000)}"}`, ports.redfish);
    const progress: ScanProgress[] = [];
    const settings: ScanSettings = { allowed: ALLOWED, progress: (step) => progress.push(step) };
    expect(await scanForBmcs([prefix('127.77.0.0/28')], settings, FAST_CLOCK, ports)).toEqual([
      {
        address: '127.77.0.5',
        ipmi: { ipmi2: true },
        redfish: { vendor: 'Supermicro', product: null, version: '1.11.0' },
      },
      { address: '127.77.0.6', ipmi: { ipmi2: false }, redfish: null },
      { address: '127.77.0.7', ipmi: null, redfish: { vendor: 'Hpe', product: 'ProLiant', version: '1.6.0' } },
    ]);
    expect(progress.map(({ probed }) => probed)).toEqual(Array.from({ length: 14 }, (_, index) => index + 1));
    expect(progress.every(({ of }) => of === 14)).toBe(true);
    expect(progress.filter(({ found }) => found)).toHaveLength(3);
    expect([...both.received, ...old.received]).toEqual([]);
  });

  it('can be aborted', async () => {
    const stop = new AbortController();
    const settings: ScanSettings = {
      allowed: ALLOWED,
      signal: stop.signal,
      atOnce: 1,
      progress: () => stop.abort(new Error('enough')),
    };
    const scan = scanForBmcs([prefix('127.77.1.0/24')], settings, FAST_CLOCK, { ipmi: 9, redfish: 9 });
    await expect(scan).rejects.toThrow('enough');
    await expect(scanForBmcs([prefix('127.77.1.0/24')], settings, bmcSystemClock)).rejects.toThrow('enough');
  });

  it('respects the rate limit', async () => {
    const clock = new VirtualClock(0);
    const scan = scanForBmcs([prefix('127.77.2.0/24')], { allowed: ALLOWED, perSecond: 10 }, clock, {
      ipmi: 9,
      redfish: 9,
    });
    expect(await clock.until(scan)).toEqual([]);
    expect(clock.now()).toBeGreaterThanOrEqual(25_400);
  });

  it.each([
    ['a network that is not configured', ['10.0.0.0/24'], ALLOWED, 'allowed are 127.77.0.0/16'],
    ['more than the configured network', ['127.0.0.0/8'], ALLOWED, 'may not be scanned for BMCs'],
    ['any network when none is configured', ['127.77.0.0/24'], [], 'the site configures no network'],
    ['more than a /20', ['127.77.0.0/19'], ALLOWED, '8192 addresses exceed the limit of 4096'],
    ['more than a /20 in parts', ['127.77.0.0/20', '127.77.16.0/32'], ALLOWED, '4097 addresses'],
  ])('refuses to scan %s', async (_where, prefixes, allowed, words) => {
    const scan = scanForBmcs(prefixes.map(prefix), { allowed }, bmcSystemClock);
    await expect(scan).rejects.toMatchObject({ code: 'invalid_request', message: expect.stringContaining(words) });
  });

  it('probes every host once, and neither the network nor its broadcast address', () => {
    expect(addressesToProbe(['127.77.0.8/30', '127.77.0.10/31', '127.77.0.1/32'].map(prefix), ALLOWED)).toEqual([
      '127.77.0.1',
      '127.77.0.9',
      '127.77.0.10',
      '127.77.0.11',
    ]);
    expect(addressesToProbe([prefix('127.77.0.0/20')], ALLOWED)).toHaveLength(4094);
  });
});

const ROOTS = {
  supermicro: '{"RedfishVersion":"1.11.0","Vendor":"Super\\u0007micro"}',
  hpe: '{"RedfishVersion":"1.6.0","Product":"ProLiant","Oem":{"Hpe":{}}}',
};

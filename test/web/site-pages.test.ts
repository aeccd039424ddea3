import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { readDocument, sourceName } from '../../appliance/web/page/inventory/read-document.ts';
import { poolUse } from '../../appliance/web/page/networks/pool-use.ts';
import { qrPicture } from '../../appliance/web/page/racks/qr-path.ts';
import { needPackages } from '../interop/packages.ts';

describe('the use of a pool', () => {
  type Network = Parameters<typeof poolUse>[0];
  type Lease = Parameters<typeof poolUse>[1][number];
  const network = (pools: Network['pools']): Network => ({ name: 'boot', pools }) as Network;
  const leases = (...addresses: string[]): Lease[] =>
    addresses.map((address) => ({ address, network: 'boot', held: true }) as Lease);
  const pool = network([{ from: '10.0.0.250', to: '10.0.1.3' }]);

  it('counts held addresses of the pool only, across octets', () => {
    expect(poolUse(pool, [])).toEqual({ size: 10, held: 0, percent: 0, tone: 'neutral' });
    const other = { ...leases('10.0.1.2')[0], network: 'prod' } as Lease;
    const expired = { ...leases('10.0.1.1')[0], held: false } as Lease;
    expect(poolUse(pool, [...leases('10.0.0.250', '10.0.1.3', '10.0.1.4'), other, expired])).toMatchObject({ held: 2 });
  });

  it('warns before it is full, and says so when it is', () => {
    const all = Array.from({ length: 10 }, (_, at) => (at < 6 ? `10.0.0.${250 + at}` : `10.0.1.${at - 6}`));
    expect(poolUse(pool, leases(...all.slice(0, 9)))?.tone).toBe('attention');
    expect(poolUse(pool, leases(...all))?.tone).toBe('bad');
    expect(poolUse(network([]), [])).toBeNull();
  });
});

describe('an inventory file in the page', () => {
  it('is named like its file', () => {
    expect(sourceName('C:\\racks\\rack12.yaml')).toBe('rack12');
    expect(readDocument('rack12.yaml', 'nodes: []')).toEqual({ ok: true, name: 'rack12', document: { nodes: [] } });
    expect(readDocument('', 'nodes: []')).toMatchObject({
      ok: false,
      problem: expect.stringContaining('Name the file'),
    });
  });

  it('that cannot be read says where', () => {
    expect(readDocument('a.yaml', '- 1')).toMatchObject({ ok: false, problem: expect.stringContaining('no sections') });
    expect(readDocument('a.yaml', 'nodes: [')).toMatchObject({
      ok: false,
      problem: expect.stringContaining('neither YAML nor JSON'),
    });
  });
});

describe('a QR label', () => {
  it('is read by a reader that we did not write', () => {
    needPackages(['zbar-tools', 'imagemagick']);
    const link = 'https://appliance.example:8443/t/r12u07';
    const { size, path } = qrPicture(link);
    const picture = bitmap(size, path);
    const read = spawnSync('zbarimg', ['--quiet', '--raw', 'pbm:-'], { input: picture, encoding: 'utf8' });
    expect(read.stdout.trim()).toBe(link);
  });
});

/** The path as a picture, eight dots for a module. */
function bitmap(size: number, path: string): string {
  const scale = 8;
  const dark = new Set<string>();
  for (const [, x, y, width] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
    for (let at = 0; at < Number(width); at += 1) dark.add(`${Number(x) + at} ${y}`);
  }
  const rows = Array.from({ length: size * scale }, (_, row) =>
    Array.from({ length: size * scale }, (_, column) =>
      dark.has(`${Math.floor(column / scale)} ${Math.floor(row / scale)}`) ? '1' : '0',
    ).join(' '),
  );
  return `P1\n${size * scale} ${size * scale}\n${rows.join('\n')}\n`;
}

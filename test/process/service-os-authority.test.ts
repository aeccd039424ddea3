// A running appliance keeps its authorities in the initrds of the service OS: at the start, after each step of a rotation, and after a new
// build, and not without a node API.

import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { authorityIn } from '../../appliance/assets/service-os/authority.ts';
import { freePort } from '../free-port.ts';
import { LOOPBACK_SITE, ServingProcess, SiteFolder } from './appliance.ts';

const NAME = 'images/service-os-x86_64/initrd';
const build = (): Buffer => zstdCompressSync(randomBytes(5001));

it('keeps its authorities in the service OS', async () => {
  const site = new SiteFolder(`${LOOPBACK_SITE}  node: 127.0.0.1:${await freePort()}\n`);
  onTestFinished(() => site.remove());
  const file = join(site.state, 'assets', NAME);
  mkdirSync(dirname(file), { recursive: true });
  const built = build();
  writeFileSync(file, built);

  const serving = await new ServingProcess(site.path).up();
  onTestFinished(async () => void (await serving.end('SIGKILL')));
  const coldiron = (...args: string[]): string => {
    const { status, stdout, stderr } = site.run(...args);
    expect(status, stderr).toBe(0);
    return stdout;
  };
  const trusted = (): string => coldiron('ca', 'show', '--pem');
  const count = (pem: string): number => pem.split('BEGIN CERTIFICATE').length - 1;
  const fetched = async (): Promise<Buffer> => {
    const answer = await fetch(`${serving.where('boot')}boot/service-os-x86_64/initrd`);
    return Buffer.from(await answer.arrayBuffer());
  };

  const first = trusted();
  expect(count(first)).toBe(1);
  expect(await authorityIn(file)).toBe(first);
  expect((await fetched()).equals(readFileSync(file))).toBe(true);

  for (const step of [
    ['ca', 'rotate', '--stage-only'],
    ['ca', 'rotate'],
  ]) {
    coldiron(...step);
    expect(count(trusted())).toBe(2);
    // Before the command returns: a machine that boots now trusts both.
    expect(await authorityIn(file)).toBe(trusted());
    expect((await fetched()).equals(readFileSync(file))).toBe(true);
  }
  coldiron('ca', 'retire');
  const last = trusted();
  expect(last).not.toContain(first);
  expect(await authorityIn(file)).toBe(last);

  const rebuilt = build();
  writeFileSync(`${file}.part`, rebuilt);
  renameSync(`${file}.part`, file);
  await expect.poll(() => authorityIn(file), { timeout: 60_000 }).toBe(last);
  expect(readFileSync(file).subarray(0, rebuilt.length).equals(rebuilt)).toBe(true);

  await serving.end('SIGTERM');
  site.write('coldiron.yaml', LOOPBACK_SITE);
  const withoutNodes = await new ServingProcess(site.path).up();
  onTestFinished(async () => void (await withoutNodes.end('SIGKILL')));
  expect(readFileSync(file).equals(rebuilt)).toBe(true);
});

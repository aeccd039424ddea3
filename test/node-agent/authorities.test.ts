// The agent trusts the authorities of its bundle only, not those of the operating system.

import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { FakeSession, fakeAuthority } from '../assets/fake-session.ts';
import { temporaryFolder } from '../assets/tiny-files.ts';
import { needPackages } from '../interop/packages.ts';
import { ROOT } from '../process/appliance.ts';

beforeAll(() => needPackages(['curl', 'dash', 'openssl']));

it.each([
  ['in its bundle', 'bundle.pem', '401'],
  ['of the operating system', 'system/public.pem', '000'],
])('an authority %s (%s): the request ends with %s', async (_where, file, status) => {
  const authority = fakeAuthority();
  const server = new FakeSession({ authority, identity: 'bound' });
  await server.listen();
  onTestFinished(() => server.close());
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'system'));
  writeFileSync(join(folder, 'bundle.pem'), fakeAuthority().pem);
  writeFileSync(join(folder, file), authority.pem);
  const lines = `
    openssl rehash ${folder}/system && mount --bind ${folder}/system /etc/ssl/certs
    run() { "$@"; }
    say() { :; }
    . ${ROOT}/boot-assets/node-agent/parts/40-requests.sh
    answer=${folder}/answer scratch=${folder} ca_bundle=${folder}/bundle.pem api_url=${new URL(server.url()).origin}
    request /node/v1/ping 20
    echo "$status"`;
  const shell = spawn('unshare', ['--mount', 'dash', '-c', lines], { stdio: ['ignore', 'pipe', 'inherit'] });
  expect((await text(shell.stdout)).trim()).toBe(status);
  expect(server.requests).toHaveLength(status === '000' ? 0 : 1);
});

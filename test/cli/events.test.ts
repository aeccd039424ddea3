import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildManagementApi } from '../../appliance/api/app.ts';
import { localAuthenticator } from '../../appliance/api/auth.ts';
import type { App } from '../../appliance/api/base-app.ts';
import type { ManagementDeps } from '../../appliance/api/deps.ts';
import { type Fixture, openApi } from '../api/api-fixture.ts';
import { runColdiron } from './run-coldiron.ts';

const COLDIRON = join(import.meta.dirname, '../../coldiron');
const authenticate = localAuthenticator('test');

let api: Fixture;
let deps: ManagementDeps;
let listening: App;
let child: ChildProcess | null = null;
beforeEach(async () => {
  api = await openApi({
    deps: (real) => {
      deps = { ...real, authenticate };
      return { authenticate };
    },
  });
  listening = await listen();
});
afterEach(async () => {
  child?.kill('SIGKILL');
  child = null;
  await listening.close();
  await api.close();
});

/** A listener on the socket, which the test can close without the API of the fixture. */
async function listen(): Promise<App> {
  const app = await buildManagementApi(deps);
  await app.listen({ path: join(api.stateDir, 'coldiron.sock') });
  return app;
}

const act = (node: string, verb: string) => api.call({ method: 'POST', url: `/api/v1/nodes/${node}/${verb}` });
const soon = <T>(read: () => T) => expect.poll(read, { timeout: 30_000, interval: 20 });

describe('coldiron events', () => {
  it('shows the newest events, those of a node, and those of a kind', async () => {
    await act('node02', 'retire');
    await act('node01', 'retire');
    const all = await runColdiron(api.stateDir, ['events', '--limit', '2']);
    expect(all.stdout.split('\n')).toEqual([
      expect.stringMatching(/^2026-01-15 08:00:00 {2}node02 +State is now retired/),
      expect.stringMatching(/^2026-01-15 08:00:00 {2}node01 +State is now retired/),
      '',
    ]);
    const json = await runColdiron(api.stateDir, ['events', '--node', 'node02', '--kind', 'lifecycle', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject([{ hostname: 'node02', severity: 'info' }]);
    const none = await runColdiron(api.stateDir, ['events', '--kind', 'bmc']);
    expect([none.status, none.stdout]).toEqual([0, 'There are no such events.\n']);
    const unknown = await runColdiron(api.stateDir, ['events', '--follow', '--node', 'node99']);
    expect([unknown.status, unknown.stderr]).toEqual([4, expect.stringContaining('node99')]);
  });

  it('with --follow goes on after a lost connection without gap or repetition, and ends on Ctrl-C', async () => {
    const args = ['events', '--follow', '--json', '--limit', '1', '--kind', 'lifecycle', '--state', api.stateDir];
    await act('node01', 'retire');
    child = spawn(COLDIRON, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout?.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      err += chunk.toString();
    });
    const seen = () =>
      out
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { hostname: string; kind: string })
        .map(({ hostname, kind }) => `${hostname} ${kind}`);
    await soon(seen).toEqual(['node01 lifecycle.retired']);
    await soon(() => api.live.listeners).toBe(1);
    await act('node02', 'retire');
    await soon(seen).toHaveLength(2);
    await listening.close();
    await act('node03', 'retire');
    await soon(() => err).toContain('trying again');
    listening = await listen();
    await soon(seen).toHaveLength(3);
    await act('node02', 'reactivate');
    await soon(seen).toEqual([
      'node01 lifecycle.retired',
      'node02 lifecycle.retired',
      'node03 lifecycle.retired',
      'node02 lifecycle.registered',
    ]);
    const ended = once(child, 'exit');
    child.kill('SIGINT');
    expect(await ended).toEqual([0, null]);
  });
});

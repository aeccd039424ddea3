// The last stages of a deployment, in which the installed system becomes a node: the real agent and a real appliance;
// the agent is killed where a power cut would stop it.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needPackages } from '../interop/packages.ts';
import { AgentSite, type InstalledAgent } from '../node-agent/agent-rig.ts';

const WITHIN_MS = 60_000;

/** Replaces a program of the agent, and calls `$real`: reports that the moment has come, and then hangs. */
const STAND_STILL = ': >"$reached"; exec sleep 600';

interface Cut {
  readonly when: string;
  readonly node: string;
  readonly program: 'curl' | 'mv';
  readonly text: string;
  /** The state of the machine at that moment. */
  readonly state: 'enrolling' | 'active';
}

const CUTS: readonly Cut[] = [
  {
    when: 'the key is made and the token is not used yet',
    node: 'node01',
    program: 'curl',
    text: STAND_STILL,
    state: 'enrolling',
  },
  {
    when: 'the token is used and the certificate has not arrived',
    node: 'node02',
    program: 'curl',
    text: `"$real" "$@" >/dev/null; ${STAND_STILL}`,
    state: 'active',
  },
  {
    when: 'the certificate is on disk and its key has not taken its place',
    node: 'node03',
    program: 'mv',
    text: `case $* in */key.pem) ${STAND_STILL} ;; esac; exec "$real" "$@"`,
    state: 'active',
  },
  {
    when: 'the key has taken its place and the certificate has not',
    node: 'node04',
    program: 'mv',
    text: `case $* in */cert.pem) ${STAND_STILL} ;; esac; exec "$real" "$@"`,
    state: 'active',
  },
];

describe('a node that loses power while it enrolls', () => {
  let site: AgentSite;
  beforeAll(async () => {
    needPackages(['curl', 'openssl', 'dash']);
    site = await AgentSite.make();
    await site.serve();
  });
  afterAll(() => site?.end());

  it.each(CUTS)('becomes active by itself when it was cut as $when', async ({ node, program, text, state }) => {
    const agent = site.install(node);
    const reached = join(agent.root, 'reached');
    agent.start(['dash'], { PATH: `${standIn(agent, program, text, reached)}:${process.env.PATH}` });
    await expect.poll(() => existsSync(reached), { timeout: WITHIN_MS }).toBe(true);
    await agent.end('SIGKILL');
    expect(site.json('nodes', 'show', node)).toMatchObject({ state });

    agent.start();
    await expect
      .poll(() => site.json('task', 'run', node, 'ping', '--wait'), { timeout: WITHIN_MS, interval: 500 })
      .toMatchObject({ state: 'succeeded' });
    expect(site.json('nodes', 'show', node)).toMatchObject({ state: 'active', health: 'online' });
    await agent.end('SIGTERM');
  });
});

/** A folder with the program in it, to be put before the real one in PATH. */
function standIn({ root }: InstalledAgent, program: string, text: string, reached: string): string {
  const bin = join(root, 'bin');
  mkdirSync(bin);
  const real = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim();
  const lines = ['#!/bin/sh', `real='${real}' reached='${reached}'`, text, ''];
  writeFileSync(join(bin, program), lines.join('\n'), { mode: 0o755 });
  return bin;
}

// Attacks on terminals over the node API: another node's terminal, a replayed id, no certificate, and what else the path could be used for.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Machine } from '../../appliance/domain/machine.ts';
import { needPackages } from '../interop/packages.ts';
import { NodeApiSite, type NodeClient } from '../servers/node-api/node-api-site.ts';
import { ALICE, TerminalRig } from '../terminals/terminal-rig.ts';

describe('the terminals of a node', () => {
  let site: NodeApiSite;
  let victim: Machine;
  let node: NodeClient;
  let attacker: NodeClient;
  let rig: TerminalRig;
  let id: string;
  const path = (end: string, terminal = id): string => `/node/v1/terminals/${terminal}/${end}`;
  /** The streams are endless: a second is enough to see the answer. */
  const briefly = { options: ['--max-time', '2', '--no-buffer'] } as const;
  const upload = { options: ['--max-time', '2', '--request', 'PUT', '--data-binary', 'evil output'] } as const;

  beforeAll(async () => {
    needPackages(['curl', 'openssl']);
    site = await NodeApiSite.open();
    victim = await site.machine(1);
    node = await site.node(victim);
    attacker = await site.node(await site.machine(2));
    rig = await TerminalRig.open();
  });
  afterAll(async () => {
    await rig.end();
    await site.end();
  });

  beforeEach(async () => {
    for (const { about } of rig.terminals.list()) await rig.terminals.close(about.id, ALICE);
    // The machine of the terminal is the one that the certificate names.
    rig.machine = { ...rig.machine, id: victim.id };
    site.useTerminals(rig.terminals);
    const opening = rig.open();
    opening.catch(() => undefined);
    await rig.asked();
    id = rig.parameters.at(-1)?.terminal ?? '';
  });

  it('cannot be taken by another node that knows the id', async () => {
    expect(await attacker.call(path('input'), briefly)).toMatchObject({ status: 404 });
    expect(await attacker.call(path('output'), upload)).toMatchObject({ status: 404 });
    expect(await attacker.call(path('end'), { form: { status: '0' } })).toMatchObject({ status: 404 });
    expect(rig.terminals.list()).toHaveLength(1);
    expect(site.notes.some(({ kind }) => kind === 'node-api.refused')).toBe(true);
    // The node itself is not hindered.
    expect(await node.call(path('input'), briefly)).toMatchObject({ status: 200 });
  });

  it('cannot be taken a second time, not even by the node itself', async () => {
    const first = node.call(path('input'), briefly);
    await expect.poll(() => rig.terminals.list()[0]?.certificates.size).toBe(1);
    expect(await node.call(path('input'), briefly)).toMatchObject({ status: 409 });
    expect(await first).toMatchObject({ status: 200 });
  });

  it('cannot be taken after they are closed, or with an invented id', async () => {
    await rig.terminals.close(id, ALICE);
    expect(await node.call(path('input'), briefly)).toMatchObject({ status: 404 });
    expect(await node.call(path('input', '00000000-0000-4000-8000-000000000000'), briefly)).toMatchObject({
      status: 404,
    });
    expect(await node.call(path('input', '../../../tasks/wait'), briefly)).toMatchObject({ status: 404 });
    expect(await node.call(path('input', 'x'.repeat(36)), briefly)).toMatchObject({ status: 400 });
  });

  it('cannot be taken without a certificate', async () => {
    for (const end of ['input', 'output', 'end']) {
      expect(await node.call(path(end), { as: null, ...(end === 'output' ? upload : briefly) })).toMatchObject({
        status: end === 'end' ? 404 : 401,
      });
    }
  });

  it('have no way to an operation: other methods and parts of the path do not exist', async () => {
    for (const end of ['', 'retire', 'tasks', 'input/../release'])
      for (const method of ['POST', 'DELETE', 'PATCH'])
        expect(
          (await node.call(path(end), { options: ['--request', method, '--path-as-is', '--max-time', '2'] })).status,
          `${method} ${end}`,
        ).toBeGreaterThanOrEqual(400);
    expect(await site.state(victim)).toBe('active');
  });
});

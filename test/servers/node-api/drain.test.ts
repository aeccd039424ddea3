// Draining: the node gets a drain task, and its result changes its lifecycle state.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newEvent } from '../../../appliance/domain/event.ts';
import { sampleData } from '../../../appliance/domain/events/sample-event.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { needPackages } from '../../interop/packages.ts';
import { NodeApiSite, type NodeClient } from './node-api-site.ts';

beforeAll(() => needPackages(['curl', 'openssl']));

describe('a node that is drained', () => {
  let site: NodeApiSite;
  let count = 0;
  beforeAll(async () => {
    site = await NodeApiSite.open();
  });
  afterAll(() => site.end());

  const draining = async (): Promise<{ machine: Machine; node: NodeClient }> => {
    const machine = await site.machine(++count);
    const node = await site.node(machine);
    await site.request(machine, 'drain');
    await site.enrollment.drains.reconcile();
    return { machine, node };
  };
  const fetched = async (
    node: NodeClient,
    kind: 'drain' | 'undrain' = 'drain',
  ): Promise<{ id: string; begin: () => Promise<number> }> => {
    const task = await node.wait();
    expect(task).toMatchObject({ status: 200, json: { payload: expect.stringContaining(`"kind":"${kind}"`) } });
    const id = String(task.json.task_id);
    const form = { lease: String(task.json.lease) };
    return { id, begin: async () => (await node.call(`/node/v1/tasks/${id}/begin`, { form })).status };
  };
  const report = (node: NodeClient, id: string, status: string, output: string) =>
    node.call(`/node/v1/tasks/${id}/result`, { form: { status, output } });

  const kindsAndStates = async ({ id }: Machine): Promise<string[]> =>
    (await site.store.tasksOf(id, 10)).map(({ kind, state }) => `${kind} ${state}`).sort();

  it('gets one drain task, and is retired when it reports that its workload has left', async () => {
    const { machine, node } = await draining();
    await site.enrollment.drains.reconcile();
    const task = await fetched(node);
    expect(await task.begin()).toBe(200);
    expect(await site.state(machine)).toBe('draining');
    expect(await report(node, task.id, 'succeeded', 'drained')).toMatchObject({ status: 200 });
    expect(await site.current(machine)).toMatchObject({ lifecycle: { state: 'retired', resume: 'active' } });
    expect((await site.store.tasksOf(machine.id, 10)).map(({ kind }) => kind)).toEqual(['drain']);
  });

  it('fails with the message of the node when the node reports a failure; a new drain sends a new task', async () => {
    const { machine, node } = await draining();
    const task = await fetched(node);
    await task.begin();
    await report(node, task.id, 'failed', 'a database is in the way\n');
    expect(await site.current(machine)).toMatchObject({
      lifecycle: {
        state: 'failed',
        failure: { step: 'drain', reason: expect.stringContaining('a database is in the way') },
      },
    });
    await site.request(machine, 'drain');
    await site.enrollment.drains.reconcile();
    const second = await fetched(node);
    expect(second.id).not.toBe(task.id);
    await second.begin();
    await report(node, second.id, 'succeeded', 'drained');
    expect(await site.state(machine)).toBe('retired');
  });

  it('does not begin after it is undrained', async () => {
    const { machine, node } = await draining();
    const task = await fetched(node);
    await site.request(machine, 'undrain');
    expect(await task.begin()).toBe(409);
    expect(await site.state(machine)).toBe('active');
    await site.enrollment.drains.reconcile();
    expect(await kindsAndStates(machine)).toEqual(['drain expired']);
  });

  it('cancels the drain task when the node is undrained before it fetched the task', async () => {
    const { machine, node } = await draining();
    await site.request(machine, 'undrain');
    await site.enrollment.drains.reconcile();
    expect(await kindsAndStates(machine)).toEqual(['drain expired']);
    expect((await node.wait()).status).toBe(204);
  });

  it('stops a drain that has begun when the node is undrained, and sends one undrain task', async () => {
    const { machine, node } = await draining();
    const task = await fetched(node);
    await task.begin();
    const beat = async () => (await node.call('/node/v1/heartbeat', { form: { task: task.id } })).json.task;
    expect(await beat()).toBe('continue');
    await site.request(machine, 'undrain');
    await site.enrollment.drains.reconcile();
    await site.enrollment.drains.reconcile();
    expect(await beat()).toBe('stop');
    expect(await report(node, task.id, 'failed', 'stopped')).toMatchObject({ status: 200 });
    expect(await site.state(machine)).toBe('active');
    expect(await kindsAndStates(machine)).toEqual(['drain failed', 'undrain queued']);
    const undo = await fetched(node, 'undrain');
    expect(await undo.begin()).toBe(200);
    expect(await report(node, undo.id, 'succeeded', 'undrained')).toMatchObject({ status: 200 });
    await site.enrollment.drains.reconcile();
    expect(await kindsAndStates(machine)).toEqual(['drain failed', 'undrain succeeded']);
  });

  it('cancels in one commit the undrain task that waits when the node is drained again, and the reverse', async () => {
    const { machine, node } = await draining();
    const task = await fetched(node);
    await task.begin();
    await site.request(machine, 'undrain');
    await site.enrollment.drains.reconcile();
    expect(await kindsAndStates(machine)).toEqual(['drain running', 'undrain queued']);
    await report(node, task.id, 'failed', 'stopped');

    site.ahead += 1000;
    await site.request(machine, 'drain');
    expect(await kindsAndStates(machine)).toEqual(['drain failed', 'undrain expired']);
    await site.enrollment.drains.reconcile();
    expect(await kindsAndStates(machine)).toEqual(['drain failed', 'drain queued', 'undrain expired']);

    site.ahead += 1000;
    await site.request(machine, 'undrain');
    expect(await kindsAndStates(machine)).toEqual(['drain expired', 'drain failed', 'undrain expired']);
    // The node was drained by the first task, and nothing has undone that yet.
    await site.enrollment.drains.reconcile();
    expect(await kindsAndStates(machine)).toEqual([
      'drain expired',
      'drain failed',
      'undrain expired',
      'undrain queued',
    ]);
    const undo = await fetched(node, 'undrain');
    expect(await undo.begin()).toBe(200);
    expect(await report(node, undo.id, 'succeeded', 'undrained')).toMatchObject({ status: 200 });
    await site.enrollment.drains.reconcile();
    expect((await site.store.tasksOf(machine.id, 10)).filter(({ kind }) => kind === 'undrain')).toHaveLength(2);
    const cancelled = await site.store.events({ machine: machine.id, kind: 'task.cancelled', limit: 10 });
    expect(cancelled.map(({ actor, data }) => [actor, (data as { reason: string }).reason])).toEqual([
      ['local:ada', 'the node is now draining'],
      ['local:ada', 'the node is now active'],
    ]);
  });

  it('sends an undrain task to a drained node that is reactivated', async () => {
    const { machine, node } = await draining();
    const task = await fetched(node);
    await task.begin();
    await report(node, task.id, 'succeeded', 'drained');
    await site.request(machine, 'reactivate');
    await site.enrollment.drains.reconcile();
    expect(await site.state(machine)).toBe('active');
    expect(await kindsAndStates(machine)).toEqual(['drain succeeded', 'undrain queued']);
  });

  it('continues where a killed process stopped', async () => {
    const { machine, node } = await draining();
    const task = await fetched(node);
    await task.begin();
    // As if the process was killed between the result and its consequences.
    const result = { succeeded: true, output: 'drained' };
    const frame = { at: site.now(), actor: 'x', machine: machine.id, correlationId: null };
    const event = newEvent(frame, 'task.succeeded', sampleData('task.succeeded'));
    await site.store.finishTask({ id: task.id as never, machine: machine.id, now: site.now(), result, event });
    expect(await site.state(machine)).toBe('draining');
    await site.stop();
    await site.start();
    await expect.poll(() => site.state(machine)).toBe('retired');
  });

  it('can be declared drained by an operator, where the node cannot report it', async () => {
    const { machine } = await draining();
    await site.request(machine, 'drained');
    expect(await site.state(machine)).toBe('retired');
    expect((await site.audit('node.drained')).at(-1)).toMatchObject({ actor: 'local:ada' });
  });

  it('is the only node that accepts a drain task', async () => {
    const machine = await site.machine(++count);
    await site.node(machine);
    const order = { kind: 'drain', parameters: {} } as const;
    const run = site.enrollment.tasks.run(await site.current(machine), order, {
      actor: 'local:ada',
      correlationId: null,
    });
    await expect(run).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('not draining') });
  });
});

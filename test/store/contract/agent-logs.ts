import { expect, it } from 'vitest';
import type { AgentLogLine } from '../../../appliance/domain/agent-log.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { MAX_AGENT_LOG_LINES } from '../../../appliance/store/agent-log-store.ts';
import { type Engine, useStore } from '../engines.ts';
import { addMachine, NOW, newAudit, newEvent } from '../samples.ts';

const line = (number: number, changes: Partial<AgentLogLine> = {}): AgentLogLine => ({
  ...{ number, at: NOW + number, action: 'wait', errorClass: null, message: `line ${number}` },
  ...changes,
});

const log = (
  { id }: Machine,
  lines: readonly AgentLogLine[],
  changes: { stream?: string; receivedAt?: number } = {},
) => ({
  ...{ machine: id, stream: 'a1', receivedAt: NOW, lines, ...changes },
  events: (stored: readonly AgentLogLine[]) => stored.map(() => newEvent('task.created')),
});

export function agentLogsContract(engine: Engine): void {
  const rig = useStore(engine);

  it('stores each line once, also when it is sent again, and writes events only for new ones', async () => {
    const machine = await addMachine(rig().store, 1);
    expect(await rig().store.appendAgentLog(log(machine, [line(1), line(2)]))).toBe(2);
    expect(await rig().store.appendAgentLog(log(machine, [line(1), line(2), line(3)]))).toBe(1);
    expect(await rig().store.appendAgentLog(log(machine, [line(1)], { stream: 'b2' }))).toBe(1);
    const stored = await rig().store.agentLog({ machine: machine.id, limit: 10 });
    expect(stored.map(({ number }) => number)).toEqual([1, 2, 3, 1]);
    expect(await rig().store.events({ kind: 'task.created', limit: 10 })).toHaveLength(4);
  });

  it('filters by machine, action, class, text and time', async () => {
    const [one, other] = [await addMachine(rig().store, 1), await addMachine(rig().store, 2)];
    const refused = line(2, { action: 'renew', errorClass: 'refused', message: '100% _wrong_' });
    await rig().store.appendAgentLog(log(one, [line(1), refused, line(3)]));
    await rig().store.appendAgentLog(log(other, [line(1)]));
    const numbers = async (query: object) =>
      (await rig().store.agentLog({ machine: one.id, limit: 10, ...query })).map(({ number }) => number);
    expect(await numbers({ action: 'renew' })).toEqual([2]);
    expect(await numbers({ errorClass: 'refused' })).toEqual([2]);
    expect(await numbers({ errors: true })).toEqual([2]);
    expect(await numbers({ contains: '% _' })).toEqual([2]);
    expect(await numbers({ since: NOW + 2 })).toEqual([2, 3]);
    expect(await numbers({ limit: 1 })).toEqual([3]);
  });

  it('keeps the newest lines of a machine, and none older than the retention', async () => {
    const machine = await addMachine(rig().store, 1);
    const many = Array.from({ length: 200 }, (_, at) => at);
    for (let from = 0; from <= MAX_AGENT_LOG_LINES; from += many.length) {
      const lines = many.map((at) => line(from + at));
      await rig().store.appendAgentLog(log(machine, lines, { receivedAt: NOW + from }));
    }
    const stored = await rig().store.agentLog({ machine: machine.id, limit: 2 * MAX_AGENT_LOG_LINES });
    expect(stored.length).toBeLessThanOrEqual(MAX_AGENT_LOG_LINES);
    expect(stored.at(-1)?.number).toBe(MAX_AGENT_LOG_LINES + many.length - 1);
    expect(await rig().store.trimAgentLogs(NOW + MAX_AGENT_LOG_LINES)).toBe(stored.length - many.length);
    expect(await rig().store.agentLog({ machine: machine.id, limit: 1000 })).toHaveLength(many.length);
  });

  it('finds the audit entries and events of one request', async () => {
    await rig().store.appendAudit([
      { ...newAudit('a'), correlationId: 'c-1' },
      { ...newAudit('b'), correlationId: 'c-2' },
    ]);
    await rig().store.appendEvents([{ ...newEvent('task.created'), correlationId: 'c-2' }, newEvent('task.created')]);
    expect(await rig().store.auditEntries(0, 10, true, 'c-2')).toMatchObject([{ action: 'b' }]);
    expect(await rig().store.events({ limit: 10, correlationId: 'c-2' })).toHaveLength(1);
  });
}

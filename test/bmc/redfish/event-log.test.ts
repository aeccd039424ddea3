// Logs of real services: in either order, with clocks that were never set, and several of them.

import { describe, expect, it } from 'vitest';
import type { Bmc, LogEntry } from '../../../appliance/bmc/bmc.ts';
import { answer } from './mock/mock-answers.ts';
import { VENDORS } from './mock/vendors.ts';
import { rig } from './rig.ts';

async function logWith(...entries: readonly object[]): Promise<LogEntry[]> {
  const { bmc, service } = await rig(VENDORS.idrac);
  const path = `${service.paths.log}/Entries`;
  service.intercept = (request) => (request.path === path ? answer(200, { Members: entries }) : null);
  return bmc.eventLog();
}

const ids = (entries: readonly LogEntry[]): string[] => entries.map(({ id }) => id);

describe('the event log', () => {
  it('is sorted when the service sends the newest first', async () => {
    const newestFirst = [3, 2, 1].map((day) => ({ Id: String(day), Created: `2024-01-0${day}T00:00:00Z` }));
    expect(ids(await logWith(...newestFirst))).toEqual(['1', '2', '3']);
  });

  it('keeps the order of entries with the same time', async () => {
    const Created = '2024-01-01T00:00:00Z';
    expect(ids(await logWith({ Id: 'a', Created }, { Id: 'b', Created }, { Id: 'c', Created }))).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('keeps entries without a valid time beside their neighbours, with time null', async () => {
    const entries = await logWith(
      { Id: 'a', Created: '2024-01-01T00:00:00Z' },
      { Id: 'b', Created: '1970-01-01T00:00:07Z' },
      { Id: 'c', Created: 'never' },
      { Id: 'd', Created: '2024-01-02T00:00:00Z' },
    );
    expect(ids(entries)).toEqual(['a', 'b', 'c', 'd']);
    expect(entries.map(({ at }) => at === null)).toEqual([false, true, true, false]);
    const newestFirst = await logWith(
      { Id: 'c', Created: '2024-01-02T00:00:00Z' },
      { Id: 'b', Created: '1970-01-01T00:00:07Z' },
      { Id: 'a', Created: '2024-01-01T00:00:00Z' },
    );
    expect(ids(newestFirst)).toEqual(['a', 'b', 'c']);
  });

  it('has one line per entry, whatever is missing', async () => {
    expect(await logWith({ '@odata.id': '/x/Entries/9', Severity: 'Odd', Message: 'two\nlines' })).toEqual([
      { id: '9', at: null, severity: 'unknown', message: 'two lines' },
    ]);
    expect((await logWith({ Id: '1' }))[0]?.message).toBe('no message');
  });

  it('reads entries that are only linked', async () => {
    const { bmc, service } = await rig(VENDORS.idrac);
    const path = `${service.paths.log}/Entries`;
    const links = { Members: [{ '@odata.id': `${path}/7` }] };
    service.intercept = (request) => {
      if (request.path === path) return answer(200, links);
      return request.path === `${path}/7` ? answer(200, { Id: '7', Message: 'linked' }) : null;
    };
    expect((await bmc.eventLog()).map(({ message }) => message)).toEqual(['linked']);
  });

  it('sends no clear when it is empty', async () => {
    const { bmc, service } = await rig(VENDORS.idrac);
    service.machine.log = [];
    await bmc.clearEventLog();
    expect(service.written).toEqual([]);
  });

  it('can be cleared twice on a BMC whose clock does not run', async () => {
    const { bmc, service } = await rig(VENDORS.idrac);
    const cleared = { id: '1', created: '1970-01-01T00:00:00Z', severity: 'OK', message: 'Log area reset/cleared' };
    service.intercept = ({ path }) => {
      if (!path.endsWith('LogService.ClearLog')) return null;
      service.machine.log = [cleared];
      return answer(204);
    };
    await bmc.clearEventLog();
    await bmc.clearEventLog();
    expect(await bmc.eventLog()).toHaveLength(1);
  });

  it.each([
    ['reading', (bmc: Bmc) => bmc.eventLog()],
    ['clearing', (bmc: Bmc) => bmc.clearEventLog()],
  ])('is unsupported without a log service, when %s', async (_, verb) => {
    const { bmc, service } = await rig(VENDORS.openbmc);
    service.intercept = ({ path }) => (path.endsWith('/LogServices') ? answer(200, { Members: [] }) : null);
    await expect(verb(bmc)).rejects.toMatchObject({ failure: 'unsupported' });
  });
});

// An attacker who has read a machine's ticket (it crosses plain HTTP) presents it again and again.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteStoreReadOnly } from '../../appliance/store/sqlite/sqlite.ts';
import { ServingProcess, type SiteFolder } from '../process/appliance.ts';
import { CHASSIS, machineOf, serviceOsSite } from '../process/service-os-site.ts';
import { FakeServiceOs } from '../provisioning/sessions/fake-service-os.ts';

/** Under the limit of requests per address and second, from several addresses. */
const ATTEMPTS = 1500;
const ADDRESSES = Array.from({ length: 30 }, (_, n) => `127.0.1.${n + 1}`);

let site: SiteFolder;
let serving: ServingProcess;
beforeEach(async () => {
  site = serviceOsSite();
  serving = new ServingProcess(site.path);
  await serving.up();
});
afterEach(async () => {
  await serving.end('SIGKILL');
  site.remove();
});

const api = async (path: string, body?: object) => {
  const token = readFileSync(join(site.state, 'admin-token'), 'utf8').trim();
  const answer = await fetch(`${serving.where('management')}${path}`, {
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  expect(answer.ok, text).toBe(true);
  return JSON.parse(text);
};

async function auditRows(action: string): Promise<readonly { readonly after: unknown }[]> {
  const store = await openSqliteStoreReadOnly({ file: join(site.state, 'coldiron.db') });
  try {
    expect(await store.verifyAudit()).toMatchObject({ intact: true });
    return (await store.auditEntries(0, 10_000)).filter((entry) => entry.action === action);
  } finally {
    await store.close();
  }
}

describe('an attacker who presents a used ticket over and over', () => {
  it('fills neither the audit nor the trail, and every attempt is counted', async () => {
    const machine = machineOf(serving);
    await api('/nodes/node01/commission', {});
    const ticket = FakeServiceOs.ticketIn(await machine.script());
    if (ticket === null) throw new Error('the script has no ticket');
    expect((await machine.open(ticket)).status).toBe(201);
    expect((await machine.step('inspect', 'started')).status).toBe(204);

    const attackers = ADDRESSES.map((address) => new FakeServiceOs(serving.where('boot'), { ...CHASSIS, address }));
    const statuses: number[] = [];
    for (let sent = 0; sent < ATTEMPTS; sent += attackers.length) {
      const answers = await Promise.all(attackers.map((attacker) => attacker.open(ticket)));
      statuses.push(...answers.map(({ status }) => status));
    }
    expect(new Set(statuses)).toEqual(new Set([409]));

    // The machine works on, and its own story is still among the last lines.
    expect((await machine.step('inspect', 'done')).status).toBe(204);
    const { events } = await api('/events?node=node01&limit=200');
    const kinds: string[] = events.map(({ kind }: { kind: string }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['http.script', 'session.opened', 'session.step']));
    expect(kinds.filter((kind) => kind === 'session.refused').length).toBeLessThanOrEqual(20);
    expect((await auditRows('session.refused')).length).toBeLessThanOrEqual(20);

    // Counts are written at the end at the latest.
    await serving.end('SIGTERM');
    const rows = await auditRows('session.refused');
    const counted = rows.map(({ after }) => (after as { count?: number }).count ?? 1);
    expect(counted.reduce((sum, count) => sum + count, 0)).toBe(statuses.length);
    console.log(`refused tickets: ${statuses.length}, audit entries: ${rows.length}`);
  });
});

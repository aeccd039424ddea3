// Attacks on whoever reads the output of the CLI: every text of every answer is hostile, and no verb may pass on more than
// plain lines.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as allOf } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLog } from '../../appliance/cli/log.ts';
import { forScreen, jsonText, table } from '../../appliance/cli/terminal.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../appliance/contract/operations.ts';
import { WIRE } from '../../appliance/contract/wire.ts';
import { EVENT_TABLE } from '../../appliance/domain/events/event-table.ts';
import { HOSTILE, sampleOf } from './hostile-samples.ts';

const COLDIRON = join(import.meta.dirname, '../../coldiron');

/** What a terminal obeys, what shows text in another order, and what hides text. */
const OBEYED = /[^\P{Cc}\n]|[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u;
const FORGED = /^FORGED/m;

let folder: string;
let server: Server;
/** Every kind of text in turn, so that one run of a verb sees all of them. */
let hostile: string;
let refuses: boolean;

function answerTo(id: OperationId): unknown {
  const answer = sampleOf(WIRE[id].answer, hostile) as Readonly<Record<string, unknown>>;
  // There is no further page.
  if (id !== 'listEvents') return 'next' in answer ? { ...answer, next: null } : answer;
  // Every kind of event, with the data that its row declares.
  const [event] = answer.events as object[];
  const events = Object.entries(EVENT_TABLE).map(([kind, { data }], at) => ({
    ...event,
    seq: at + 1,
    kind,
    data: sampleOf(data, hostile),
  }));
  return { events: [...events, { ...event, kind: hostile, data: {} }], next: null };
}

const ROUTES = OPERATION_IDS.map((id) => {
  const { method, path } = OPERATIONS[id];
  return { id, method, pattern: new RegExp(`^${path.replaceAll(/:[a-z]+/g, '[^/]+')}$`), isExact: !path.includes(':') };
}).sort((a, b) => Number(b.isExact) - Number(a.isExact));

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'coldiron-hostile-'));
  server = createServer((request, response) => {
    request.resume();
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const route = ROUTES.find(({ method, pattern }) => method === request.method && pattern.test(path));
    const code = 'conflict';
    const envelope = { code, message: hostile, correlation_id: hostile, details: [hostile, hostile], hint: hostile };
    if (refuses || !route) response.writeHead(409).end(JSON.stringify(envelope));
    else response.writeHead(200).end(JSON.stringify(answerTo(route.id)));
  });
  server.listen(join(folder, 'coldiron.sock'));
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function run(...args: string[]): Promise<string> {
  const child = spawn(COLDIRON, [...args, '--state', folder], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors] = await Promise.all([allOf(child.stdout), allOf(child.stderr), once(child, 'close')]);
  return `${output}${errors}`;
}

/** Every verb that prints text which can come from a machine. */
const VERBS: readonly (readonly string[])[] = [
  ['nodes', 'list'],
  ['nodes', 'show', 'node01'],
  ['sessions', 'node01'],
  ['diagnose', 'node01'],
  ['explain', 'node01'],
  ['trail', 'node01'],
  ['sensors', 'node01'],
  ['sel', 'node01'],
  ['power', 'node01', 'status'],
  ['bootdev', 'node01', 'pxe'],
  ['identify', 'node01'],
  ['bmc', 'quirks'],
  ['bmc', 'scan', '10.0.0.0/29'],
  ['task', 'list', 'node01'],
  ['task', 'run', 'node01', 'ping'],
  ['leases', 'list'],
  ['audit', 'list'],
  ['api-token', 'list'],
  ['commission', 'node01'],
];

describe('a machine that attacks the terminal of the reader', () => {
  it.each(VERBS)('gets only plain lines through: coldiron %s %s %s', async (...verb) => {
    refuses = false;
    hostile = Object.values(HOSTILE).join(' ');
    const args = verb.filter((word) => word !== undefined);
    const shown = await run(...args);
    expect(shown).not.toMatch(OBEYED);
    expect(shown).not.toMatch(FORGED);
    expect(shown.length, 'the verb prints something').toBeGreaterThan(20);
  });

  it.each(Object.entries(HOSTILE))('gets only plain lines through an error message: %s', async (_what, text) => {
    refuses = true;
    hostile = text;
    const shown = await run('nodes', 'show', 'node01');
    expect(shown).not.toMatch(OBEYED);
    expect(shown).not.toMatch(FORGED);
  });

  it.each([
    ['nodes', 'list'],
    ['trail', 'node01'],
    ['sel', 'node01'],
  ])('is shown as escapes that keep the value: coldiron %s %s --json', async (...verb) => {
    refuses = false;
    hostile = Object.values(HOSTILE).join(' ');
    const shown = await run(...verb.filter((word) => word !== undefined), '--json');
    expect(shown).not.toMatch(OBEYED);
    expect(JSON.stringify(JSON.parse(shown))).toContain(JSON.stringify(hostile).slice(1, -1));
  });
});

describe('a terminal', () => {
  it.each(Object.entries(HOSTILE))('obeys the sequences of the CLI and no others: %s', (_what, text) => {
    const own = `\r\u001b[2K\u001b[3A\u001b[1mbold\u001b[0m\n\tnext`;
    expect(forScreen(own, true)).toBe(own);
    expect(forScreen(text, false)).not.toMatch(OBEYED);
    // A verb that prints text from a machine escapes everything; this is what remains if it forgets to.
    const rest = ['[8m', '[1A', '[2K', '[31m', '[0m'].reduce(
      (all, sequence) => all.replaceAll(`\u001b${sequence}`, ''),
      forScreen(text, true),
    );
    expect(rest).not.toMatch(OBEYED);
  });

  it('keeps its columns on the screen when one value is very long', () => {
    const [, row = ''] = table({ colour: false, write: () => undefined }, ['A', 'B'], [['y'.repeat(5000), 'z']]).split(
      '\n',
    );
    expect(row).toMatch(/^y{300}… \(5000 characters\) {2}z$/);
  });

  it.each(Object.entries(HOSTILE))('gets JSON that means the same: %s', (_what, text) => {
    for (const indent of [0, 2]) {
      const shown = jsonText({ [text]: [text] }, indent);
      expect(shown).not.toMatch(OBEYED);
      expect(JSON.parse(shown)).toEqual({ [text]: [text] });
    }
  });
});

describe('the log of the appliance', () => {
  it.each(Object.entries(HOSTILE))('is plain lines of JSON that mean the same: %s', (_what, text) => {
    const written: string[] = [];
    const log = openLog('info', { write: (line) => void written.push(line) });
    log.warn({ reason: text, err: new Error(text) }, text);
    const [line = '', ...others] = written;
    expect(others).toEqual([]);
    expect(line.trimEnd()).not.toMatch(/\n/);
    expect(line).not.toMatch(OBEYED);
    expect(JSON.parse(line)).toMatchObject({ reason: text, msg: text, err: { message: text } });
  });
});

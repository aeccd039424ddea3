import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { listNodes } from '../../appliance/cli/nodes.ts';

let folder: string;
let server: Server;
let written: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'coldiron-nodes-'));
  server = createServer((_, response) => void response.end(JSON.stringify({ nodes: [], next: null })));
  await new Promise<void>((listens) => server.listen(join(folder, 'coldiron.sock'), listens));
  written = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written += text;
    return true;
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
  rmSync(folder, { recursive: true, force: true });
});

describe('a list without nodes', () => {
  it.each([
    [{}, 'No nodes. Declare some: coldiron apply inventory/example.yaml\n'],
    [{ match: 'r1' }, 'No node matches r1. List all: coldiron nodes list\n'],
    [{ in: 'ready' }, 'No node is in state ready. List all: coldiron nodes list\n'],
    [{ match: 'r1', in: 'ready' }, 'No node matches r1 and is in state ready. List all: coldiron nodes list\n'],
  ] as const)('says what to do for %o', async (filter, text) => {
    await listNodes({ state: folder, ...filter });
    expect(written).toBe(text);
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { requestLine, serveLines } from '../../../appliance/lab/rack/line-socket.ts';
import { identityOf, isAlive, ProcessRecords } from '../../../appliance/lab/rack/process-records.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'coldiron-records-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function sleeper(): Promise<{ pid: number; ended: Promise<unknown[]> }> {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  return { pid: child.pid ?? 0, ended };
}

describe('ProcessRecords', () => {
  it('ends the recorded processes, and returns the names of those that ran', async () => {
    const path = folder();
    const { pid, ended } = await sleeper();
    await new ProcessRecords(path).write('one', pid);
    expect(await new ProcessRecords(path).endAll()).toEqual(['one']);
    expect((await ended)[1]).toBe('SIGKILL');
    expect(await new ProcessRecords(path).endAll()).toEqual([]);
    expect(readdirSync(path)).toEqual([]);
  });

  it('does not end a process that reuses the id of one that has ended', async () => {
    const path = folder();
    const { pid } = await sleeper();
    await new ProcessRecords(path).write('one', pid);
    const [, start] = readFileSync(join(path, 'one.pid'), 'utf8').trim().split(' ');
    writeFileSync(join(path, 'one.pid'), `${pid} ${Number(start) - 1}\n`);
    writeFileSync(join(path, 'torn.pid'), '12');
    expect(await new ProcessRecords(path).endAll()).toEqual([]);
    const identity = await identityOf(pid);
    expect(identity && (await isAlive(identity))).toBe(true);
  });
});

describe('a line socket', () => {
  it('answers each request separately, also while it is being closed', async () => {
    const path = join(folder(), 'socket');
    const released = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const socket = await serveLines(path, async (line) => {
      if (line === 'slow') {
        arrived.resolve();
        await released.promise;
      }
      return `heard ${line}`;
    });
    const slow = requestLine(path, 'slow', 10_000);
    expect(await requestLine(path, 'quick', 10_000)).toBe('heard quick');
    await arrived.promise;
    const closed = socket.close();
    released.resolve();
    expect(await slow).toBe('heard slow');
    await closed;
    await expect(requestLine(path, 'late', 10_000)).rejects.toThrow();
  });

  it('is not kept open by a client that sends nothing, or leaves in the middle of a line', async () => {
    const path = join(folder(), 'socket');
    const socket = await serveLines(path, async () => 'heard');
    const silent = connect(path);
    await once(silent, 'connect');
    const rude = connect(path);
    await once(rude, 'connect');
    rude.write('half a li');
    rude.destroy();
    expect(await requestLine(path, 'polite', 10_000)).toBe('heard');
    await socket.close();
  });
});

// Terminals with a real appliance and the real agent, which runs in a Debian system of its own: mutual TLS, curl, script(1), a real
// pseudo-terminal, and an account of that system.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DebianRoot } from '../interop/cloud-init/debian-root.ts';
import { endingWithUs, ROOT } from '../process/appliance.ts';
import { AgentSite, type InstalledAgent } from './agent-rig.ts';
import { TerminalClient } from './terminal-client.ts';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH alice@laptop';
const MEGABYTE = 1_000_000;

interface Entry {
  readonly action: string;
  readonly actor: string;
  readonly target: string;
  readonly after: Record<string, unknown>;
}

describe('a terminal with a real agent', () => {
  let site: AgentSite;
  let agent: InstalledAgent;
  let root: DebianRoot;
  let allocation: { readonly id: string };
  const socket = (): string => join(site.site.state, 'coldiron.sock');
  const clients: TerminalClient[] = [];
  const open = async (query: Record<string, string> = {}): Promise<TerminalClient> => {
    const client = await TerminalClient.open(socket(), 'node01', query);
    clients.push(client);
    return client;
  };
  const audit = (action: string): Entry[] =>
    site.json<{ entries?: Entry[] } & Entry[]>('audit', 'list').filter((entry: Entry) => entry.action === action);
  const startAgent = (): void => {
    const script = join(import.meta.dirname, 'in-debian.sh');
    agent.start(['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', script, root.path, agent.root]);
  };
  const online = (): Promise<unknown> =>
    expect
      .poll(() => site.json<{ health: string }>('nodes', 'show', 'node01').health, { timeout: 60_000, interval: 500 })
      .toBe('online');

  beforeAll(async () => {
    root = await DebianRoot.prepare();
    site = await AgentSite.make();
    await site.serve();
    agent = site.install('node01');
    startAgent();
    await agent.says('enrolled');
    const file = join(site.site.path, 'alice.pub');
    writeFileSync(file, `${KEY}\n`);
    site.run('keys', 'add', file, '--owner', 'alice');
  });
  afterEach(() => {
    for (const { stream } of clients.splice(0)) stream.destroy();
  });
  afterAll(() => site.end());

  it('is refused while nobody has the node', async () => {
    await online();
    await expect(open()).rejects.toThrow(/409 .*nobody has an allocation of node01/);
    allocation = site.json('allocations', 'request', 'alice', '--node', 'node01', '--wait');
  });

  it('is the account of the allocation at a terminal of its own, with the size of the window', async () => {
    const terminal = await open({ rows: '33', columns: '101', term: 'vt220' });
    await terminal.shows(/\$ $/);
    terminal.type('echo "[$(id -un) $(tty) $(stty size) $TERM $HOME $PWD]"\r');
    await terminal.shows(/\[alice \/dev\/pts\/\d+ 33 101 vt220 \/home\/alice \/home\/alice\]/);
    terminal.resize(50, 132);
    terminal.type('stty size\r');
    await terminal.shows(/\r50 132\r\n/);
    // The program in the foreground is told.
    terminal.type('trap "stty size; echo resized" WINCH; echo set\r');
    await terminal.shows(/\rset\r\n/);
    terminal.resize(20, 40);
    terminal.type('\r');
    await terminal.shows(/20 40\r\nresized/);
    terminal.type('exit 7\r');
    expect(await terminal.ended()).toEqual({ status: 7, reason: 'the shell ended' });
  });

  it('has nothing of the agent: no key, no variable, no open file, no rights', async () => {
    const terminal = await open({ columns: '200' });
    await terminal.shows(/\$ $/);
    terminal.type(
      "env | grep -c COLDIRON_; ls -l /proc/self/fd | grep -c -e socket: -e '/tmp/' -e coldiron; echo counted\r",
    );
    await terminal.shows(/\r0\r\n0\r\ncounted/);
    terminal.type(`cat ${agent.file('key.pem')} ${agent.environmentFile}; id -u; echo done\r`);
    await terminal.shows(/\r\ndone\r\n/);
    expect(terminal.shown.match(/Permission denied/g)).toHaveLength(2);
    expect(terminal.shown).not.toContain('PRIVATE KEY-----');
    terminal.type('exit\r');
    await terminal.ended();
  });

  it('passes every byte and the keys of a full-screen program, and UTF-8', async () => {
    const terminal = await open();
    await terminal.shows(/\$ $/);
    const screen = '\u001b[?1049h\u001b[2J\u001b[10;20Hgrüße ⌘\u001b[?1049l';
    terminal.type(`printf '${Buffer.from(screen).toString('hex').replace(/../g, '\\x$&')}'\r`);
    await terminal.shows(screen);
    // Raw mode, as an editor sets it: Ctrl-C, Escape, arrows and a NUL are bytes.
    const keys = Buffer.from([3, 27, 91, 65, 0, 26, 28, 127, 200, 10]);
    terminal.type("stty raw -echo; printf 'ready'; head -c 10 | od -An -tx1; stty sane; echo\r");
    await terminal.shows(/ready$/);
    terminal.type(keys);
    await terminal.shows(/03 1b 5b 41 00 1a 1c 7f c8 0a/);
    // In its own mode, Ctrl-C ends the program, and the shell goes on.
    terminal.type('sleep 1000\r');
    await terminal.shows(/sleep 1000\r\n/);
    terminal.type('\u0003');
    terminal.type('echo status $?\r');
    await terminal.shows(/status 130/);
    terminal.type('\u0004');
    expect(await terminal.ended()).toMatchObject({ status: 0 });
  });

  it('delivers 10 MB to a slow viewer, and the appliance keeps almost nothing of it', async () => {
    const terminal = await open();
    await terminal.shows(/\$ $/);
    const resident = (): number =>
      Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${site.serving?.child.pid}/status`, 'utf8'))?.[1]) * 1024;
    const before = resident();
    const already = terminal.shownBytes;
    terminal.stream.pause();
    terminal.type("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo all\r");
    // The program on the node waits, because nobody reads.
    const written = (): number => site.json<{ shown_bytes: number }[]>('terminals', 'list')[0]?.shown_bytes ?? 0;
    await expect.poll(written, { timeout: 30_000, interval: 300 }).toBeGreaterThan(100_000);
    let last = -1;
    await expect
      .poll(
        () => {
          const [then, now] = [last, written()];
          last = now;
          return now === then;
        },
        { timeout: 30_000, interval: 700 },
      )
      .toBe(true);
    expect(last).toBeLessThan(6 * MEGABYTE);
    expect(resident() - before).toBeLessThan(60 * MEGABYTE);
    terminal.stream.resume();
    await terminal.shows(/x\r\nall\r\n/);
    expect(terminal.shown.match(/x/g)?.length).toBeGreaterThanOrEqual(10 * MEGABYTE);
    expect(terminal.shownBytes - already).toBeGreaterThan(10 * MEGABYTE);
    terminal.type('exit\r');
    await terminal.ended();
  });

  it('does not hold up heartbeats and tasks, and several are separate', async () => {
    const [first, second] = [await open(), await open()];
    await first.shows(/\$ $/);
    await second.shows(/\$ $/);
    expect(site.json('task', 'run', 'node01', 'ping', '--wait')).toMatchObject({ state: 'succeeded' });
    first.type('echo fi""rst\r');
    await first.shows(/first/);
    expect(second.shown).not.toContain('first');
    const list = site.json<{ id: string; user: string; node: string }[]>('terminals', 'list', '--node', 'node01');
    expect(list).toMatchObject([{ user: 'alice' }, { user: 'alice' }]);
    site.run('terminals', 'close', list[0]?.id ?? '');
    expect(await first.ended()).toMatchObject({ status: null, reason: expect.stringContaining('closed it') });
    second.type('echo still\r');
    await second.shows(/\rstill\r\n/);
    second.stream.destroy();
    // Its shell ends with the viewer.
    await expect.poll(() => site.json('terminals', 'list'), { timeout: 20_000, interval: 300 }).toEqual([]);
    await expect.poll(() => processesOf(1000), { timeout: 30_000, interval: 300 }).toEqual([]);
  });

  it('runs from the command line: piped input, and at a real terminal with its size', async () => {
    const child = spawn(
      ...endingWithUs(join(ROOT, 'coldiron'), ['terminal', 'node01', '--allocation', allocation.id]),
      {
        cwd: site.site.path,
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    );
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stdin.end('id -un; exit 5\n');
    expect((await once(child, 'close'))[0]).toBe(5);
    expect(output).toMatch(/\ralice\r\n/);
    // script(1) gives the CLI a terminal of 24 × 80, and its keys are ours.
    const command = `stty rows 31 cols 77; exec ${join(ROOT, 'coldiron')} terminal node01`;
    const held = spawn(...endingWithUs('script', ['-qefc', command, '/dev/null']), {
      cwd: site.site.path,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let screen = '';
    held.stdout.on('data', (chunk) => {
      screen += chunk;
    });
    await expect.poll(() => screen, { timeout: 60_000 }).toMatch(/\$ $/);
    held.stdin.write('stty size; echo $TERM\r');
    await expect.poll(() => screen, { timeout: 20_000 }).toMatch(/\r31 77\r/);
    held.stdin.write('\r~.');
    expect((await once(held, 'close'))[0]).toBe(0);
    expect(screen).toContain('[closed the terminal]');
  });

  it('is recorded with who, when, why and how much, and not with what', () => {
    const closed = audit('terminal.closed');
    expect(closed.length).toBeGreaterThanOrEqual(7);
    for (const { target, after } of closed) {
      expect(target).toBe('node:node01');
      expect(after).toMatchObject({ allocation: allocation.id, user: 'alice' });
      expect(Object.keys(after)).toEqual(
        expect.arrayContaining(['because', 'closed_at', 'opened_at', 'shown_bytes', 'status', 'typed_bytes']),
      );
    }
    expect(JSON.stringify(closed)).not.toContain('stty');
    expect(site.run('trail', 'node01')).toContain('Terminal of alice is closed');
  });

  it('ends with a killed agent and with a killed appliance', async () => {
    const first = await open();
    await first.shows(/\$ $/);
    await agent.end('SIGKILL');
    expect(await first.ended()).toEqual({ status: null, reason: 'the node closed the connection' });
    const after = agent.log.length;
    startAgent();
    await agent.says('started', after);
    // The system of the agent is new: the account is made again.
    site.run('allocations', 'release', allocation.id, '--wait');
    allocation = site.json('allocations', 'request', 'alice', '--node', 'node01', '--wait');
    const second = await open();
    await second.shows(/\$ $/);
    await site.restart('SIGKILL');
    await expect.poll(() => second.stream.destroyed || second.stream.readableEnded).toBe(true);
    await expect.poll(() => processesOf(1000), { timeout: 60_000, interval: 300 }).toEqual([]);
    expect(audit('terminal.closed').at(-1)?.after.because).toBe('the appliance ended without closing it');
  });

  it('is closed by the release of the allocation, which leaves nothing behind', async () => {
    await online();
    const terminal = await open();
    await terminal.shows(/\$ $/);
    expect(site.json('allocations', 'release', allocation.id, '--wait')).toMatchObject({ state: 'released' });
    expect(await terminal.ended()).toEqual({ status: null, reason: 'the allocation is releasing' });
    expect(processesOf(1000)).toEqual([]);
    await expect(open()).rejects.toThrow(/nobody has an allocation/);
    expect(site.json('retire', 'node01')).toMatchObject([{ state: 'retired' }]);
    await expect(open()).rejects.toThrow(/409 .*this node is retired/);
  });

  /** Processes of a user in the system of the agent. */
  function processesOf(uid: number): string[] {
    return readdirSync('/proc').filter((name) => {
      try {
        const status = readFileSync(`/proc/${name}/status`, 'utf8');
        return /^\d+$/.test(name) && new RegExp(`^Uid:\\s+${uid}\\s`, 'm').test(status) && isInSystem(name);
      } catch {
        return false;
      }
    });
  }
  const isInSystem = (name: string): boolean =>
    readdirSync(`/proc/${name}/root`).includes('opt') && !readdirSync(`/proc/${name}/root`).includes('work');
});

// A node's serial console, as a user at a terminal sees it.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN, type SimulatedBmc } from '../bmc/ipmi/simulator/simulated-bmc.ts';
import { Running } from '../interop/namespaces.ts';
import { needPackages } from '../interop/packages.ts';
import { ROOT } from './appliance.ts';
import { BmcSite } from './bmc-site.ts';

const COLDIRON = join(ROOT, 'coldiron');

let site: BmcSite;
let bmc: SimulatedBmc;
beforeEach(async () => {
  needPackages(['bsdutils']);
  site = new BmcSite([{ number: 1, password: ADMIN.password }]);
  bmc = await site.bmc(1);
  await site.serve();
});
afterEach(() => site.remove());

/** A terminal's output, and waiting for it. */
class Terminal {
  readonly #child: ChildProcess;
  readonly #running: Running;

  constructor(command: string) {
    // script(1) makes a pseudo terminal; its standard input is the keyboard.
    this.#child = site.start('script', ['-q', '-e', '-c', command, '/dev/null']);
    this.#running = new Running(this.#child);
  }

  get shown(): string {
    return this.#running.output;
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  async shows(text: string): Promise<void> {
    await this.#running.until((shown) => shown.includes(text) || null, text);
  }

  /** Its exit code; its output is complete then. */
  async ended(): Promise<number | null> {
    return (await this.#running.finished()).status;
  }
}

describe('a console', () => {
  it("shows the machine's output, sends keys, and restores the terminal", async () => {
    const terminal = new Terminal(`sh -c '${COLDIRON} console node01; echo ended $?; stty -a'`);
    await terminal.shows('node login: ');
    terminal.type('hello\r');
    await terminal.shows('HELLO');
    terminal.type('~?');
    await terminal.shows('~.  close the console');
    terminal.type('~.');
    await terminal.shows('speed');
    expect(await terminal.ended()).toBe(0);
    expect(terminal.shown).toContain('ended 0');
    expect(terminal.shown).toMatch(/ icanon/);
    expect(terminal.shown).toMatch(/ echo /);
    expect(bmc.console.typed.join('')).toBe('hello\r');
    // The viewer does not wait until the appliance has closed the BMC session.
    await expect.poll(() => bmc.console.active).toBe(false);
    const trail = async () => (await site.run(['trail', 'node01'])).stdout;
    await expect.poll(trail).toMatch(/bmc\.console-closed +Console closed: the viewer left/);
  });

  it('has one user who types and others who read, and the typing can be taken over', async () => {
    const mine = new Terminal(`${COLDIRON} console node01`);
    await mine.shows('node login: ');
    const refused = await site.run(['console', 'node01']);
    expect([refused.status, refused.stderr]).toEqual([
      7,
      expect.stringMatching(/local:\S+ types on this console; --read-only .* --steal/),
    ]);
    const reader = new Terminal(`${COLDIRON} console node01 --read-only`);
    await reader.shows('node login: ');
    reader.type('dropped\r');
    const theirs = new Terminal(`${COLDIRON} console node01 --steal`);
    await theirs.shows('node login: ');
    theirs.type('mine\r');
    for (const terminal of [mine, reader, theirs]) await terminal.shows('MINE');
    await mine.shows('types now; you can still read]');
    expect(bmc.console.typed.join('')).toBe('mine\r');
    // One session for all of them.
    expect(bmc.activeSessions).toBe(1);
    for (const terminal of [theirs, reader, mine]) {
      terminal.type('\r~.');
      expect(await terminal.ended()).toBe(0);
    }
  });

  it('is opened again when the BMC closes it, and ends with the appliance', async () => {
    const terminal = new Terminal(`sh -c '${COLDIRON} console node01; stty -a'`);
    await terminal.shows('node login: ');
    bmc.takeConsoleAway();
    await terminal.shows('[coldiron: the console was interrupted: the BMC deactivated the console');
    await terminal.shows('[coldiron: the console is open again]');
    terminal.type('again\r');
    await terminal.shows('AGAIN');
    // Another client takes it and keeps it.
    bmc.takeConsoleAway();
    bmc.console.active = true;
    await terminal.shows('[coldiron: the console ended');
    await terminal.ended();
    expect(terminal.shown).toMatch(/ icanon/);
    bmc.console.active = false;

    const other = new Terminal(`sh -c '${COLDIRON} console node01; stty -a'`);
    await other.shows('node login: ');
    expect(await site.serving?.end('SIGTERM')).toEqual({ code: 0, signal: null });
    await other.ended();
    expect(other.shown).toMatch(/ icanon/);
  });

  it.each(['SIGTERM', 'SIGHUP'] as const)('restores the terminal when %s ends it', async (signal) => {
    const terminal = new Terminal(`sh -c 'trap : HUP; ${COLDIRON} console node01; stty -a'`);
    await terminal.shows('node login: ');
    const [mine] = site.processes().filter(({ commandLine }) => /coldiron\.ts\0console\0/.test(commandLine));
    if (!mine) throw new Error('the console is no process');
    process.kill(mine.pid, signal);
    await terminal.ended();
    expect(terminal.shown).toMatch(/ icanon/);
    expect(terminal.shown).toMatch(/ echo /);
  });

  it('shows what the machine said before, and nothing of it reaches the terminal as a command', async () => {
    const empty = await site.run(['console', 'node01', '--last']);
    expect([empty.status, empty.stdout]).toEqual([
      0,
      expect.stringMatching(/^Nothing is stored of the current boot of node01\./),
    ]);
    const { id } = await site.json('nodes', 'show', 'node01');
    const file = (boot: string): string => join(site.folder.state, 'consoles', `${id}${boot}.log`);
    const at = Date.UTC(2026, 0, 2, 3, 4, 5);
    writeFileSync(file(''), `${at} SeaBIOS\n${at} \u001b]0;owned\u0007\u001b[2J\u202ehidden\n`);
    writeFileSync(file('.previous'), `${at} an earlier boot\n`);
    const shown = await site.run(['console', 'node01', '--last']);
    expect(shown.stdout).toBe(
      '2026-01-02 03:04:05  SeaBIOS\n2026-01-02 03:04:05  \\u001b]0;owned\\u0007\\u001b[2J\\u202ehidden\n',
    );
    expect((await site.run(['console', 'node01', '--last', '--lines', '1'])).stdout.split('\n')).toHaveLength(2);
    expect((await site.run(['console', 'node01', '--last', '--previous'])).stdout).toContain('an earlier boot');
    expect(await site.json('console', 'node01', '--last')).toMatchObject({
      ...{ node: 'node01', boot: 'current', captured: false, unfinished: null },
      lines: [{ at: '2026-01-02T03:04:05.000Z', text: 'SeaBIOS' }, { text: expect.stringContaining('hidden') }],
    });
    for (const wrong of [['--previous'], ['--last', '--steal'], ['--steal', '--read-only'], ['--lines', '5']]) {
      expect((await site.run(['console', 'node01', ...wrong])).status).toBe(2);
    }
    expect((await site.run(['console', 'node01', '--last', '--lines', 'x'])).status).not.toBe(0);
  });

  it('works the same over TCP with a token', async () => {
    const { origin } = new URL(site.serving?.where('management') ?? '');
    const token = join(site.folder.state, 'admin-token');
    const terminal = new Terminal(`${COLDIRON} console node01 --server ${origin} --token-file ${token}`);
    await terminal.shows('node login: ');
    terminal.type('over tcp\r');
    await terminal.shows('OVER TCP');
    terminal.type('~.');
    expect(await terminal.ended()).toBe(0);
  });

  it('rejects requests without a token', async () => {
    const management = new URL(site.serving?.where('management') ?? '');
    const headers = { connection: 'Upgrade', upgrade: 'coldiron-console' };
    const upgrade = request(new URL(`${management}/nodes/node01/console`), { headers });
    upgrade.end();
    const [answer] = await once(upgrade, 'response');
    expect(answer.statusCode).toBe(401);
    answer.resume();
    await once(answer, 'end');
  });
});

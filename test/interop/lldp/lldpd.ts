// A switch port that announces itself: Debian's lldpd on one interface, with the names that a test gives it.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { vi } from 'vitest';
import { needPackages } from '../packages.ts';

export interface Announcement {
  readonly system: string;
  readonly port: string;
  readonly description: string;
}

const START_WITHIN_MS = 60_000;

export class AnnouncedPort {
  readonly #child: ChildProcess;
  readonly #socket: string;
  readonly #device: string;

  private constructor(child: ChildProcess, socket: string, device: string) {
    this.#child = child;
    this.#socket = socket;
    this.#device = device;
  }

  /** `wrapped`: runs a program in the namespace of the device. */
  static async start(
    wrapped: (program: string, ...args: readonly string[]) => readonly [string, ...string[]],
    device: string,
    announcement: Announcement,
  ): Promise<AnnouncedPort> {
    needPackages(['lldpd']);
    const folder = mkdtempSync(join(tmpdir(), 'coldiron-lldpd-'));
    // lldpcli gives up its privileges before it opens the socket.
    chmodSync(folder, 0o755);
    const socket = join(folder, 'control');
    // In the foreground. `!!`: also an interface of a kind that it leaves alone by default, such as a tap.
    const [command, ...args] = wrapped('lldpd', '-d', '-u', socket, '-I', `!!${device}`);
    const child = spawn(command, args, { stdio: 'ignore' });
    const port = new AnnouncedPort(child, socket, device);
    try {
      await port.#sendEverySecond();
      port.announce(announcement);
    } catch (error) {
      await port.stop();
      throw error;
    }
    return port;
  }

  /** From its next frame on, within a second. */
  announce({ system, port, description }: Announcement): void {
    const device = this.#device;
    this.#lldpcli('configure', 'system', 'hostname', system);
    this.#lldpcli('configure', 'ports', device, 'lldp', 'portidsubtype', 'local', port);
    this.#lldpcli('configure', 'ports', device, 'lldp', 'portdescription', description);
    this.#lldpcli('update');
  }

  /** Its last frame says that it leaves. */
  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await ended;
    }
    rmSync(dirname(this.#socket), { recursive: true, force: true });
  }

  /** While it starts, it accepts settings and forgets them: the setting is repeated until it is shown. */
  async #sendEverySecond(): Promise<void> {
    await vi.waitFor(
      () => {
        this.#lldpcli('configure', 'lldp', 'tx-interval', '1');
        const shown = this.#lldpcli('show', 'configuration');
        if (!/Transmit delay: 1$/m.test(shown)) throw new Error(shown);
      },
      { timeout: START_WITHIN_MS, interval: 100 },
    );
    // The daemon starts paused and resumes itself by the same kind of call, which can be lost, too.
    this.#lldpcli('resume');
  }

  #lldpcli(...words: readonly string[]): string {
    const { status, stderr, stdout } = spawnSync('lldpcli', ['-u', this.#socket, ...words], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`lldpcli ${words.join(' ')}: ${stderr || stdout}`);
    return stdout;
  }
}

// A serial port for a simulated machine: a pseudo terminal of socat, whose other end the test holds.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** `device` is for the simulator; the socket is the machine's end of the cable. Needs the package socat. */
export async function serialPort(): Promise<{ device: string; machine: Socket }> {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-serial-'));
  const device = join(folder, 'tty');
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socat = spawn('socat', [`PTY,link=${device},rawer`, `TCP:127.0.0.1:${port}`], { stdio: 'ignore' });
  const exited = once(socat, 'exit');
  onTestFinished(async () => {
    socat.kill('SIGKILL');
    await exited;
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  // socat creates the terminal before it connects.
  const [machine] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => void machine.destroy());
  return { device, machine };
}

// An attacker announces a body to the session API and closes the connection before it is complete.

import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ServingProcess, type SiteFolder } from '../process/appliance.ts';
import { serviceOsSite } from '../process/service-os-site.ts';

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

it('an attacker who closes connections within a body writes no errors to the log', async () => {
  const { hostname, port } = new URL(serving.where('boot'));
  const path = `/boot/session/${'A'.repeat(43)}`;
  for (let time = 0; time < 10; time += 1) {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"mac":`,
    );
    await new Promise<void>((sent) => socket.write('"', () => sent()));
    socket.resetAndDestroy();
  }
  const log = (): string[] => (serving.stdout + serving.stderr).split('\n');
  await expect.poll(() => log().filter((line) => line.includes('"session":"open"')).length).toBeGreaterThan(0);
  expect(log().filter((line) => /"level":(?:50|60)/.test(line))).toEqual([]);
});

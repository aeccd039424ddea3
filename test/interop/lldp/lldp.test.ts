// The service OS's own script receives the frames of Debian's lldpd, over a cable between two namespaces.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Namespaces } from '../namespaces.ts';
import { needPackages } from '../packages.ts';
import { AnnouncedPort } from './lldpd.ts';

const SCRIPTS = join(import.meta.dirname, '../../../boot-assets/service-os');
let folder = '';
let namespaces: Namespaces;
let port: AnnouncedPort;

beforeAll(async () => {
  needPackages(['dash', 'jq', 'tcpdump']);
  folder = mkdtempSync(join(tmpdir(), 'coldiron-lldp-'));
  namespaces = new Namespaces();
  namespaces.add('switch', 'host');
  namespaces.connect({ namespace: 'switch', device: 'port12' }, { namespace: 'host', device: 'eth0' });
  port = await AnnouncedPort.start((...command) => namespaces.command('switch', ...command), 'port12', {
    ...{ system: 'sw3.dc1.example', port: 'Ethernet1/12', description: 'node05-eth0' },
  });
}, 120_000);

afterAll(async () => {
  await port?.stop();
  await namespaces?.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** As in the service OS, which has no other user than root. */
const listen = (lines: string) =>
  namespaces.run(
    'host',
    ...(['unshare', '--mount', 'dash', '-c'] as const),
    `printf 'root:x:0:0::/:/bin/sh\\n' > ${folder}/passwd && mount --bind ${folder}/passwd /etc/passwd
     RUN=${folder} LIB=${SCRIPTS}; . $LIB/common.sh; . $LIB/network.sh; . $LIB/facts.sh
     watch_began=$(seconds)
     ${lines}`,
  );

it('hears the switch, in a system without other users', { timeout: 60_000 }, async () => {
  const { output } = await listen('watch_neighbour eth0');
  expect(JSON.parse(readFileSync(join(folder, 'lldp-eth0'), 'utf8')), output).toEqual({
    chassis: expect.stringMatching(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/),
    ...{ system: 'sw3.dc1.example', port: 'Ethernet1/12', port_description: 'node05-eth0' },
  });
});

it('does not take its own frames for a neighbour, and ends in time', { timeout: 60_000 }, async () => {
  await port.stop();
  rmSync(join(folder, 'lldp-eth0'));
  const own = await AnnouncedPort.start((...command) => namespaces.command('host', ...command), 'eth0', {
    ...{ system: 'node05', port: 'eth0', description: 'own' },
  });
  try {
    // Three seconds are left of its two minutes; lldpd sends each second.
    const { output } = await listen(
      'timeout() { shift; command timeout 3 "$@"; }; watch_began=$((watch_began - 117)); watch_neighbour eth0; neighbour_of eth0',
    );
    expect(output.trim().split('\n').at(-1)).toBe('null');
  } finally {
    await own.stop();
  }
});

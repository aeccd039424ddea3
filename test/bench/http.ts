// Sixteen machines that fetch the same initrd of 250 MB over HTTP at the same time: ours against nginx with sendfile, and our
// memory use.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { needPackages } from '../interop/packages.ts';
import type { RackProcess } from '../lab/rack/rack-process.ts';
import { allAtOnce } from './all-at-once.ts';
import { putImage } from './boot-files.ts';
import { provesItself } from './fetch-once.ts';
import { median, printTable, printVerdict, shown } from './figures.ts';
import { cpuSecondsOfTree, megabytesOf } from './process-cost.ts';
import { BenchWire, PEERS, SERVER } from './wire.ts';

const CLIENTS = 16;
const PORT = 8080;
const INITRD = 'nixos/worker/initrd';
const [NGINX] = PEERS;

export async function benchHttp(mebibytes = 250, rounds = 5): Promise<void> {
  needPackages(['nginx-light', 'curl', 'iproute2']);
  await BenchWire.during(CLIENTS, async (wire) => {
    const assets = join(wire.state, 'assets');
    const file = join(assets, INITRD);
    putImage(file, mebibytes);
    const image = readFileSync(file);
    const peer = startNginx(wire, assets);
    const appliance = await wire.coldiron({ listen: { boot: `${SERVER}:${PORT}`, management: '127.0.0.1:8443' } });
    const memory = (field: 'VmRSS' | 'VmHWM'): number => megabytesOf(appliance.pid, field);
    const before = memory('VmRSS');
    const urls = { ours: `http://${SERVER}:${PORT}/boot/${INITRD}`, nginx: `http://${NGINX}:${PORT}/${INITRD}` };
    for (const url of Object.values(urls)) await provesItself(wire.client, url, image);
    const first = memory('VmRSS');

    const fetchAll = async (url: string, pid: number): Promise<Fetched> => {
      const cpuBefore = cpuSecondsOfTree(pid);
      const program = ['curl', '-sSf', '-o', '/dev/null', '-w', '%{size_download}', url] as const;
      const { seconds, printed } = await allAtOnce(wire.clients.map((network) => ({ network, program, times: 1 })));
      const short = printed.find((size) => Number(size) !== image.length);
      if (short !== undefined) throw new Error(`${url}: ${short} bytes came, not ${image.length}`);
      const gigabytes = (CLIENTS * image.length) / 1e9;
      const cpu = ((cpuSecondsOfTree(pid) - cpuBefore) * 1000) / gigabytes;
      return { speed: (gigabytes * 1000) / seconds, cpu };
    };
    const fetched: { ours: Fetched[]; nginx: Fetched[] } = { ours: [], nginx: [] };
    for (let round = 0; round < rounds; round++) {
      fetched.ours.push(await fetchAll(urls.ours, appliance.pid));
      fetched.nginx.push(await fetchAll(urls.nginx, peer.pid));
    }
    const [ours, nginx] = [middleOf(fetched.ours), middleOf(fetched.nginx)];
    printTable(
      [`${CLIENTS} clients, ${mebibytes} MiB`, 'MB/s', 'CPU ms per GB'],
      [
        ['coldiron', shown(ours.speed), shown(ours.cpu)],
        ['nginx, sendfile', shown(nginx.speed), shown(nginx.cpu)],
      ],
    );
    printTable(
      ['memory of coldiron', 'MB'],
      [
        ['before the first request', shown(before)],
        ['after one', shown(first)],
        ['after all', shown(memory('VmRSS'))],
        ['at most', shown(memory('VmHWM'))],
      ],
    );
    const costs = [`cpu_ms_per_gb=${shown(ours.cpu)}`, `peer_cpu_ms_per_gb=${shown(nginx.cpu)}`];
    printVerdict('http', ours.speed, [{ name: 'nginx', value: nginx.speed }], costs);
  });
}

interface Fetched {
  /** MB/s. */
  readonly speed: number;
  /** Milliseconds of the server's processor time per GB. */
  readonly cpu: number;
}

const middleOf = (all: readonly Fetched[]): Fetched => ({
  speed: median(all.map(({ speed }) => speed)),
  cpu: median(all.map(({ cpu }) => cpu)),
});

function startNginx(wire: BenchWire, root: string): RackProcess {
  const config = wire.file(
    'nginx.conf',
    `daemon off; user root; worker_processes auto; pid ${join(wire.folder, 'nginx.pid')};
     events { worker_connections 1024; }
     http {
       access_log off; sendfile on; tcp_nopush on;
       server { listen ${NGINX}:${PORT}; root ${root}; }
     }`,
  );
  return wire.serve(['nginx', '-e', 'stderr', '-c', config]);
}

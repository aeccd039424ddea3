// Many readers of the event stream in one process: `node stream-listeners.ts PORT COUNT TOKENFILE`. Prints `ready` when all have their snapshot, and what they got when it is told to end.

import { readFileSync } from 'node:fs';
import { get } from 'node:http';

const [port, count] = process.argv.slice(2, 4).map(Number);
const token = readFileSync(process.argv[4] ?? '', 'utf8').trim();
const headers = { authorization: `Bearer ${token}`, 'accept-encoding': 'gzip' };
const started = performance.now();
let [begun, bytes, lost] = [0, 0, 0];
let atReady = 0;

/** All of them at once would be another test: the snapshot of 10,000 nodes for each. */
const AT_ONCE = 50;

async function open(): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  get({ host: '127.0.0.1', port, path: '/api/v1/events/stream', headers, agent: false }, (answer) => {
    if (answer.statusCode !== 200) reject(new Error(`the appliance answered ${answer.statusCode}`));
    let quiet = setTimeout(resolve, 300);
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      // Not decompressed here: that would cost more than what is measured. The snapshot is over when nothing follows for a while.
      if (begun < (count ?? 0)) {
        clearTimeout(quiet);
        quiet = setTimeout(resolve, 300);
      }
    });
    answer.on('close', () => {
      lost += 1;
    });
  }).on('error', reject);
  await promise;
  begun += 1;
}

for (let at = 0; at < (count ?? 0); at += AT_ONCE) {
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, (count ?? 0) - at) }, open));
}
atReady = bytes;
process.stdout.write(`ready ${JSON.stringify({ seconds: (performance.now() - started) / 1000, bytes })}\n`);
process.on('SIGUSR2', () => {
  process.stdout.write(`got ${JSON.stringify({ lost, bytes: bytes - atReady })}\n`);
});

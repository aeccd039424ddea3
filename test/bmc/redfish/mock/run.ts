// A mock BMC as a program, for tests that put it in a network namespace: node run.ts ADDRESS UUID HABIT FOLDER. The disc that its machine would
// see is FOLDER/disc.iso, the URL of its image FOLDER/url. Both are missing while the drive is empty.

import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { selfSigned } from './certificates.ts';
import { type DriveHabit, followImage } from './drive.ts';
import { MockServer } from './mock-server.ts';
import { VENDORS } from './vendors.ts';

const [address = '', uuid = '', habit = 'reads', folder = ''] = process.argv.slice(2);
const server = await MockServer.start(VENDORS.supermicro, selfSigned(), 443, address);
server.service.machine.uuid = uuid;

function put(name: string, content: Buffer | string | null): void {
  const file = join(folder, name);
  if (content === null) rmSync(file, { force: true });
  else {
    writeFileSync(`${file}.new`, content);
    renameSync(`${file}.new`, file);
  }
}

followImage(server.service, {
  localAddress: address,
  habit: habit as DriveHabit,
  onDisc: (disc, url) => {
    put('disc.iso', disc);
    put('url', url);
  },
});
process.stdout.write('the BMC is up\n');

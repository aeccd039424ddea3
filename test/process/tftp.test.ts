// The TFTP settings of the site file, as a machine sees them.

import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { put } from '../assets/tiny-files.ts';
import { read, sloppyClient } from '../servers/tftp/sloppy-client.ts';
import { LOADER } from '../servers/tftp/tftp-rig.ts';
import { ServingProcess, SiteFolder } from './appliance.ts';

const LISTEN = 'listen: { boot: off, management: 127.0.0.1:0, tftp: 127.0.0.1:0 }';

describe('TFTP with the settings of the site file', () => {
  let site: SiteFolder;
  let serving: ServingProcess | null = null;
  afterEach(async () => {
    await serving?.end('SIGKILL');
    serving = null;
    site.remove();
  });

  /** The source address of the reply, and the granted options. */
  async function ask(siteFile: string) {
    site = new SiteFolder(siteFile);
    put(join(site.state, 'assets'), 'loader/snponly.efi', LOADER);
    serving = await new ServingProcess(site.path).up();
    const port = Number(serving.where('tftp').split(':')[1]);
    const client = await sloppyClient();
    client.send(read('snponly.efi', { blksize: '1468', windowsize: '16' }), port);
    const { from, packet } = await client.next();
    return { port, from, granted: packet.op === 'optionAck' ? Object.fromEntries(packet.options) : packet };
  }

  it('sends files from separate ports by default', async () => {
    const { port, from, granted } = await ask(LISTEN);
    expect(from).not.toBe(port);
    expect(granted).toEqual({ blksize: '1468', windowsize: '16' });
  });

  it('sends files from the request port with single_port, with the configured block and window sizes', async () => {
    const tuning = 'tftp: { single_port: true, max_block_size: 1024, max_window_size: 4 }';
    const { port, from, granted } = await ask(`${LISTEN}\n${tuning}\n`);
    expect(from).toBe(port);
    expect(granted).toEqual({ blksize: '1024', windowsize: '4' });
  });
});

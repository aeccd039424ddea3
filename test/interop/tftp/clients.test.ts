// Clients that we did not write: tftp-hpa, atftp and curl, against the real server on loopback.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../assets/tiny-files.ts';
import { repeatsSince } from '../../servers/tftp/sloppy-client.ts';
import { LOADER, startServer } from '../../servers/tftp/tftp-rig.ts';
import { needPackages } from '../packages.ts';

const run = promisify(execFile);

beforeAll(() => needPackages(['tftp-hpa', 'atftp', 'curl']));

describe.each([
  ['a port for transfers', {}],
  ['one port for everything', { singlePort: true }],
])('with %s', (_how, settings) => {
  it('tftp-hpa fetches a file without options', async () => {
    const rig = await startServer(settings);
    const file = join(temporaryFolder(), 'got');
    const mayRepeat = repeatsSince();
    await run('tftp', ['-m', 'binary', '127.0.0.1', String(rig.port), '-c', 'get', 'snponly.efi', file]);
    expect(readFileSync(file).equals(LOADER)).toBe(true);
    const [note] = await rig.noted('tftp.completed');
    expect(note?.data).toMatchObject({ blockSize: 512, windowSize: 1 });
    expect(note?.data).toHaveProperty('resent', expect.toSatisfy(mayRepeat));
  });

  it('tftp-hpa fetches text in netascii', async () => {
    const rig = await startServer(settings);
    const file = join(temporaryFolder(), 'got');
    await run('tftp', ['-m', 'ascii', '127.0.0.1', String(rig.port), '-c', 'get', 'grub/grub.cfg', file]);
    expect(readFileSync(file, 'latin1')).toBe('exit\n');
  });

  it.each(['512', '1024', '1468'])('curl fetches a file in blocks of %s', async (blockSize) => {
    const rig = await startServer(settings);
    const file = join(temporaryFolder(), 'got');
    const url = `tftp://127.0.0.1:${rig.port}/snponly.efi`;
    await run('curl', ['-sS', '--tftp-blksize', blockSize, '-o', file, url]);
    expect(readFileSync(file).equals(LOADER)).toBe(true);
    const [note] = await rig.noted('tftp.completed');
    expect(note?.data).toMatchObject({ blockSize: Number(blockSize), bytes: LOADER.length });
  });

  it.each(['1', '4', '16', '64'])('atftp fetches a file in windows of %s, of which we grant 16', async (windowSize) => {
    const rig = await startServer(settings);
    const file = join(temporaryFolder(), 'got');
    const options = ['--option', 'blksize 1468', '--option', `windowsize ${windowSize}`];
    await run('atftp', [...options, '-g', '-r', 'snponly.efi', '-l', file, '127.0.0.1', String(rig.port)]);
    expect(readFileSync(file).equals(LOADER)).toBe(true);
    const [note] = await rig.noted('tftp.completed');
    expect(note?.data).toMatchObject({ blockSize: 1468, windowSize: Math.min(Number(windowSize), 16) });
  });

  it('curl gets an error at once for a missing file', async () => {
    const rig = await startServer(settings);
    const url = `tftp://127.0.0.1:${rig.port}/snponli.efi`;
    // 68: file not found.
    await expect(run('curl', ['-sS', '-o', '/dev/null', url])).rejects.toMatchObject({ code: 68 });
    await rig.noted('tftp.not-found');
  });

  it('curl cannot write', async () => {
    const rig = await startServer(settings);
    const url = `tftp://127.0.0.1:${rig.port}/snponly.efi`;
    // 69: permission.
    await expect(run('curl', ['-sS', '-T', '/etc/hostname', url])).rejects.toMatchObject({ code: 69 });
  });

  it('thirty-two concurrent curls all get the whole file', async () => {
    const rig = await startServer({ ...settings, perClient: 32 });
    const folder = temporaryFolder();
    const files = Array.from({ length: 32 }, (_, at) => join(folder, String(at)));
    const url = `tftp://127.0.0.1:${rig.port}/snponly.efi`;
    await Promise.all(files.map((file) => run('curl', ['-sS', '--tftp-blksize', '1468', '-o', file, url])));
    for (const file of files) expect(readFileSync(file).equals(LOADER)).toBe(true);
    await rig.noted('tftp.completed', 32);
    expect(rig.server.transfersUnderWay).toBe(0);
  });
});

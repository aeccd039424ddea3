// An attacker on the provisioning network requests files with forged sender addresses, and never acknowledges anything.

import { describe, expect, it } from 'vitest';
import { encodeTftp } from '../../appliance/codecs/tftp/encode.ts';
import { ack, load, read, sloppyClient } from '../servers/tftp/sloppy-client.ts';
import { LOADER, startServer } from '../servers/tftp/tftp-rig.ts';
import { readRequest, type SilentSource, silentSource } from './tftp-sources.ts';

const PLACES = [
  ['in threads of their own', {}],
  ['in the thread of the server', { transferPorts: { from: 45_000, to: 45_999 } }],
  ['from the port of the requests', { singlePort: true }],
] as const;
/** A quarter of the limit of an appliance, so that the test needs fewer sockets; each address may have four transfers. */
const AT_ONCE = 256;

/** Requests from as many addresses as are needed to use all transfers up. */
async function takeAllTransfers(port: number, sources: SilentSource[]): Promise<void> {
  for (let host = 1; sources.length < AT_ONCE; host += 1) {
    for (let client = 0; client < 4; client += 1) {
      const source = await silentSource(`127.0.2.${host}`);
      sources.push(source);
      source.send(readRequest('snponly.efi', { blksize: '1468' }), port);
    }
  }
}

describe.each(PLACES)('an attacker who requests files and never answers, transfers %s', (_where, place) => {
  it('does not stop the transfers of others', async () => {
    const rig = await startServer({ ...place, atOnce: AT_ONCE });
    const sources: SilentSource[] = [];
    await takeAllTransfers(rig.port, sources);
    await expect.poll(() => sources.every(({ packets }) => packets.received > 0)).toBe(true);
    expect(rig.server.transfersUnderWay).toBe(AT_ONCE);

    // A machine loads its files while the attacker goes on.
    for (const options of [{}, { blksize: '1468', windowsize: '8' }, { blksize: '512' }]) {
      for (const source of sources.slice(0, 64)) source.send(readRequest('snponly.efi', { blksize: '1468' }), rig.port);
      const machine = await sloppyClient();
      expect(await load(machine, rig.port, 'snponly.efi', options)).toHaveLength(LOADER.length);
    }
    expect(rig.server.transfersUnderWay).toBeLessThanOrEqual(AT_ONCE);
    console.log(`requests that were never answered: ${sources.reduce((sum, { packets }) => sum + packets.sent, 0)}`);
  });

  it('does not end a transfer that its client follows, also with more requests than there are transfers', async () => {
    const rig = await startServer({ ...place, atOnce: 8 });
    const machine = await sloppyClient();
    machine.send(read('snponly.efi', { blksize: '1024' }), rig.port);
    const { from } = await machine.next();
    machine.send(ack(0), from);
    expect((await machine.next()).packet).toMatchObject({ op: 'data', block: 1 });
    const sources = await Promise.all(Array.from({ length: 32 }, (_, n) => silentSource(`127.0.3.${n + 1}`)));
    for (const source of sources) source.send(readRequest('ipxe.efi', { tsize: '0' }), rig.port);
    await expect.poll(() => sources.every(({ packets }) => packets.received > 0)).toBe(true);
    machine.send(ack(1), from);
    await expect
      .poll(async () => {
        const { packet } = await machine.next();
        return packet.op === 'data' ? packet.block : packet.op;
      })
      .toBe(2);
  });
});

describe.each(PLACES)('an attacker who forges the address of a machine, transfers %s', (_where, place) => {
  it('does not keep that machine from loading its files', async () => {
    const rig = await startServer(place);
    // Other ports of the machine's own address.
    const forged = await Promise.all(Array.from({ length: 12 }, () => silentSource('127.0.0.1')));
    for (const source of forged) source.send(readRequest('snponly.efi', { tsize: '0' }), rig.port);
    await expect.poll(() => forged.filter(({ packets }) => packets.received > 0).length).toBe(forged.length);
    const machine = await sloppyClient();
    expect(await load(machine, rig.port, 'snponly.efi', { blksize: '1468' })).toHaveLength(LOADER.length);
  });
});

it('the request of the attacker is as short as a request can be', () => {
  expect(encodeTftp(read('ipxe.efi'))).toHaveLength(17);
});

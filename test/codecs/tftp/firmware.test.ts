// Packets of real firmware, byte for byte, and the replies they need.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeTftp } from '../../../appliance/codecs/tftp/decode.ts';
import { encodeTftp } from '../../../appliance/codecs/tftp/encode.ts';
import { sanitizeTftpName } from '../../../appliance/codecs/tftp/name.ts';
import { negotiate } from '../../../appliance/codecs/tftp/negotiate.ts';
import { TftpTransfer } from '../../../appliance/servers/tftp/tftp-transfer.ts';

interface Captured {
  readonly id: string;
  readonly client: string;
  readonly hex: string;
}

const FILE = join(import.meta.dirname, '../../captures/tftp/firmware-packets.json');
const PACKETS = new Map(
  (JSON.parse(readFileSync(FILE, 'utf8')) as Captured[]).map((packet) => [packet.id, Buffer.from(packet.hex, 'hex')]),
);
const PEER = { address: '192.0.2.50', port: 1851 };
const LIMITS = { maxBlockSize: 1468, maxWindowSize: 8 };
const SIZE = 173_792;

function captured(id: string): Buffer {
  const packet = PACKETS.get(id);
  if (!packet) throw new Error(`no such captured packet: ${id}`);
  return packet;
}

function openFor(id: string, limits = LIMITS) {
  const request = decodeTftp(captured(id));
  if (request.op !== 'read' || request.mode !== 'octet') throw new Error(`not a read request: ${id}`);
  const terms = negotiate(request.options, limits, SIZE, request.mode);
  const file = new Uint8Array(SIZE);
  const source = { size: SIZE, read: (offset: number, length: number) => file.subarray(offset, offset + length) };
  const { mode } = request;
  return {
    name: sanitizeTftpName(request.fileName),
    acknowledged: Object.fromEntries(terms.acknowledged),
    transfer: new TftpTransfer({
      peer: PEER,
      request: captured(id),
      mode,
      terms,
      source,
      rolloverTo: 0,
      firstReplies: 5,
    }),
  };
}

describe('captured packets', () => {
  it.each([...PACKETS.keys()])('%s encodes to the same bytes', (id) => {
    expect(Buffer.from(encodeTftp(decodeTftp(captured(id))))).toEqual(captured(id));
  });

  const WINDOW_OF_4 = { blksize: '1468', windowsize: '4' };
  const SHIM = { blksize: '512', windowsize: '4' };
  it.each([
    ['ovmf-size-probe', 'snponly.efi', { ...WINDOW_OF_4, tsize: '173792' }],
    ['ovmf-read', 'snponly.efi', WINDOW_OF_4],
    ['aavmf-size-probe', 'arm64/grubaa64.efi', { ...WINDOW_OF_4, tsize: '173792' }],
    ['aavmf-read', 'arm64/grubaa64.efi', WINDOW_OF_4],
    ['shim-revocations', 'secboot/revocations_sku.efi', SHIM],
    ['shim-second-stage', 'secboot/grubx64.efi', SHIM],
    ['grub-config', 'grub/grub.cfg', { blksize: '1024', tsize: '173792' }],
    ['ipxe-bios-loader', 'undionly.kpxe', { blksize: '1432', tsize: '173792' }],
  ])('%s requests %s and is granted its options', (id, name, acknowledged) => {
    const opened = openFor(id);
    expect(opened.name).toEqual({ ok: true, value: name });
    expect(opened.acknowledged).toEqual(acknowledged);
  });

  it('of OVMF without windows get the reply that dnsmasq sent when they were captured', () => {
    const dnsmasq = 'tsize\x00173792\0blksize\x001468\0';
    const [first] = openFor('ovmf-size-probe', { ...LIMITS, maxWindowSize: 1 }).transfer.start();
    expect(first).toEqual({ do: 'send', bytes: new Uint8Array(Buffer.from(`\0\x06${dnsmasq}`, 'latin1')) });
  });
});

describe('OVMF reading its boot file', () => {
  it('closes the first transfer with an ERROR once it has the size, which is not a failure', () => {
    const { transfer } = openFor('ovmf-size-probe');
    transfer.start();
    expect(transfer.onPacket(captured('ovmf-probe-closes'), PEER)).toMatchObject([{ outcome: { result: 'probe' } }]);
  });

  it('fetches the file in windows of four in the second transfer', () => {
    const { transfer } = openFor('ovmf-read');
    transfer.start();
    const blocksSent = (id: string) =>
      transfer
        .onPacket(captured(id), PEER)
        .flatMap((action) => (action.do === 'send' ? [decodeTftp(action.bytes)] : []))
        .map((packet) => (packet.op === 'data' ? packet.block : null));
    expect(blocksSent('ovmf-first-ack')).toEqual([1, 2, 3, 4]);
    expect(blocksSent('ovmf-window-ack')).toEqual([5, 6, 7, 8]);
  });
});

import { describe, expect, test } from 'vitest';
import { decodeDhcp } from '../../../appliance/codecs/dhcp4/decode.ts';
import { DhcpDecodeError } from '../../../appliance/codecs/dhcp4/errors.ts';
import { ascii, rawPacket } from './dhcp-messages.ts';

const END = 255;

function refusal(packet: Uint8Array): DhcpDecodeError {
  try {
    decodeDhcp(packet);
  } catch (error) {
    if (error instanceof DhcpDecodeError) return error;
    throw error;
  }
  throw new Error('it was decoded, an error was expected');
}

function changed(at: number, value: number): Uint8Array {
  const packet = rawPacket([53, 1, 1, END]);
  packet[at] = value;
  return packet;
}

describe('rejects what is not a DHCP message, with field and offset', () => {
  test('an empty datagram', () => {
    expect(refusal(new Uint8Array())).toMatchObject({ field: 'length', offset: 0 });
  });

  test('a datagram that ends inside the magic cookie', () => {
    const error = refusal(rawPacket([]).subarray(0, 239));
    expect(error).toMatchObject({ field: 'length', offset: 239 });
    expect(error.message).toBe('length at byte 239: a DHCP message needs at least 240 bytes, got 239');
  });

  test('an op that is neither request nor reply', () => {
    expect(refusal(changed(0, 3))).toMatchObject({ field: 'op', offset: 0 });
    expect(refusal(changed(0, 0))).toMatchObject({ field: 'op', offset: 0 });
  });

  test('a hardware address longer than its field', () => {
    expect(refusal(changed(2, 17))).toMatchObject({ field: 'hlen', offset: 2 });
    expect(decodeDhcp(changed(2, 16)).hlen).toBe(16);
  });

  test('more hops than the maximum', () => {
    expect(refusal(changed(3, 17))).toMatchObject({ field: 'hops', offset: 3 });
    expect(decodeDhcp(changed(3, 16)).hops).toBe(16);
  });

  test('a wrong magic cookie', () => {
    expect(refusal(changed(239, 0x64))).toMatchObject({ field: 'magic cookie', offset: 236 });
  });
});

describe('the header', () => {
  test('is read from a view into a larger buffer', () => {
    const packet = rawPacket([53, 1, 1, END]);
    const slab = Buffer.alloc(1000, 0xee);
    slab.set(packet, 100);
    expect(decodeDhcp(slab.subarray(100, 100 + packet.length))).toEqual(decodeDhcp(packet));
  });

  test('keeps all of chaddr, even when it is all ones', () => {
    const packet = rawPacket([END]);
    packet.fill(0xff, 28, 44);
    expect(decodeDhcp(packet).chaddr).toEqual(new Uint8Array(16).fill(0xff));
  });

  test('reads file and sname up to their NUL, as Latin-1', () => {
    const message = decodeDhcp(
      rawPacket([END], { file: [...ascii('a\xe9b'), 0, ...ascii('junk')], sname: ascii('s') }),
    );
    expect(message.file).toBe('a\xe9b');
    expect(message.sname).toBe('s');
  });

  test('reads a file that fills its field without a NUL', () => {
    expect(decodeDhcp(rawPacket([END], { file: ascii('f'.repeat(128)) })).file).toBe('f'.repeat(128));
  });

  test('reads only the broadcast bit of the flags', () => {
    const packet = rawPacket([END]);
    packet.set([0x7f, 0xff], 10);
    expect(decodeDhcp(packet).broadcast).toBe(false);
    packet.set([0x80, 0x00], 10);
    expect(decodeDhcp(packet).broadcast).toBe(true);
  });
});

describe('the options', () => {
  const optionsOf = (packet: Uint8Array) =>
    Object.fromEntries([...decodeDhcp(packet).options].map(([c, v]) => [c, [...v]]));

  test('are read in wire order, skipping padding', () => {
    const message = decodeDhcp(rawPacket([0, 53, 1, 1, 0, 0, 12, 2, 65, 66, 0, END]));
    expect([...message.options.keys()]).toEqual([53, 12]);
    expect(message).not.toHaveProperty('oddities');
  });

  test('end at END, whatever follows', () => {
    expect(optionsOf(rawPacket([53, 1, 1, END, 12, 2, 65, 66, END]))).toEqual({ 53: [1] });
  });

  test('do not require END: perfdhcp sends none', () => {
    const message = decodeDhcp(rawPacket([53, 1, 1, 12, 2, 65, 66]));
    expect([...message.options.keys()]).toEqual([53, 12]);
    expect(message).not.toHaveProperty('oddities');
  });

  test('may be absent', () => {
    expect(decodeDhcp(rawPacket([])).options.size).toBe(0);
  });

  test('may be empty', () => {
    expect(optionsOf(rawPacket([80, 0, 53, 1, 1, END]))).toEqual({ 80: [], 53: [1] });
  });

  test.each([3, 4, 200, 255])('are ignored and noted when their length extends past the end: %i', (length) => {
    const message = decodeDhcp(rawPacket([53, 1, 1, 12, length, 65, 66]));
    expect([...message.options.keys()]).toEqual([53]);
    expect(message.oddities).toEqual(['option 12 at byte 243 extends past the end of the options field: ignored']);
  });

  test('are ignored and noted when the length byte is missing', () => {
    const message = decodeDhcp(rawPacket([53, 1, 1, 12]));
    expect([...message.options.keys()]).toEqual([53]);
    expect(message.oddities).toEqual(['option 12 at byte 243 extends past the end of the options field: ignored']);
  });

  test('are joined when they have several instances (RFC 3396)', () => {
    expect(optionsOf(rawPacket([12, 2, 1, 2, 53, 1, 1, 12, 0, 12, 2, 3, 4, 12, 1, 5, END]))).toEqual({
      12: [1, 2, 3, 4, 5],
      53: [1],
    });
  });

  test('are joined even when a hostile packet repeats one 20,000 times', () => {
    const message = decodeDhcp(rawPacket(Array.from({ length: 20_000 }, () => [12, 1, 7]).flat()));
    expect(message.options.get(12)).toEqual(new Uint8Array(20_000).fill(7));
  });
});

describe('overloaded fields (option 52)', () => {
  test('1: file holds options, sname a name', () => {
    const message = decodeDhcp(rawPacket([52, 1, 1, 53, 1, 1, END], { file: [12, 1, 65, END], sname: ascii('boot') }));
    expect([...message.options]).toEqual([
      [53, Uint8Array.of(1)],
      [12, Uint8Array.of(65)],
    ]);
    expect(message).toMatchObject({ file: '', sname: 'boot' });
  });

  test('2: sname holds options, file a name', () => {
    const message = decodeDhcp(rawPacket([52, 1, 2, END], { sname: [12, 1, 65, END], file: ascii('ipxe.efi') }));
    expect(message.options.get(12)).toEqual(Uint8Array.of(65));
    expect(message).toMatchObject({ file: 'ipxe.efi', sname: '' });
  });

  test('3: instances are joined in the order options, file, sname', () => {
    const message = decodeDhcp(rawPacket([52, 1, 3, 12, 1, 1, END], { file: [12, 1, 2, END], sname: [12, 1, 3, END] }));
    expect(message.options.get(12)).toEqual(Uint8Array.of(1, 2, 3));
    expect(message.options.has(52)).toBe(false);
  });

  test('an option in file does not extend into the cookie', () => {
    const file = [...new Array(126).fill(0), 12, 4];
    const message = decodeDhcp(rawPacket([52, 1, 1, END], { file }));
    expect(message.options.size).toBe(0);
    expect(message.oddities).toEqual(['option 12 at byte 234 extends past the end of the file field: ignored']);
    const onlyCode = decodeDhcp(rawPacket([52, 1, 1, END], { file: [...new Array(127).fill(0), 12] }));
    expect(onlyCode.oddities).toEqual(['option 12 at byte 235 extends past the end of the file field: ignored']);
  });

  test('52 inside an overloaded field is ignored', () => {
    const message = decodeDhcp(rawPacket([52, 1, 1, END], { file: [52, 1, 3, END], sname: [12, 1, 65, END] }));
    expect(message.options.size).toBe(0);
    expect(message.oddities).toEqual(['option 52 at byte 108, inside the file field: ignored']);
  });

  test('52 with an undefined value does not overload any field', () => {
    for (const option of [
      [52, 1, 0],
      [52, 1, 4],
      [52, 0],
      [52, 2, 1, 1],
    ]) {
      const message = decodeDhcp(rawPacket([...option, END], { file: ascii('ipxe.efi') }));
      expect(message.file).toBe('ipxe.efi');
      expect(message.oddities).toEqual(['option 52 at byte 240 is not one of 1, 2, 3: ignored']);
    }
  });

  test('only the first 52 is used, and the number of notes is bounded', () => {
    const flood = Array.from({ length: 500 }, () => [52, 1, 3]).flat();
    const message = decodeDhcp(rawPacket([52, 1, 2, ...flood, END], { file: ascii('ipxe.efi') }));
    expect(message.file).toBe('ipxe.efi');
    expect(message.oddities).toHaveLength(8);
  });
});

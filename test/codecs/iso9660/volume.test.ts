import { describe, expect, it } from 'vitest';
import { type IsoVolume, isoVolume, SECTOR_BYTES } from '../../../appliance/codecs/iso9660/volume.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';

const SECRET = { name: 'SECRET', content: Buffer.from('ab'.repeat(32)) };
const VOLUME: IsoVolume = { label: 'COLDIRON', files: [SECRET], madeAt: Date.UTC(2026, 10, 18, 1, 2, 3, 450) };

describe('an ISO 9660 volume', () => {
  const image = Buffer.from(mustParse(isoVolume(VOLUME)));
  const at = (sector: number, offset: number, length: number): Buffer =>
    image.subarray(sector * SECTOR_BYTES + offset, sector * SECTOR_BYTES + offset + length);

  it('has a primary volume descriptor and a terminator after the empty system area', () => {
    expect(image.subarray(0, 16 * SECTOR_BYTES).every((byte) => byte === 0)).toBe(true);
    expect(at(16, 0, 7).toString('hex')).toBe(`01${Buffer.from('CD001').toString('hex')}01`);
    expect(at(17, 0, 7).toString('hex')).toBe(`ff${Buffer.from('CD001').toString('hex')}01`);
    expect(at(16, 40, 32).toString()).toBe('COLDIRON'.padEnd(32));
    expect(at(16, 813, 17).toString('latin1')).toBe('2026111801020345\0');
  });

  it('says its own length in both byte orders', () => {
    const sectors = image.length / SECTOR_BYTES;
    expect([at(16, 80, 4).readUInt32LE(), at(16, 84, 4).readUInt32BE()]).toEqual([sectors, sectors]);
  });

  it('has the file where its record says', () => {
    const record = at(20, 2 * 34, 42);
    expect(record.subarray(33, 33 + 9).toString()).toBe('SECRET.;1');
    expect(at(record.readUInt32LE(2), 0, record.readUInt32LE(10))).toEqual(SECRET.content);
  });

  it('is the same for the same input', () => {
    expect(image.equals(mustParse(isoVolume(VOLUME)))).toBe(true);
  });

  it.each<[string, Partial<IsoVolume>, string]>([
    ['a label in small letters', { label: 'coldiron' }, 'not the label'],
    ['a label that is too long', { label: 'A'.repeat(33) }, 'not the label'],
    ['no label', { label: '' }, 'not the label'],
    ['a path', { files: [{ ...SECRET, name: '../SECRET' }] }, 'not a file name'],
    ['a long name', { files: [{ ...SECRET, name: 'SECRETARY' }] }, 'not a file name'],
    ['the same name twice', { files: [SECRET, { ...SECRET }] }, 'two files have the name SECRET'],
    [
      'too many files',
      { files: Array.from({ length: 41 }, (_, index) => ({ ...SECRET, name: `F${index}` })) },
      'more than 40 files',
    ],
    ['a large file', { files: [{ ...SECRET, content: new Uint8Array((1 << 20) + 1) }] }, 'longer than 1048576 bytes'],
  ])('is refused: %s', (_, changes, reason) => {
    expect(isoVolume({ ...VOLUME, ...changes })).toMatchObject({ ok: false, reason: expect.stringContaining(reason) });
  });
});

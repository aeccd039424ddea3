import { describe, expect, it } from 'vitest';
import { isDeliberateClose } from '../../../appliance/codecs/tftp/closing-error.ts';

describe('an ERROR from the client', () => {
  it.each([
    [8, 'User aborted the transfer'],
    [4, 'User aborted download'],
    [0, 'TFTP Aborted'],
    [0, 'closed'],
    [0, 'Early terminate'],
    [0, ''],
  ])('%i %j is a deliberate close', (code, message) => {
    expect(isDeliberateClose(code, message)).toBe(true);
  });

  it.each([
    [8, 'Malformatted OACK packet'],
    [3, 'Memory overflow, transfer aborted'],
    [4, 'Illegal operation'],
    [5, 'Unknown transfer ID'],
    [0, 'Checksum wrong'],
    [8, ''],
  ])('%i %j is a problem', (code, message) => {
    expect(isDeliberateClose(code, message)).toBe(false);
  });
});

import { describe, expect, it } from 'vitest';
import { MOST_LINES, readAgentLog } from '../../appliance/domain/agent-log.ts';

describe('the log of an agent', () => {
  it('is read line by line, with action and class', () => {
    expect(readAgentLog('7 1700000000 renew refused not renewed (401)\n8 1700000001 wait - quiet\n')).toEqual({
      ok: true,
      value: [
        { number: 7, at: 1_700_000_000_000, action: 'renew', errorClass: 'refused', message: 'not renewed (401)' },
        { number: 8, at: 1_700_000_001_000, action: 'wait', errorClass: null, message: 'quiet' },
      ],
    });
  });

  it('of another version has other actions and classes', () => {
    expect(readAgentLog('1 1 dance odd x')).toMatchObject({ value: [{ action: 'other', errorClass: 'other' }] });
  });

  it('cannot write to the terminal of its reader', () => {
    const read = readAgentLog('1 1 start - \u001b]0;owned\u0007\u202e');
    expect(read).toMatchObject({ value: [{ message: String.raw`\u001b]0;owned\u0007\u202e` }] });
  });

  it.each(['hello', '1 1 start', 'x 1 start - y', '1 1 START - y'])('is refused when a line is %j', (line) => {
    expect(readAgentLog(line).ok).toBe(false);
  });

  it('has a limit', () => {
    expect(readAgentLog('1 1 start - x\n'.repeat(MOST_LINES + 1)).ok).toBe(false);
  });
});

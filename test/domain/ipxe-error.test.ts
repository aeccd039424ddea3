import { describe, expect, it } from 'vitest';
import { eventSentence } from '../../appliance/domain/events/known-event.ts';
import { ipxeErrorText } from '../../appliance/domain/ipxe-error.ts';

describe("iPXE's error number", () => {
  it.each([
    ['2e008001', 'exec format error'],
    ['2D0C613B', 'file not found'],
    ['4c116035', 'connection timed out'],
    ['0f0a6039', 'connection reset'],
    ['040ee119', 'no address or no configuration'],
    ['280a6090', 'the network is unreachable'],
    ['3e11613b', 'host name not found'],
    ['4c106035', 'connection timed out'],
    ['3e11623b', 'host name not found'],
    ['430d6139', 'protocol error'],
  ])('%s is said in words', (errno, words) => {
    expect(ipxeErrorText(errno)).toMatch(new RegExp(`^${errno} \\(${words}`));
  });

  it.each(['7f000000', 'zz', '', '2e0080', '2e008001ff'])('%j stays what it is', (errno) => {
    expect(ipxeErrorText(errno)).toBe(errno);
  });

  it('is short and on one line when a machine reports something else', () => {
    expect(ipxeErrorText(`\u001b[2J${'x'.repeat(500)}`).length).toBeLessThan(80);
    expect(ipxeErrorText('a\nb')).not.toContain('\n');
  });
});

it('is in words in the sentence of a failed boot', () => {
  const data = { stage: 'service-os', errno: '2e008001' };
  expect(eventSentence({ kind: 'boot.failed', actor: 'mac', data })).toMatch(
    /^Reports a failed boot at service-os, iPXE error 2e008001 \(exec format error: /,
  );
});

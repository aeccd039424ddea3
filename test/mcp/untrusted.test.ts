import { describe, expect, it } from 'vitest';
import { marked } from '../../appliance/mcp/untrusted.ts';

describe('an answer for a language model', () => {
  it('points at the texts of machines, also below a field of theirs, and not at our own words', () => {
    const answer = {
      state: 'ready',
      next_step: 'Deploy it.',
      facts: [{ system: { product: 'Box', serial: '' }, at: '2026-01-01' }],
      'a/b': { reason: 'it said so' },
    };
    expect(marked(answer).untrusted).toEqual(['/facts/0/system/product', '/a~1b/reason']);
  });

  it('escapes what hides or reorders text, in values and names', () => {
    const { data } = marked({ reason: 'a\u001b[2Jb\u202ec\u200bd\n', 'k\u0007': 'x' });
    expect(data).toEqual({ reason: 'a\\u001b[2Jb\\u202ec\\u200bd\\u000a', 'k\\u0007': 'x' });
  });

  it('cuts long texts and lists, and says where', () => {
    const { data, cut } = marked({ words: 'x'.repeat(5000), list: Array.from({ length: 900 }, () => 1) });
    const { words, list } = data as { words: string; list: number[] };
    expect([words.length, list.length]).toEqual([401, 200]);
    expect(cut).toEqual(['/words', '/list']);
  });

  it('is the same when nothing needs care', () => {
    const answer = { total: 2, next: null, nodes: [{ id: 'x', active: true }] };
    expect(marked(answer)).toMatchObject({ data: answer, untrusted: [], cut: [] });
  });
});

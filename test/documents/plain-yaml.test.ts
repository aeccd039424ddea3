import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { dump, load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { readPlainYaml } from '../../appliance/documents/plain-yaml.ts';

/** The value of the full YAML parser; undefined when it rejects the text. */
function asYaml(text: string): unknown {
  try {
    return load(text);
  } catch {
    return undefined;
  }
}

/** Includes the order of keys, which plans and messages follow. */
const spelledOut = (value: unknown): string => JSON.stringify(value);

function expectTheSame(text: string): void {
  const plain = readPlainYaml(text);
  if (plain === null) return;
  const yaml = asYaml(text);
  expect(plain, text).toEqual(yaml);
  expect(spelledOut(plain), text).toBe(spelledOut(yaml));
}

const EXAMPLE = readFileSync(new URL('../../inventory/example.yaml', import.meta.url), 'utf8');

const scalar = fc.oneof(
  fc.constantFrom(
    'prov',
    'eth0',
    '10.0.100.1',
    '10.0.0.0/8',
    '52:54:00:12:34:56',
    'off',
    'True',
    'null',
    '1e5',
    '0x1f',
  ),
  fc.constantFrom('7a11ab1e-0000-4000-8000-000000000000', '2020-01-01', '12:30', '010', '', '~', '- a', 'a: b', 'a #b'),
  fc.constantFrom(
    '16 cores, 64 GB, 2 x 10 GbE',
    'ssh-ed25519 AAAA/+= ada@example.com',
    "it's",
    'a "b"',
    'Zürich',
    'a\nb',
  ),
  fc.string({ maxLength: 12 }),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
);
const key = fc.oneof(
  fc.constantFrom('name', 'labels', 'a/b', 'x-y', 'true', 'null', '10', '__proto__', 'constructor', 'a b'),
  fc.string({ maxLength: 6 }),
);
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
  ),
}));
const documents = fc.dictionary(key, tree, { minKeys: 1, maxKeys: 5 });
const spellings = fc.record({
  indent: fc.integer({ min: 1, max: 4 }),
  flowLevel: fc.integer({ min: -1, max: 4 }),
  seqNoIndent: fc.boolean(),
  flowBracketPadding: fc.boolean(),
  flowSkipCommaSpace: fc.boolean(),
  flowSkipColonSpace: fc.boolean(),
  quoteStyle: fc.constantFrom('single', 'double'),
  forceQuotes: fc.boolean(),
  lineWidth: fc.constantFrom(-1, 20, 80),
});

/** One editing error: a line duplicated, deleted, indented or outdented, or some characters replaced. */
const slip = fc.record({
  line: fc.nat(),
  column: fc.nat(40),
  kind: fc.constantFrom('twice', 'gone', 'in', 'out', 'insert', 'replace', 'cut'),
  text: fc.constantFrom(
    ' ',
    '  ',
    '- ',
    ': ',
    ':',
    '#',
    ' # ',
    '"',
    "'",
    '&a ',
    '*a',
    '|',
    '>',
    '{',
    '}',
    '[',
    ']',
    ',',
  ),
});

function slipped(
  text: string,
  { line, column, kind, text: mark }: typeof slip extends fc.Arbitrary<infer T> ? T : never,
) {
  const lines = text.split('\n');
  const at = line % lines.length;
  const old = lines[at] ?? '';
  const edited = {
    twice: [old, old],
    gone: [],
    in: [`${' '.repeat(1 + (column % 3))}${old}`],
    out: [old.slice(1 + (column % 3))],
    insert: [old.slice(0, column) + mark + old.slice(column)],
    replace: [old.slice(0, column) + mark + old.slice(column + mark.length)],
    cut: [old.slice(0, column)],
  }[kind];
  return [...lines.slice(0, at), ...edited, ...lines.slice(at + 1)].join('\n');
}

describe('readPlainYaml', () => {
  it('reads large inventories and the example', () => {
    expect(readPlainYaml(EXAMPLE)).toEqual(load(EXAMPLE));
    const rack = {
      nodes: [{ name: 'node1', labels: { rack: '0' }, interfaces: [{ mac: '52:54:00:00:00:01', mtu: 9000 }] }],
    };
    expect(readPlainYaml(dump(rack))).toEqual(rack);
    expect(readPlainYaml(dump(rack, { seqNoIndent: true }))).toEqual(rack);
  });

  it('returns the same value as the full YAML parser, or null', () => {
    fc.assert(
      fc.property(documents, spellings, (value, spelling) =>
        expectTheSame(dump(value, { ...spelling, skipInvalid: true })),
      ),
      { numRuns: 2000 },
    );
  });

  it('returns the same value or null for a file with editing errors', () => {
    fc.assert(
      fc.property(fc.array(slip, { minLength: 1, maxLength: 3 }), (slips) =>
        expectTheSame(slips.reduce(slipped, EXAMPLE)),
      ),
      { numRuns: 1500 },
    );
    fc.assert(
      fc.property(documents, spellings, fc.array(slip, { minLength: 1, maxLength: 3 }), (value, spelling, slips) =>
        expectTheSame(slips.reduce(slipped, dump(value, { ...spelling, skipInvalid: true }))),
      ),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['a duplicate key', 'a: 1\na: 2\n'],
    ['an anchor', 'a: &x 1\nb: *x\n'],
    ['a string over several lines', 'a: one\n  two\n'],
    ['a block string', 'a: |\n  one\n'],
    ['a tab', 'a:\tb\n'],
    ['a number in an unusual form', 'a: 010\n'],
    ['an escape', 'a: "\\u0041"\n'],
    ['two documents', 'a: 1\n---\nb: 2\n'],
    ['a list at the top', '- a\n'],
    ['nothing', '# nothing\n'],
    ['a wrongly indented line', 'a:\n    b: 1\n  c: 2\n'],
    ['a control character', 'a: "\u0007"\n'],
    ['a key of the JavaScript object prototype', '__proto__: 1\n'],
  ])('leaves %s to the full YAML parser', (_, text) => {
    expect(readPlainYaml(text)).toBeNull();
  });
});

import fc from 'fast-check';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { structureReader } from '../../appliance/documents/structure.ts';
import { InventoryDocument } from '../../appliance/inventory/schema.ts';

function reading(value: unknown): { valid: unknown; problems: string[] } {
  const problems: string[] = [];
  const valid = structureReader(InventoryDocument)(value, (path, message) => problems.push(`${path}: ${message}`));
  return { valid, problems };
}

describe('the structure of a document', () => {
  it.each<[sentence: string, value: unknown, problem: string]>([
    ['a list as the document', [], ': must be a mapping (key: value), is a list'],
    ['a mapping for a list', { nodes: {} }, 'nodes: must be a list, is a mapping'],
    ['an empty section', { nodes: null }, 'nodes: is empty: give a value or remove the key'],
    ['text for an object', { sites: ['lab'] }, 'sites[0]: must be a mapping (key: value), is text: lab'],
    ['a missing key', { sites: [{}] }, 'sites[0].name: is missing'],
    ['a number for text', { sites: [{ name: 7 }] }, 'sites[0].name: must be text, is a number: 7 (put it in quotes)'],
    [
      'a misspelled key',
      { sites: [{ name: 'a', regoin: 'x' }] },
      'sites[0].regoin: unknown key (did you mean region?)',
    ],
    ['an unknown key without a similar one', { sites: [{ name: 'a', colour: 'x' }] }, 'sites[0].colour: unknown key'],
    ['a section in the wrong place', { site: [] }, 'site: unknown key (did you mean sites?)'],
    ['a prototype', JSON.parse('{"__proto__": {"nodes": []}}'), '__proto__: unknown key'],
    [
      'an unknown enum value',
      { sites: [{ name: 'a', bmc_mode: 'recordr' }] },
      'sites[0].bmc_mode: must be one of real, recorder, disabled: recordr (did you mean recorder?)',
    ],
    [
      'a boolean for text',
      { sites: [{ name: 'a', bmc_mode: false }] },
      'sites[0].bmc_mode: must be one of real, recorder, disabled, is false',
    ],
    [
      'a number out of bounds',
      { networks: [{ name: 'a', prefix: 'p', vlan: 4095 }] },
      'networks[0].vlan: must be 1 to 4094: 4095',
    ],
    [
      'a fraction',
      { networks: [{ name: 'a', prefix: 'p', vlan: 1.5 }] },
      'networks[0].vlan: must be a whole number: 1.5',
    ],
    [
      'text for a boolean',
      { skus: [{ name: 'a', architecture: 'x86_64', active: 'yes' }] },
      'skus[0].active: must be true or false, is text: yes',
    ],
    [
      'an empty list',
      { profiles: [{ name: 'a', kind: 'nixos', architectures: [] }] },
      'profiles[0].architectures: must have at least one item',
    ],
    [
      'a relative path',
      { nodes: [{ name: 'a', sku: 's', bmc: { address: 'x', password_file: 'secret.txt' } }] },
      'nodes[0].bmc.password_file: must be an absolute path on the appliance: secret.txt',
    ],
    [
      'a password, without repeating it',
      { nodes: [{ name: 'a', sku: 's', bmc: { address: 'x', password: 'calvin' } }] },
      'nodes[0].bmc.password: secrets are never in the inventory; use password_file',
    ],
    [
      'an invalid label name',
      { nodes: [{ name: 'a', sku: 's', labels: { 'two words': 'x' } }] },
      'nodes[0].labels.two words: not a key (letters, digits, ".", "_", "/", "-", at most 63)',
    ],
    [
      'a text that is too long',
      { sites: [{ name: 'x'.repeat(301) }] },
      'sites[0].name: must have at most 300 characters, has 301',
    ],
    ['a key with control characters', { '\u001b[31m': 1 }, '\\u001b[31m: unknown key'],
  ])('reports %s', (_sentence, value, problem) => {
    expect(reading(value).problems).toEqual([problem]);
  });

  it('returns the valid part, with undefined for invalid values', () => {
    const { valid } = reading({ sites: [{ name: 'a', region: 5 }, 7], nodes: 'none' });
    expect(valid).toStrictEqual({ sites: [{ name: 'a', region: undefined }, undefined], nodes: undefined });
  });

  it('agrees with the schema about every document', () => {
    const compiled = Compile(InventoryDocument);
    const scalar = fc.oneof(
      fc.constantFrom('a', 'x86_64', 'nixos', 'real', 'eth0', '/etc/file', '', 'ü'),
      fc.integer({ min: -1, max: 5000 }),
      fc.boolean(),
      fc.constant(null),
      fc.double({ noNaN: true }),
    );
    const keys = [
      ...['name', 'site', 'prefix', 'vlan', 'dns', 'pools', 'from', 'to', 'dhcp', 'kind', 'architecture', 'gpus'],
      ...['regions', 'skus', 'interfaces', 'mac', 'network', 'bmc', 'address', 'labels', 'access', 'host', '__proto__'],
    ];
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        scalar,
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...keys), tie('value'), { maxKeys: 5 }),
      ),
    }));
    const section = fc.constantFrom('sites', 'networks', 'skus', 'profiles', 'clusters', 'nodes', 'others');
    fc.assert(
      fc.property(fc.dictionary(section, fc.array(value, { maxLength: 3 }), { maxKeys: 3 }), (document) => {
        expect(reading(document).problems.length === 0).toBe(compiled.Check(document));
      }),
      { numRuns: 500 },
    );
  });

  it('reports more problems than the schema library counts', () => {
    const many = Type.Object({ list: Type.Array(Type.Integer()) }, { additionalProperties: false });
    const problems: string[] = [];
    structureReader(many)({ list: Array.from({ length: 50 }, () => 'x') }, (path) => problems.push(path));
    expect(problems).toHaveLength(50);
  });
});

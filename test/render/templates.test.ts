import { describe, expect, it } from 'vitest';
import { BUILT_IN_TEMPLATES, readTemplateFiles } from '../../appliance/assets/template-files.ts';
import { Secret } from '../../appliance/domain/secret.ts';
import { checkOverrides } from '../../appliance/render/template-overrides.ts';
import { compileTemplates } from '../../appliance/render/templates.ts';
import { SAMPLE_PLANS } from './plans.ts';

const rendered = (source: string, values: object, parts: Record<string, string> = {}): string => {
  const sources = new Map([['ipxe/script', source], ...Object.entries(parts)]);
  return compileTemplates(sources).render('ipxe/script', values);
};

describe('a template', () => {
  it('inserts values through the format of its folder', () => {
    expect(rendered('chain {{url}}\necho {{shown why}}\n', { url: 'http://h/', why: 'a || b' })).toBe(
      'chain http://h/\necho a ? b\n',
    );
    const grub = compileTemplates(new Map([['grub/x', 'linux {{file}}\n']]));
    expect(grub.render('grub/x', { file: '(tftp)/a b' })).toBe("linux '(tftp)/a b'\n");
  });

  it('supports loops, conditions and parts', () => {
    const source =
      'kernel{{#each list}} {{this}}{{/each}}\n{{#if yes}}\necho yes\n{{else}}\necho no\n{{/if}}\n{{> end}}\n';
    const parts = { 'ipxe/end': 'exit {{code}}\n' };
    expect(rendered(source, { list: ['a', 'b'], yes: false, code: 1 }, parts)).toBe('kernel a b\necho no\nexit 1\n');
  });

  it.each([
    ['{{{ }}}', 'echo {{{x}}}'],
    ['{{& }}', 'echo {{&x}}'],
    ['a value where a command is expected', '{{x}} y'],
    ['a value in a block where a command is expected', '{{#if x}}{{x}} y{{/if}}'],
    ['a helper of Handlebars', 'echo {{lookup x y}}'],
    ['a log', 'echo {{log x}}'],
    ['a block that changes the context', 'echo {{#with x}}{{y}}{{/with}}'],
    ['a block without a helper', 'echo {{#x}}{{y}}{{/x}}'],
    ['an expression in an expression', 'echo {{shown (lookup x y)}}'],
    ['a literal', 'echo {{"x"}}'],
    ['an inline part', 'echo {{#*inline "p"}}x{{/inline}}'],
    ['a raw block', 'echo {{{{raw}}}}x{{{{/raw}}}}'],
    ['a missing part', 'echo x\n{{> nowhere}}\n'],
    ['itself as a part', 'echo x\n{{> script}}\n'],
  ])('is rejected at load when it has %s', (_what, source) => {
    expect(() => compileTemplates(new Map([['ipxe/script', source]]))).toThrow(/ipxe\//);
  });

  it('is rejected at load when a GRUB template has its own quotes', () => {
    expect(() => compileTemplates(new Map([['grub/x', "echo '{{x}}'"]]))).toThrow(/quote/);
  });

  it('is rejected at load when its folder has no known format', () => {
    expect(() => compileTemplates(new Map([['html/x', 'x']]))).toThrow('template html/x: has no known text format');
  });

  it('names the template, the line and the field when a value cannot be inserted', () => {
    expect(() => rendered('x\necho {{node.name}}', { node: { name: 'a b' } })).toThrow(
      'template ipxe/script, line 2: node.name has a space, which iPXE cannot quote: a b',
    );
    expect(() => rendered('x\n{{> end}}\n', { code: '\n' }, { 'ipxe/end': '\nexit {{code}}\n' })).toThrow(
      'template ipxe/script, in its part ipxe/end, line 2: code has the character U+000a',
    );
  });

  it('fails when a value is missing, also in a condition and also below a null', () => {
    expect(() => rendered('echo {{x}}', {})).toThrow('template ipxe/script, line 1: x is missing');
    expect(() => rendered('echo {{#if x}}y{{/if}}', {})).toThrow('x is missing');
    expect(() => rendered('echo {{#each x}}y{{/each}}', {})).toThrow('x is missing');
    expect(() => rendered('echo {{a.b}}', { a: null })).toThrow('a.b is missing');
    expect(() => rendered('echo {{#if a.b.c}}y{{/if}}', { a: { b: null } })).toThrow('a.b.c is missing');
    expect(() => rendered('echo {{#each a}}{{x}}{{/each}}', { a: [null] })).toThrow('x is missing');
    expect(() => rendered('echo {{#each a}}{{../x.y}}{{/each}}', { a: [1], x: null })).toThrow('../x.y is missing');
    expect(() => rendered('echo {{#each a}}{{/each}}', { a: 'text' })).toThrow('a is neither a list nor a set');
    expect(() => rendered('echo {{shown x}}', { x: null })).toThrow('x is neither text nor a number');
    expect(() => rendered('echo {{x}}', { x: null })).toThrow('x is neither text nor a number');
  });

  it('supports the position in a list', () => {
    const source =
      'echo{{#each a}} {{@index}}={{this}}{{#unless @last}} ,{{/unless}}{{/each}}{{#each o}} {{@key}}={{x}}{{/each}}';
    expect(rendered(source, { a: ['p', 'q'], o: { k: { x: 1 } } })).toBe('echo 0=p , 1=q k=1');
  });

  it.each(['constructor', 'toString', '__proto__', 'a.constructor.name', 'a.b.length'])(
    'gives no access to %s',
    (path) => {
      expect(() => rendered(`echo {{${path}}}`, { a: { b: null } })).toThrow('is missing');
    },
  );

  it('never shows a value that a file format rejects: it could be a secret', () => {
    const refused = [
      ['sh', 'x={{token}}\n', 'hunter2\0'],
      ['env', 'X={{token}}\n', 'hunter2\n'],
      ['json', '{{token}}', 'hunter2\ud800'],
      ['yaml', 'a: {{token}}', 'hunter2\0'],
      ['nix', '{{token}}', 'hunter2\0'],
      ['service', 'A={{token}}\n', 'hunter2$'],
      ['zone', 'a TXT {{token}}\n', 'hunter2 x'],
      ['nft', 'a {{token}}\n', 'hunter2"'],
      ['hosts', 'a {{token}}\n', 'hunter2 '],
    ] as const;
    for (const [extension, source, token] of refused) {
      const templates = compileTemplates(new Map([[`x/x.${extension}`, source]]));
      let message = '';
      try {
        templates.render(`x/x.${extension}`, { token });
      } catch (error) {
        message = String(error);
      }
      expect(message).toContain(`template x/x.${extension}, line 1: token `);
      expect(message).not.toContain('hunter2');
    }
  });

  it('accepts no class instance as data, above all no secret', () => {
    const templates = compileTemplates(new Map([['x/x.json', '{{a}}']]));
    for (const a of [new Secret('x'), new Date(0), new Map(), [new Secret('x')], () => 1, Symbol('x'), 1n]) {
      expect(() => templates.render('x/x.json', { a })).toThrow(/a (?:\[0\] )?is not plain data/);
    }
  });
});

describe('every template of ours', () => {
  const sources = readTemplateFiles(BUILT_IN_TEMPLATES);

  it.each([...new Set([...sources.keys()].map((name) => name.split('/')[0] ?? ''))])('in %s/ loads', (folder) => {
    const own = new Map([...sources].filter(([name]) => name.startsWith(`${folder}/`)));
    expect(() => compileTemplates(own)).not.toThrow();
  });
});

describe('templates of an operator', () => {
  const builtIn = new Map([
    ['x/a.nix', '{ name = {{hostname}}; }\n{{> end}}\n'],
    ['x/end.nix', '# {{shown hostname}}\n'],
    ['x/b.json', '{"domain": {{domain}} }'],
  ]);
  const { controlPlane, worker } = SAMPLE_PLANS;
  const checked = (overrides: Record<string, string>) =>
    checkOverrides({
      builtIn,
      overrides: new Map(Object.entries(overrides)),
      plans: [controlPlane, worker],
      render: (plan, templates) => ['x/a.nix', 'x/b.json'].map((name) => templates.render(name, plan)),
    });

  it('replace ours by name, including parts', () => {
    const templates = compileTemplates(builtIn, new Map([['x/end.nix', '# it is {{shown hostname}}\n']]));
    expect(templates.render('x/a.nix', { hostname: 'node01' })).toBe('{ name = "node01"; }\n# it is node01\n');
    expect(checked({ 'x/end.nix': '# it is {{shown hostname}}\n' })).toEqual([]);
  });

  it('are tested on real nodes, and every problem has template, line, field and node', () => {
    const problems = checked({
      'x/a.nix': '{\n  name = {{hostname}};\n  a = {{nowhere}};\n  b = {{gone.too}};\n}\n',
      'x/b.json': '{"domain": {{domain}}, "x": {{missing}} }',
    });
    expect(problems.map(({ template, line, field, node, reason }) => [template, line, field, node, reason])).toEqual(
      [controlPlane.hostname, worker.hostname].flatMap((node) => [
        ['x/a.nix', 3, 'nowhere', node, 'is missing'],
        ['x/a.nix', 4, 'gone.too', node, 'is missing'],
        ['x/b.json', 1, 'missing', node, 'is missing'],
        ['x/b.json', null, null, node, expect.stringContaining('renders text that is not JSON')],
      ]),
    );
    expect(problems[0]?.message).toBe(`template x/a.nix, line 3: nowhere is missing (for ${controlPlane.hostname})`);
  });

  it('report all their errors at once, including those they cause in ours, and the rest is still tested', () => {
    const problems = checked({
      'x/end.nix': '"{{hostname}}"\n',
      'x/c.nix': '{ }',
      'x/b.json': '{{domain}} {{oops}}',
    });
    expect(problems.map(({ message }) => message)).toEqual([
      'template x/a.nix, in its part x/end.nix, line 1: has a value between quotes of the template; a value adds its own quotes',
      'template x/end.nix, line 1: has a value between quotes of the template; a value adds its own quotes',
      'template x/b.json, line 1: has a value directly after other text',
      'template x/c.nix: replaces no template, and no template includes it',
    ]);
  });
});

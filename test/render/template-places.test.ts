// Where a value may be in a template of each format. What is rejected here would break out of the rendered text, or break it.

import { describe, expect, it } from 'vitest';
import { compileTemplates } from '../../appliance/render/templates.ts';

const load = (extension: string, source: string) => compileTemplates(new Map([[`x/x.${extension}`, source]]));

const ACCEPTED: readonly [extension: string, source: string][] = [
  ['nix', '{ a = {{x}}; }'],
  ['nix', '{ a.{{x}}.b = [ {{x}} {{x}} ]; }'],
  ['nix', '{{x}}'],
  ['nix', '# {{shown x}}\n{ }'],
  ['nix', `{ a = "b\${toString 1}"; c = ''d \${"e"} ''\${f} ''' ''; g = {{x}}; }`],
  ['nix', `{ a = "\\"\\\${"; b = "$\${"; c = {{x}}; }`],
  ['nix', '/* " */ {{x}}'],
  ['nix', '[{{#each x}} {{this}}{{/each}} ]'],
  ['json', '{"a": {{x}}, "b": [{{x}}, {{x}}] }'],
  ['json', '{"a\\"": {{x}} }'],
  ['json', '[{{#each x}}{{this}}{{#unless @last}}, {{/unless}}{{/each}}]'],
  ['json', '[{{#each x}}{{#unless @first}}, {{/unless}}{{this}}{{else}}{{x}}{{/each}}]'],
  ['yaml', 'a: {{x}}\nb:\n  - {{x}}\n  - [{{x}}, {{x}}]\n{{x}}: c\n'],
  ['yaml', 'a: "b"\nc: {{x}} # {{shown x}}\n'],
  ['yaml', "a: it's\nb: {{x}}\n"],
  ['yaml', 'a: |\n  text "\nb: {{x}}\n'],
  ['yaml', 'a:\n  - b: >-\n      text\n    c: {{x}}\n'],
  ['yaml', '- |\n  text\n- {{x}}\n'],
  ['sh', 'x={{x}}\nf --y={{x}} {{x}} \\\n  {{x}}\n# {{shown x}}\n'],
  ['sh', `rm -f "$root"{{x}} "\${a:-"b"}"\n`],
  ['sh', "y=$(f {{x}}) # it's\ncase $y in a) z={{x}} ;; esac\n"],
  ['sh', "cat <<'EOF'\nit's \"\nEOF\nx={{x}}\n"],
  ['sh', 'echo "$(f "a")" \'"\' {{x}}\n'],
  ['env', '# {{shown x}}\nA={{x}}\nexport B={{x}}\n'],
  ['service', '[Service]\n# {{shown x}}\nDescription=a {{shown x}}\nExecStart={{x}} -a {{x}}\n'],
  ['zone', '{{x}} 3600 IN A {{x}}\n@ TXT {{shown x}} ; it is\n@ SOA a. b. ( {{x}} 1 )\n'],
  ['hosts', '{{x}}\t{{x}} {{x}} # {{shown x}}\n'],
  ['nft', '# {{shown x}}\nip saddr {{x}} tcp dport { {{x}}, 2 } iifname {{x}} accept;\n'],
];

const REFUSED: readonly [extension: string, source: string, why: RegExp][] = [
  ['nix', '{ a = "{{x}}"; }', /its own quotes/],
  ['nix', "{ a = ''\n{{x}}\n''; }", /its own quotes/],
  ['nix', `{ a = "\${b}{{x}}"; }`, /its own quotes/],
  ['nix', "{ a = ''it''\\n ''' ''$ {{x}}''; }", /its own quotes/],
  ['nix', '# {{x}}', /in a comment/],
  ['nix', '/* {{x}} */ 1', /in a comment/],
  ['nix', '/* {{shown x}} */ 1', /outside a comment/],
  ['nix', '{ a = {{shown x}}; }', /outside a comment/],
  ['nix', '{ a = b{{x}}; }', /directly after/],
  ['nix', '{ a = {{x}}b; }', /directly after a value/],
  ['nix', '{ a = {{x}}{{x}}; }', /directly after/],
  ['nix', '{ a = "b; }', /open at its end/],
  ['nix', '{ a = {{#if x}}"{{/if}}{{x}}; }', /its own quotes/],
  ['nix', '{ a = {{#if x}}"b{{else}}c{{/if}}; d = {{x}}; }', /its own quotes/],
  ['json', '{"a": "{{x}}"}', /its own quotes/],
  ['json', '{"a": 1{{x}} }', /directly after/],
  ['json', '{"a": {{x}}1}', /directly after a value/],
  ['json', '{"a": {{shown x}} }', /no comments/],
  ['json', '{"a": "b', /open at its end/],
  ['yaml', 'a: "{{x}}"', /its own quotes/],
  ['yaml', "a: '{{x}}'", /its own quotes/],
  ['yaml', 'a: b {{x}}', /inside a text/],
  ['yaml', 'a: b{{x}}', /inside a text/],
  ['yaml', 'a:{{x}}', /inside a text/],
  ['yaml', 'a: {{x}} b', /directly after a value/],
  ['yaml', 'a: {{x}}b', /directly after a value/],
  ['yaml', 'a: |\n  {{x}}\n', /block of text/],
  ['yaml', 'a: >-\n  b\n  {{x}}\n', /block of text/],
  ['yaml', '- |\n {{x}}\n', /block of text/],
  ['yaml', '# {{x}}', /in a comment/],
  ['yaml', 'a: {{shown x}}', /outside a comment/],
  ['sh', 'echo "{{x}}"', /its own quotes/],
  ['sh', "echo '{{x}}'", /its own quotes/],
  ['sh', `echo "$(f {{x}})"\necho "\${a:-{{x}} }"`, /its own quotes/],
  ['sh', 'echo "$(f "{{x}}")"', /its own quotes/],
  ['sh', 'cat <<EOF\n{{x}}\nEOF\n', /here-document/],
  ['sh', "cat <<-'EOF'\n\ta {{x}}\n\tEOF\n", /here-document/],
  ['sh', '# {{x}}', /in a comment/],
  ['sh', 'f {{shown x}}', /outside a comment/],
  ['sh', '{{x}} --all', /where a command is expected/],
  ['sh', 'if a; then {{x}}; fi', /where a command is expected/],
  ['sh', 'a | {{x}}', /where a command is expected/],
  ['sh', 'echo $' + '{{x}}', /directly after/],
  ['sh', 'echo \\\\{{x}}', /its own quotes/],
  ['json', '[{{#each x}}{{this}}{{#if @last}}, {{/if}}{{/each}}]', /directly after/],
  ['sh', 'echo `f {{x}}`', /backquote/],
  ['sh', "echo $'a'", /not POSIX/],
  ['sh', 'x=$(case $y in a) f {{x}} ;; esac)', /a case inside parentheses/],
  ['sh', 'echo "a', /open at its end/],
  ['env', 'A="{{x}}"', /not directly after NAME=/],
  ['env', 'A={{x}} B={{x}}', /directly after a value/],
  ['env', '# {{x}}', /not directly after/],
  ['service', 'ExecStart=/bin/a "{{x}}"', /its own quotes/],
  ['service', 'ExecStart=/bin/{{x}}', /directly after other text/],
  ['service', 'ExecStart={{x}}b', /directly after a value/],
  ['service', '{{x}}=1', /after Key=/],
  ['service', '[{{x}}]', /after Key=/],
  ['service', '# {{x}}', /in a comment/],
  ['zone', 'a TXT "{{x}}"', /its own quotes/],
  ['zone', 'a A {{x}}.b', /directly after a value/],
  ['zone', '{{shown x}} A 1', /where a name is expected/],
  ['zone', '; {{x}}', /in a comment/],
  ['hosts', '1.2.3.4 a{{x}}', /directly after/],
  ['hosts', '# {{x}}', /in a comment/],
  ['nft', 'iifname "{{x}}"', /its own quotes/],
  ['nft', '{{x}} accept', /where a keyword is expected/],
  ['nft', '# {{x}}', /in a comment/],
];

describe('a value in a template', () => {
  it.each(ACCEPTED)('is accepted here: .%s %j', (extension, source) => {
    expect(() => load(extension, source)).not.toThrow();
  });

  it.each(REFUSED)('is rejected here: .%s %j', (extension, source, why) => {
    expect(() => load(extension, source)).toThrow(why);
  });

  it('is rejected with its line number', () => {
    expect(() => load('nix', '{\n  a = 1;\n  b = "{{x}}";\n}')).toThrow('template x/x.nix, line 3: ');
  });

  it('is checked through parts', () => {
    const sources = new Map([
      ['x/x.nix', '{ a = "{{> quoted}}\n"; }'],
      ['x/quoted.nix', '{{x}}\n'],
    ]);
    expect(() => compileTemplates(sources)).toThrow('template x/x.nix, in its part x/quoted.nix, line 1: ');
  });

  it('can only be in a part of the same format', () => {
    const sources = new Map([
      ['x/x.nix', '{{> y.json}}'],
      ['x/y.json', '1'],
    ]);
    expect(() => compileTemplates(sources)).toThrow('the part x/y.json has another format');
  });
});

describe('a rendered text', () => {
  it('is rejected if its parser rejects it, without showing it', () => {
    expect(() => load('json', '[{{#if x}}{{y}}{{/if}},]').render('x/x.json', { x: true, y: 'hunter2' })).toThrow(
      /^(?!.*hunter2).*renders text that is not JSON/,
    );
    expect(() => load('yaml', '{{x}}: {{y}}\n{{x}}: 1\n').render('x/x.yaml', { x: 'a', y: 'hunter2' })).toThrow(
      /^(?!.*hunter2).*renders text that is not YAML: duplicated mapping key in line 2/,
    );
  });
});

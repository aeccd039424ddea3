// A value in the environment file is read back unchanged by a shell and by systemd.

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { environmentText } from '../../../appliance/render/bundle/bundle-env.ts';
import { needPackages } from '../../interop/packages.ts';
import { useScratchFolder } from '../../store/scratch-folder.ts';
import { readAsSystemd } from './systemd-environment.ts';

beforeAll(() => needPackages(['dash', 'bash', 'systemd']));

/** Any text that fits on one line, with many characters that are special to shells and systemd. */
const lineOf = fc
  .array(
    fc.oneof(
      fc.constantFrom(...[...'\'"\\$`!#;&|<>(){}[]*?~=%^ \t'], '\\n', '$(id)', '\u0024{HOME}', '\\\\', '"\'', "'\\''"),
      fc.string({ unit: 'grapheme', maxLength: 5 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))
  .filter((text) => isWritable(text));

function isWritable(text: string): boolean {
  try {
    environmentText('T_', [['V', text]]);
    return true;
  } catch {
    return false;
  }
}

const manyLines = fc.array(lineOf, { minLength: 1, maxLength: 40 });
const named = (values: readonly string[]): [string, string][] => values.map((value, index) => [`V${index}`, value]);

describe('the environment file', () => {
  const scratch = useScratchFolder();

  it.each(['dash', 'bash'])('is read back by %s unchanged', (shell) => {
    fc.assert(
      fc.property(manyLines, (values) => {
        const file = scratch('node-agent.env');
        writeFileSync(file, environmentText('T_', named(values)));
        const shown = values.map((_, index) => `"$T_V${index}"`).join(' ');
        const { stdout, stderr } = spawnSync(shell, ['-c', `. "$0"; printf '%s\\0' ${shown}`, file]);
        expect(stderr.toString()).toBe('');
        expect(stdout.toString().split('\0').slice(0, -1)).toEqual(values);
      }),
      { numRuns: 40 },
    );
  });

  it('is read as systemd.exec(5) describes EnvironmentFile=', () => {
    fc.assert(
      fc.property(manyLines, (values) => {
        const read = readAsSystemd(environmentText('T_', named(values)));
        expect([...read.values()]).toEqual(values);
        expect([...read.keys()]).toEqual(values.map((_, index) => `T_V${index}`));
      }),
    );
  });

  it("is read by systemd's own parser, as far as it can be tested", () => {
    // environment.d(5) uses the same parser, and then expands variables: so no dollar sign here. The generator prints one
    // assignment per line, and escapes special characters as $'…' with C escapes: so none of these.
    const plain = fc.stringMatching(/^[\w./:@%+=,-][\w./:@%+=, "'#;&|()-]{0,20}[\w./:@%+=,-]$/);
    fc.assert(
      fc.property(fc.array(plain, { minLength: 1, maxLength: 30 }), (values) => {
        const folder = scratch('config/environment.d');
        mkdirSync(folder, { recursive: true });
        writeFileSync(`${folder}/50-test.conf`, environmentText('T_', named(values)));
        const generator = '/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator';
        const { stdout, status } = spawnSync(generator, [], {
          env: { XDG_CONFIG_HOME: scratch('config'), PATH: '/usr/bin:/bin', HOME: scratch('home') },
          encoding: 'utf8',
        });
        expect(status).toBe(0);
        const shell = `${stdout}\nprintf '%s\\0' ${values.map((_, index) => `"$T_V${index}"`).join(' ')}`;
        const printed = spawnSync('bash', ['-c', shell], { encoding: 'utf8' }).stdout;
        expect(printed.split('\0').slice(0, -1)).toEqual(values);
      }),
      { numRuns: 25 },
    );
  });

  it.each([
    ['a line end', 'a\nB=c'],
    ['a carriage return', 'a\rb'],
    ['a NUL', 'a\0b'],
    ['an unpaired surrogate', 'a\ud800'],
    ['an escape', '\u001b[31m'],
  ])('rejects a value with %s', (_what, value) => {
    expect(() => environmentText('T_', [['V', value]])).toThrow(/^T_V has /);
  });
});

// GRUB's own parser over every configuration that we issue.

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { needPackages } from '../packages.ts';

beforeAll(() => needPackages(['grub-common']));

const GOLDENS = join(import.meta.dirname, '../../boot/replies/goldens');

describe('the GRUB configurations', () => {
  it.each(readdirSync(GOLDENS).filter((name) => name.endsWith('.cfg')))('parse: %s', (name) => {
    const { status, stdout, stderr } = spawnSync('grub-script-check', [join(GOLDENS, name)], { encoding: 'utf8' });
    expect({ status, output: `${stdout}${stderr}` }).toEqual({ status: 0, output: '' });
  });
});

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isQuick, LEFT_OUT, quickFiles } from './quick-files.ts';

const ROOT = join(import.meta.dirname, '..');

describe('the quick run', () => {
  it.each([
    ['test/boot/decide-boot.test.ts', true, 'needs nothing'],
    ['test/api/nodes.test.ts', true, 'listens on loopback only'],
    ['test/bmc/ipmi/openipmi.test.ts', false, 'installs packages'],
    ['test/bmc/redfish/fuzz.test.ts', false, 'installs a package through the rig that it imports'],
    ['test/servers/node-api/enroll.test.ts', false, 'starts the appliance through the site that it imports'],
    ['test/onboarding/life-bios.test.ts', false, 'boots a virtual machine'],
    ['test/store/crash.test.ts', false, 'takes minutes'],
  ])('%s: %s, because it %s', (file, quick) => {
    expect(existsSync(join(ROOT, file))).toBe(true);
    expect(isQuick(file)).toBe(quick);
  });

  it('has most of the unit tests', () => {
    expect(quickFiles().length).toBeGreaterThan(150);
  });

  it('leaves out only files that exist', () => {
    expect(Object.keys(LEFT_OUT).filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });
});

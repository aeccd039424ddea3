import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canShareProcess, isQuick, LEFT_OUT, quickFiles } from './quick-files.ts';

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

describe('a process', () => {
  it.each([
    ['test/boot/decide-boot.test.ts', true, 'changes nothing outside itself'],
    ['test/servers/http-boot/limits.test.ts', false, 'counts the open files of its process'],
    ['test/servers/tftp/tftp-server.test.ts', false, 'counts them through the rig that it imports'],
    ['test/machines/runner.test.ts', false, 'replaces functions of an object'],
    ['test/bmc/redfish/vendors.test.ts', true, 'only needs a package'],
    ['test/interop/nix/modules.test.ts', true, 'only needs a package'],
    ['test/interop/http/peers.test.ts', false, 'counts the memory of its process'],
    ['test/servers/node-api/enroll.test.ts', false, 'starts the appliance'],
    ['test/store/crash.test.ts', false, 'takes minutes'],
    ['test/lab/rack/bmc.test.ts', false, 'boots a virtual machine'],
    ['test/onboarding/life-bios.test.ts', false, 'boots a virtual machine'],
  ])('is shared by %s: %s, because it %s', (file, shared) => {
    expect(existsSync(join(ROOT, file))).toBe(true);
    expect(canShareProcess(file)).toBe(shared);
  });

  it('is shared by most of the unit tests', () => {
    expect(quickFiles().filter(canShareProcess).length).toBeGreaterThan(150);
  });
});

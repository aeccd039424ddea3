// Starts test files that take minutes first, so that the run does not end with one of them: virtual machines that boot, and
// processes that are killed many times.

import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest first, by CPU time. */
const LONG = [
  '/test/onboarding/life-bios.test.ts',
  '/test/onboarding/life-uefi.test.ts',
  '/test/onboarding/power-cut.test.ts',
  '/test/onboarding/faults.test.ts',
  '/test/lab/rack/service-os.test.ts',
  '/test/lab/rack/boot.test.ts',
  '/test/process/crash.test.ts',
  '/test/interop/dhcp/load.test.ts',
  '/test/faults/faults.test.ts',
  '/test/onboarding/',
  '/test/lab/rack/',
];

/** Its place in the list; everything else comes after it. */
function placeOf(file: string): number {
  const place = LONG.findIndex((path) => file.includes(path));
  return place === -1 ? LONG.length : place;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((one, other) => placeOf(one.moduleId) - placeOf(other.moduleId));
  }
}

// Starts test files that take minutes first, so that the run does not end with one of them: virtual machines that boot, and
// processes that are killed fifty times.

import { BaseSequencer, type TestSpecification } from 'vitest/node';

const LONG = ['/test/onboarding/', '/test/lab/rack/', '/test/process/crash.test.ts', '/test/interop/dhcp/load.test.ts'];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONG.some((path) => moduleId.includes(path));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

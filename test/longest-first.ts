// Machines that really boot take minutes. They begin first, so that nobody waits at the end for one that began last.

import { BaseSequencer, type TestSpecification } from 'vitest/node';

const MACHINES = ['/test/onboarding/', '/test/rack/'];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const boots = ({ moduleId }: TestSpecification) => MACHINES.some((folder) => moduleId.includes(folder));
    return [...sorted.filter(boots), ...sorted.filter((file) => !boots(file))];
  }
}

// `npm run test:quick`: unit tests only. No root, no QEMU, no network namespaces, no packages to install.

import { defineConfig } from 'vitest/config';
import { canShareProcess, quickFiles } from './quick-files.ts';
import full from './vitest.config.ts';

const own = quickFiles().filter((file) => !canShareProcess(file));
const [sharing] = full.test?.projects ?? [];
if (sharing === undefined) throw new Error('vitest.config.ts names no files that share a process');

export default defineConfig({
  test: {
    ...full.test,
    reporters: ['default'],
    projects: [sharing, { extends: true, test: { name: 'own process', include: own } }],
  },
});

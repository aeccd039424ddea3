// `npm run test:quick`: unit tests only. No root, no QEMU, no network namespaces, no packages to install.

import { defineConfig } from 'vitest/config';
import { canShareProcess, quickFiles } from './quick-files.ts';
import full from './vitest.config.ts';

const [sharing, own] = [true, false].map((shared) => quickFiles().filter((file) => canShareProcess(file) === shared));

export default defineConfig({
  test: {
    ...full.test,
    reporters: ['default'],
    projects: [
      { extends: true, test: { name: 'shared process', include: sharing ?? [], isolate: false } },
      { extends: true, test: { name: 'own process', include: own ?? [] } },
    ],
  },
});

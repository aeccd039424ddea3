// `npm run test:quick`: unit tests only. No root, no QEMU, no network namespaces, no packages to install.

import { defineConfig } from 'vitest/config';
import { quickFiles } from './quick-files.ts';
import full from './vitest.config.ts';

export default defineConfig({
  test: { ...full.test, include: quickFiles(), reporters: ['default'] },
});

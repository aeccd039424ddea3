// Real firmware and a real `coldiron serve`: from power-on to a kernel that reports. Needs root, and the network for a
// minute in the first run, for Debian packages. One machine at a time: each uses a whole processor.

import { vi } from 'vitest';
import { bootsBesideOtherServer, bootsThroughRelay } from './boots/neighbours.ts';
import { plainBoots } from './boots/plain.ts';
import { signedBoots } from './boots/signed.ts';
import { LAST_RESORT_MS } from './fair-clock.ts';

// The first run builds loaders and kernels. A boot that hangs ends earlier, by its own limit.
vi.setConfig({ testTimeout: LAST_RESORT_MS, hookTimeout: LAST_RESORT_MS });

plainBoots();
signedBoots();
bootsBesideOtherServer();
bootsThroughRelay();

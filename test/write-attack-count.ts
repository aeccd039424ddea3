// The part of `npm run docs` that writes the number of attacks to docs/security.md.

import { readFileSync, writeFileSync } from 'node:fs';
import { countAttacks, withAttackCount } from './attack-tally.ts';

const file = new URL('../docs/security.md', import.meta.url);
writeFileSync(file, withAttackCount(readFileSync(file, 'utf8'), await countAttacks()));

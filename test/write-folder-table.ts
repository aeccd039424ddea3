// The part of `npm run docs` that writes the folder table of docs/ARCHITECTURE.md.

import { readFileSync, writeFileSync } from 'node:fs';
import { withFolderTable } from './layers.ts';

const file = new URL('../docs/ARCHITECTURE.md', import.meta.url);
writeFileSync(file, withFolderTable(readFileSync(file, 'utf8')));

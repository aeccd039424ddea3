// The folder of the operator's templates, `templates:` in the site file. Same layout as the appliance's: nixos/, installers/, site/.

import { lstatSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { readTemplateFiles } from '../assets/template-files.ts';
import { shown } from '../domain/parsed.ts';
import type { TemplateSources } from '../render/templates.ts';

/** Boot and enrollment templates cannot be replaced: other components depend on their exact contents. */
const REPLACEABLE = ['nixos', 'installers', 'site'];
const LARGEST_BYTES = 1024 * 1024;
const MOST_FILES = 500;

export function readOverrides(folder: string): {
  readonly sources: TemplateSources;
  readonly problems: readonly string[];
} {
  try {
    const problems = problemsIn(folder);
    return { sources: problems.length === 0 ? readTemplateFiles(folder) : new Map(), problems };
  } catch (error) {
    return { sources: new Map(), problems: [`the templates cannot be read: ${(error as Error).message}`] };
  }
}

function problemsIn(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => !/(?:^|\/)\./.test(relative(folder, file)) && !lstatSync(file).isDirectory());
  if (files.length > MOST_FILES) return [`${folder} has ${files.length} files; at most ${MOST_FILES} are allowed`];
  return files.flatMap((file) => {
    const name = relative(folder, file);
    const found = lstatSync(file);
    if (!REPLACEABLE.includes(name.split('/')[0] ?? '') || !name.endsWith('.hbs')) {
      const where = REPLACEABLE.map((one) => `${one}/`).join(', ');
      return [`${shown(name)} is not a replaceable template: those are below ${where} and end in .hbs`];
    }
    if (!found.isFile()) return [`${shown(name)} is not a file`];
    return found.size > LARGEST_BYTES ? [`${shown(name)} is larger than ${LARGEST_BYTES} bytes`] : [];
  });
}

// The files of a site besides its nodes, rendered from the example with changes.

import { BUILT_IN_TEMPLATES, readTemplateFiles } from '../../../appliance/assets/template-files.ts';
import type { RenderedFile } from '../../../appliance/render/rendered-file.ts';
import { renderSite } from '../../../appliance/render/site/render-site.ts';
import { compileTemplates } from '../../../appliance/render/templates.ts';
import { type ExampleDocument, indexOf, SITE } from '../plan-rack.ts';

export const TEMPLATES = compileTemplates(
  new Map([...readTemplateFiles(BUILT_IN_TEMPLATES)].filter(([name]) => name.startsWith('site/'))),
);

export const siteFiles = (change?: (document: ExampleDocument) => void, site = SITE): RenderedFile[] =>
  renderSite(indexOf(change), site, TEMPLATES);

export function siteFile(path: string, change?: (document: ExampleDocument) => void, site = SITE): string {
  const found = siteFiles(change, site).find((file) => file.path === path);
  if (!found) throw new Error(`${path} was not rendered`);
  return found.text;
}

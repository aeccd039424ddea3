import { BUILT_IN_TEMPLATES, readTemplateFiles } from '../../assets/template-files.ts';
import { compileTemplates, type Templates } from '../../render/templates.ts';

/** Read and compiled once; a template with a mistake ends the start, not a boot. */
export function readBootTemplates(): Templates {
  const sources = readTemplateFiles(BUILT_IN_TEMPLATES);
  return compileTemplates(new Map([...sources].filter(([name]) => /^(?:ipxe|grub)\//.test(name))));
}

/** All of them: what installed systems are made of, too. */
export const readTemplates = (): Templates => compileTemplates(readTemplateFiles(BUILT_IN_TEMPLATES));

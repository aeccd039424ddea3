import { BUILT_IN_TEMPLATES, readTemplateFiles } from '../../assets/template-files.ts';
import { compileTemplates, type Templates } from '../../render/templates.ts';

/** Read and compiled once; an invalid template fails the start of the appliance, not a boot. */
export function readBootTemplates(): Templates {
  const sources = readTemplateFiles(BUILT_IN_TEMPLATES);
  return compileTemplates(new Map([...sources].filter(([name]) => /^(?:ipxe|grub)\//.test(name))));
}

/** All templates, including those of installed systems. */
export const readTemplates = (): Templates => compileTemplates(readTemplateFiles(BUILT_IN_TEMPLATES));

// The template engine: Handlebars with everything taken out that could put a value into a text as it is. Each value goes
// through the format of its template; a template that tries another way is refused when it is loaded.
//
// HOW TO WRITE A TEMPLATE. A file templates/FOLDER/NAME.EXT.hbs is the template `FOLDER/NAME.EXT`, and EXT is its format
// (text-format.ts): nix, yaml, json, sh, env (NAME="…" for shells and systemd), conf and systemd's own extensions, zone,
// hosts, nft. Templates in ipxe/ and grub/ are of these formats whatever they are called.
//
//   {{value}}          the value as a complete literal of the format, with its quotes. Write `name = {{name}};`, never
//                      `name = "{{name}}";`: a value between the template's own quotes is refused when it is loaded.
//                      Before a closing brace leave a space: `{{x}} }`.
//                      nix, yaml and json take all plain data (texts, whole numbers, booleans, null, lists, sets).
//   {{shown value}}    words for people: for a screen (ipxe, grub), a comment (# … in nix, yaml, sh, env, hosts, nft), a
//                      Description= (conf), the text of a TXT record (zone).
//   {{#if x}} {{#unless x}} {{#each x}}, {{else}}, {{else if y}}, {{this}}, {{../x}}, {{@index}}, {{@key}}, {{@first}}, {{@last}}
//   {{> part}}         another template of the same folder and format, in place; `{{> part}}` in x.nix is FOLDER/part.nix.
//
// Nothing else is known. A value that is missing fails, also one that only chooses, also one behind a null: give null or false
// where there is none. Errors name the template, the line and the field, and never show a value that could be a secret.

import Handlebars from 'handlebars';
import { type Parsed, parsed, unparsable } from '../domain/parsed.ts';
import type { TextFormat } from './formats/format.ts';
import { TemplateError, templateMistake } from './template-error.ts';
import { KNOWN_HELPERS, type PlaceHash, readTemplate, STEP_PREFIX } from './template-reader.ts';
import { TEXT_FORMATS, type TextFormatName } from './text-format.ts';

export interface Templates {
  /** Throws a TemplateError when a value is missing or cannot be put into the text. */
  render(name: string, values: object): string;
}

export type TemplateSources = ReadonlyMap<string, string>;

/** Handlebars' default; said out loud, it does not write to the console about it. */
const OWN_PROPERTIES_ONLY = { allowProtoPropertiesByDefault: false, allowProtoMethodsByDefault: false };

/** Templates of the same name in `overrides` take the place of those in `sources`. Throws at the first mistake. */
export function compileTemplates(sources: TemplateSources, overrides: TemplateSources = new Map()): Templates {
  return compileReporting(new Map([...sources, ...overrides]), (mistake) => {
    throw mistake;
  });
}

/**
 * What goes wrong in a rendering is reported; where the report comes back, an empty text stands in the value's place. A mistake
 * in a template itself is thrown.
 */
export function compileReporting(sources: TemplateSources, report: Report): Templates {
  const environments = new Map<TextFormatName, typeof Handlebars>();
  const compiled = new Map<string, (values: object) => string>();
  for (const name of sources.keys()) {
    const { program, format } = readTemplate(sources, name);
    const environment = environments.get(format) ?? environmentFor(TEXT_FORMATS[format], report);
    environments.set(format, environment);
    const template = environment.compile(program, {
      noEscape: true,
      knownHelpersOnly: true,
      knownHelpers: KNOWN_HELPERS,
    });
    compiled.set(name, (values) => {
      const text = template(values, OWN_PROPERTIES_ONLY);
      const problem = TEXT_FORMATS[format].problemOf?.(text) ?? null;
      if (problem !== null) report(templateMistake(name, `renders what ${problem}`));
      return text;
    });
  }
  return {
    render: (name, values) => {
      const template = compiled.get(name);
      if (!template) throw new Error(`there is no template ${name}`);
      return template(values);
    },
  };
}

type Report = (mistake: TemplateError) => void;

interface HelperOptions {
  readonly hash: PlaceHash;
}

/** What goes into the text, or why nothing can. */
type Helper = (value: unknown, options: HelperOptions, context: unknown) => Parsed<string>;

function environmentFor(format: TextFormat, report: Report): typeof Handlebars {
  const environment = Handlebars.create();
  for (const builtIn of ['lookup', 'log', 'with']) environment.unregisterHelper(builtIn);
  const register = (name: string, helper: Helper): void => {
    environment.registerHelper(name, function (this: unknown, value: unknown, options: HelperOptions) {
      const made = isMissing(value, options.hash) ? unparsable('is missing') : helper(value, options, this);
      if (made.ok) return made.value;
      report(new TemplateError(options.hash, made.reason));
      return '';
    });
  };
  for (const name of ['if', 'unless', 'each']) register(name, blockOf(environment, name));
  register('literal', (value) => format.literal(value));
  register('shown', (value) =>
    typeof value === 'string' || typeof value === 'number'
      ? parsed(format.shown(String(value)))
      : unparsable('is neither text nor a number'),
  );
  return environment;
}

/** Handlebars' own block, which takes anything for a list. */
function blockOf(environment: typeof Handlebars, name: string): Helper {
  const original = environment.helpers[name] as (this: unknown, value: unknown, options: HelperOptions) => string;
  return (value, options, context) => {
    if (name === 'each' && (typeof value !== 'object' || value === null)) {
      return unparsable('is neither a list nor a set');
    }
    return parsed(original.call(context, value, options));
  };
}

/** Handlebars passes over a null on the way to a value; here every step on the way is looked at. */
function isMissing(value: unknown, hash: PlaceHash): boolean {
  if (value === undefined) return true;
  // A loop, because every value of every rendering comes by here.
  for (const name in hash) {
    if (name.startsWith(STEP_PREFIX) && (hash[name as keyof PlaceHash] ?? null) === null) return true;
  }
  return false;
}

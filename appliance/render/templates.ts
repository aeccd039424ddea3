// The template engine: Handlebars without everything that could insert a value unescaped. Each value goes through the format
// of its template; a template that tries another way is rejected when it is loaded.
//
// HOW TO WRITE A TEMPLATE. A file templates/FOLDER/NAME.EXT.hbs is the template `FOLDER/NAME.EXT`, and EXT is its format
// (text-format.ts): nix, yaml, json, sh, env (NAME="…" for shells and systemd), conf and systemd's own extensions, zone,
// hosts, nft. Templates in ipxe/ and grub/ have these formats whatever their names.
//
//   {{value}}          the value as a complete literal of the format, with its quotes. Write `name = {{name}};`, never
//                      `name = "{{name}}";`: a value between the template's own quotes is rejected at load.
//                      Before a closing brace leave a space: `{{x}} }`.
//                      nix, yaml and json accept all plain data (strings, integers, booleans, null, lists, sets).
//   {{shown value}}    text for people: for a screen (ipxe, grub), a comment (# … in nix, yaml, sh, env, hosts, nft), a
//                      Description= (conf), the text of a TXT record (zone).
//   {{#if x}} {{#unless x}} {{#each x}}, {{else}}, {{else if y}}, {{this}}, {{../x}}, {{@index}}, {{@key}}, {{@first}}, {{@last}}
//   {{> part}}         includes another template of the same folder and format; `{{> part}}` in x.nix is FOLDER/part.nix.
//
// Nothing else is allowed. A missing value is an error, also in a condition and also below a null: pass null or false if there
// is none. Errors name the template, the line and the field, and never show a value that could be a secret.

import Handlebars from 'handlebars';
import { type Parsed, parsed, unparsable } from '../domain/parsed.ts';
import type { TextFormat } from './formats/format.ts';
import { TemplateError, templateError } from './template-error.ts';
import { KNOWN_HELPERS, type PlaceHash, readTemplate, STEP_PREFIX } from './template-reader.ts';
import { TEXT_FORMATS, type TextFormatName } from './text-format.ts';

export interface Templates {
  /** Throws a TemplateError if a value is missing or cannot be inserted. */
  render(name: string, values: object): string;
}

export type TemplateSources = ReadonlyMap<string, string>;

/** Handlebars' default; set explicitly, it does not log a warning. */
const OWN_PROPERTIES_ONLY = { allowProtoPropertiesByDefault: false, allowProtoMethodsByDefault: false };

/** Templates in `overrides` replace those of the same name in `sources`. Throws at the first error. */
export function compileTemplates(sources: TemplateSources, overrides: TemplateSources = new Map()): Templates {
  return compileReporting(new Map([...sources, ...overrides]), (mistake) => {
    throw mistake;
  });
}

/**
 * Reports errors of a rendering; if `report` returns, an empty text replaces the value. Throws an error in a template
 * itself.
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
      if (problem !== null) report(templateError(name, `renders text that ${problem}`));
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

/** The text to insert, or why nothing can be inserted. */
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

/** Handlebars' own block helper, which accepts anything as a list. */
function blockOf(environment: typeof Handlebars, name: string): Helper {
  const original = environment.helpers[name] as (this: unknown, value: unknown, options: HelperOptions) => string;
  return (value, options, context) => {
    if (name === 'each' && (typeof value !== 'object' || value === null)) {
      return unparsable('is neither a list nor a set');
    }
    return parsed(original.call(context, value, options));
  };
}

/** Handlebars ignores a null on the path to a value; here every step of the path is checked. */
function isMissing(value: unknown, hash: PlaceHash): boolean {
  if (value === undefined) return true;
  // A loop for speed: every value of every rendering passes here.
  for (const name in hash) {
    if (name.startsWith(STEP_PREFIX) && (hash[name as keyof PlaceHash] ?? null) === null) return true;
  }
  return false;
}

// What is wrong with a template, or with a value in it, and where.

export interface TemplatePlace {
  /** The template that was asked for. */
  readonly template: string;
  /** Where the placeholder stands: in the same template, or in a part that it takes in. */
  readonly file: string;
  readonly line: number | null;
  /** The value as the template names it. */
  readonly field: string | null;
}

export class TemplateError extends Error {
  readonly place: TemplatePlace;
  readonly reason: string;

  constructor(place: TemplatePlace, reason: string) {
    super(`${placeText(place)}: ${place.field === null ? '' : `${place.field} `}${reason}`);
    this.name = 'TemplateError';
    // Only these: what Handlebars passes along has more in it.
    this.place = { template: place.template, file: place.file, line: place.line, field: place.field };
    this.reason = reason;
  }
}

function placeText({ template, file, line }: TemplatePlace): string {
  const at = line === null ? '' : `, line ${line}`;
  return file === template ? `template ${template}${at}` : `template ${template}, in its part ${file}${at}`;
}

/** A mistake of the whole template, in no line of its own. */
export const templateMistake = (template: string, reason: string): TemplateError =>
  new TemplateError({ template, file: template, line: null, field: null }, reason);

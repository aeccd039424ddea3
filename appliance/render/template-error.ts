// An error in a template or in a value, with its location.

export interface TemplatePlace {
  /** The template that was rendered. */
  readonly template: string;
  /** The file with the placeholder: the template itself, or a part that it includes. */
  readonly file: string;
  readonly line: number | null;
  /** The value, as named in the template. */
  readonly field: string | null;
}

export class TemplateError extends Error {
  readonly place: TemplatePlace;
  readonly reason: string;

  constructor(place: TemplatePlace, reason: string) {
    super(`${placeText(place)}: ${place.field === null ? '' : `${place.field} `}${reason}`);
    this.name = 'TemplateError';
    // Copies only these fields: the object from Handlebars has more.
    this.place = { template: place.template, file: place.file, line: place.line, field: place.field };
    this.reason = reason;
  }
}

function placeText({ template, file, line }: TemplatePlace): string {
  const at = line === null ? '' : `, line ${line}`;
  return file === template ? `template ${template}${at}` : `template ${template}, in its part ${file}${at}`;
}

/** An error of the whole template, without a line. */
export const templateError = (template: string, reason: string): TemplateError =>
  new TemplateError({ template, file: template, line: null, field: null }, reason);

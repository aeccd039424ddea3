// One deliberate fault: a small change of the product that some test has to notice.

export interface Mutant {
  /** For `--only`, in kebab-case. */
  readonly name: string;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly source: string;
  readonly fault: string;
  /** The test files that have to notice: at least one of their tests has to fail. */
  readonly tests: readonly string[];
  /** Only tests whose full name contains this: for files where the others take long. */
  readonly titled?: string;
  /** What would happen to whoever runs an appliance with this fault. */
  readonly why: string;
}

/** The file with the fault in it; null: the source text does not occur exactly once. */
export function withFault(text: string, { source, fault }: Pick<Mutant, 'source' | 'fault'>): string | null {
  const at = text.indexOf(source);
  if (at === -1 || text.indexOf(source, at + 1) !== -1) return null;
  return text.slice(0, at) + fault + text.slice(at + source.length);
}

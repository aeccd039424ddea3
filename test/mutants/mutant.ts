// One deliberate fault: a small change of the code that some test must detect.

export interface Mutant {
  /** For `--only`, in kebab-case. */
  readonly name: string;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly source: string;
  readonly fault: string;
  /** The test files that must detect it: at least one of their tests must fail. */
  readonly tests: readonly string[];
  /** Runs only tests whose full name contains this: for files with slow tests. */
  readonly titled?: string;
  /** The consequence of this fault for an operator. */
  readonly why: string;
}

/** The file with the fault in it; null: the source text does not occur exactly once. */
export function withFault(text: string, { source, fault }: Pick<Mutant, 'source' | 'fault'>): string | null {
  const at = text.indexOf(source);
  if (at === -1 || text.indexOf(source, at + 1) !== -1) return null;
  return text.slice(0, at) + fault + text.slice(at + source.length);
}

// The stages of the demonstration, with the duration of each.

export interface Stages {
  /** Prints the stage's name, runs it, and prints its duration; `say` prints progress. */
  run<T>(name: string, work: (say: (line: string) => void) => Promise<T>): Promise<T>;
  readonly done: readonly { readonly name: string; readonly seconds: number }[];
}

export function stages(write: (text: string) => void, now: () => number): Stages {
  const done: { name: string; seconds: number }[] = [];
  return {
    done,
    run: async (name, work) => {
      const began = now();
      write(`\n${name}\n`);
      const result = await work((line) => write(`       ${line}\n`));
      const seconds = (now() - began) / 1000;
      done.push({ name, seconds });
      write(`       done in ${secondsInWords(seconds)}\n`);
      return result;
    },
  };
}

/** `1:05 min`, `4.2 s`. */
export function secondsInWords(seconds: number): string {
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')} min`;
}

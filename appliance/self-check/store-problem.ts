// Whether the store can be written: the result of its last write.

import type { FoundProblem } from '../domain/appliance-problem.ts';
import { shellWord } from './next-steps.ts';

export class StoreWrites {
  #failure: string | null = null;

  readonly onFailure = (reason: string): void => {
    this.#failure = reason;
  };

  readonly onWritten = (): void => {
    this.#failure = null;
  };

  /** `file`: of the store. */
  problems(file: string): FoundProblem[] {
    const reason = this.#failure;
    if (reason === null) return [];
    return [
      {
        id: 'store-failing',
        subject: file,
        words: `the store cannot be written, so machines wait and commands are refused: ${reason}`,
        nextStep: `df -h ${shellWord(file)}`,
        reason,
      },
    ];
  }
}

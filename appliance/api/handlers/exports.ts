// Handlers of the export of events.

import type { Handlers } from '../handler.ts';
import { deadLetterView, receiverView } from '../views/exports.ts';

export const exportHandlers: Handlers<'listExports' | 'listDeadLetters' | 'replayDeadLetters'> = {
  async listExports({ exports, clock }) {
    return { exports: (await exports.status()).map((status) => receiverView(status, clock.now())) };
  },

  async listDeadLetters({ exports, fleet }, { params, query: { after = 0, limit = 100 } }) {
    const letters = await exports.deadLetters(params.receiver, after, limit);
    return {
      dead_letters: letters.map((letter) => deadLetterView(letter, fleet)),
      next: letters.at(-1)?.event.seq ?? null,
    };
  },

  async replayDeadLetters({ exports }, { params, body, origin }) {
    return { replaying: await exports.replay(params.receiver, body.events ?? null, origin) };
  },
};

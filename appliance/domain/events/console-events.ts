// Events of captured consoles: what a machine said that is known to mean something.

import { Type } from 'typebox';
import { CONSOLE_STAGES } from '../console/signature.ts';
import { consoleMeaning } from '../console/signatures.ts';
import { rowsOf, text } from './event-row.ts';

const row = rowsOf('bmc');

export const CONSOLE_EVENTS = {
  'console.matched': row(
    'warning',
    { signature: text, stage: Type.Enum([...CONSOLE_STAGES]), line: text },
    ({ signature, line }) => {
      const means = consoleMeaning(signature)?.means ?? `it has printed a line of the kind ${signature}`;
      return `On its console, ${means}: ${line}`;
    },
  ),
  'console.not-captured': row('info', { because: text }, ({ because }) => `Serial console is not captured: ${because}`),
};

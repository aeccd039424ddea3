import { ColdironError } from '../domain/errors.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { chosenNodes, isSelecting, type SelectionOptions } from './node-selection.ts';
import { runOnMany } from './on-many.ts';
import { operate } from './operate.ts';

interface IdentifyOptions extends ConnectionOptions, SelectionOptions {}

/** The last word is `on`, `off` or so many seconds; without it the light is on. */
export async function identify(words: readonly string[], options: IdentifyOptions): Promise<void> {
  const last = words.at(-1);
  const isLight = last !== undefined && (isSelecting(options) || words.length > 1) && /^(on|off|-?\d+)$/.test(last);
  const light = isLight ? lightOf(last) : 'on';
  const meaning = typeof light === 'number' ? `on for ${light} s` : light;
  const connection = await connect(options);
  const undertaking = { verb: `identify ${meaning}`, destroys: null, needsBmc: true };
  const nodes = await chosenNodes(connection, isLight ? words.slice(0, -1) : words, options, undertaking);
  if (nodes === null) return;
  await runOnMany(nodes, options, {
    work: (node) => operate(connection, 'identifyNode', { params: { node }, body: { light } }),
    doing: 'identify …',
    done: ({ mode }) => `the light is ${meaning}${mode === 'recorder' ? ' (only written down)' : ''}`,
    json: (answer) => answer,
  });
}

function lightOf(text: string): 'on' | 'off' | number {
  if (text === 'on' || text === 'off') return text;
  const seconds = Number(text);
  if (seconds >= 1 && seconds <= 255) return seconds;
  throw new ColdironError('usage', `the light is on, off, or on for 1 to 255 seconds, not ${text}`);
}

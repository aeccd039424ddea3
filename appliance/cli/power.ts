import { POWER_ACTIONS, type PowerAction } from '../contract/power-actions.ts';
import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { chosenNodes, type SelectionOptions } from './node-selection.ts';
import { runOnMany } from './on-many.ts';
import { operate } from './operate.ts';

export interface PowerOptions extends ConnectionOptions, SelectionOptions {}

const STATUS = 'status';
/** Actions that stop a running machine without a shutdown. */
const HARD: readonly string[] = ['off', 'cycle', 'reset'];

/** The last word is the action, the words before it name nodes. */
export async function power(words: readonly string[], options: PowerOptions): Promise<void> {
  const action = actionOf(words.at(-1));
  const connection = await connect(options);
  const names = words.slice(0, -1);
  // A single node that was named needs no confirmation.
  const destroys = HARD.includes(action) && names.length !== 1 ? 'interrupts the operating system' : null;
  const undertaking = { verb: `power ${action}`, destroys, needsBmc: true, reads: action === STATUS };
  const nodes = await chosenNodes(connection, names, options, undertaking);
  if (nodes === null) return;
  await runOnMany(nodes, options, {
    work: (node) => sendPower(connection, node, action),
    doing: action === STATUS ? 'reading …' : `power ${action} …`,
    done: ({ power: state, mode, note }) =>
      `${mode === 'recorder' ? `${state} (recorded only)` : state}${note === undefined ? '' : `: ${note}`}`,
    json: ({ mode, power: state, note }) => ({ mode, power: state, ...(note !== undefined && { note }) }),
  });
}

function sendPower(
  connection: Connection,
  node: string,
  action: PowerAction | typeof STATUS,
): Promise<Answer<'getNodePower'>> {
  if (action === STATUS) return operate(connection, 'getNodePower', { params: { node } });
  return operate(connection, 'setNodePower', { params: { node }, body: { action } });
}

function actionOf(word: string | undefined): PowerAction | typeof STATUS {
  const known = [...POWER_ACTIONS, STATUS] as const;
  const action = known.find((each) => each === word);
  if (action === undefined) throw new ColdironError('usage', `the last word is the action: ${known.join(', ')}`);
  return action;
}

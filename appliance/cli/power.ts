import type { PowerAction } from '../api/schemas/bmc.ts';
import { ColdironError } from '../domain/errors.ts';
import { confirmed } from './confirmed.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { type SelectionOptions, selectNodes } from './node-selection.ts';
import { runOnMany } from './on-many.ts';

export interface PowerOptions extends ConnectionOptions, SelectionOptions {
  readonly yes?: boolean;
}

interface PowerAnswer {
  readonly node: string;
  readonly mode: 'real' | 'recorder';
  readonly power: string;
}

const ACTIONS = ['on', 'off', 'cycle', 'reset', 'soft'] as const satisfies readonly PowerAction[];
const STATUS = 'status';
/** What takes a running machine down without asking it. */
const HARD: readonly string[] = ['off', 'cycle', 'reset'];

/** The last word says what to do, the ones before name nodes. */
export async function power(words: readonly string[], options: PowerOptions): Promise<void> {
  const action = actionOf(words.at(-1));
  const connection = await connect(options);
  const nodes = await selectNodes(connection, words.slice(0, -1), options);
  if (nodes.length > 1 && HARD.includes(action)) {
    const means = `this takes ${nodes.length} nodes down without asking them (${preview(nodes)})`;
    await confirmed(String(nodes.length), { yes: options.yes, means, asked: `to do it to ${preview(nodes)}` });
  }
  await runOnMany(nodes, options, {
    work: (node) => requested(connection, node, action),
    doing: action === STATUS ? 'is asked' : `power ${action} …`,
    done: ({ power: state, mode }) => (mode === 'recorder' ? `${state} (only written down)` : state),
    json: ({ mode, power: state }) => ({ mode, power: state }),
  });
}

function requested(connection: Connection, node: string, action: PowerAction | typeof STATUS): Promise<PowerAnswer> {
  const path = `/api/v1/nodes/${encodeURIComponent(node)}/power`;
  return action === STATUS ? connection.get<PowerAnswer>(path) : connection.post<PowerAnswer>(path, { action });
}

function actionOf(word: string | undefined): PowerAction | typeof STATUS {
  const known = [...ACTIONS, STATUS] as const;
  const action = known.find((each) => each === word);
  if (action === undefined) throw new ColdironError('usage', `the last word says what to do: ${known.join(', ')}`);
  return action;
}

const SHOWN = 5;
const preview = (nodes: readonly string[]): string =>
  nodes.length <= SHOWN ? nodes.join(' ') : `${nodes.slice(0, SHOWN).join(' ')} and ${nodes.length - SHOWN} more`;

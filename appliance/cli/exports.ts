// The verbs of the export of events: state of the receivers, dead letters, replay.

import { ColdironError } from '../domain/errors.ts';
import type { Json } from '../domain/event.ts';
import { eventSentence } from '../domain/events/known-event.ts';
import { shown } from '../domain/parsed.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printJson, standardOutput, table } from './terminal.ts';

export async function listExports(options: ConnectionOptions): Promise<void> {
  const { exports } = await operate(await connect(options), 'listExports', {});
  const output = standardOutput();
  if (options.json) return printJson(output, exports);
  if (exports.length === 0) return output.write('No receivers: the site file names none under `export`.\n');
  const rows = exports.map((each) => [
    each.name,
    each.kind,
    each.state,
    each.lag_events === null ? '' : `${each.lag_events} (${each.lag_seconds} s)`,
    String(each.delivered),
    String(each.lost),
    String(each.dead_letters),
    each.last_error ?? '',
  ]);
  output.write(table(output, ['NAME', 'KIND', 'STATE', 'LAG', 'DELIVERED', 'LOST', 'DEAD', 'LAST ERROR'], rows));
}

export async function listDeadLetters(
  receiver: string,
  options: ConnectionOptions & { readonly limit: string },
): Promise<void> {
  const query = { limit: options.limit };
  const answer = await operate(await connect(options), 'listDeadLetters', { params: { receiver }, query });
  const output = standardOutput();
  if (options.json) return printJson(output, answer.dead_letters);
  if (answer.dead_letters.length === 0) return output.write(`${receiver} has refused nothing.\n`);
  const rows = answer.dead_letters.map(({ event, at, attempts, reason, replay }) => [
    String(event.seq),
    at,
    replay ? 'replay' : `${attempts} attempts`,
    reason,
    eventSentence({ kind: event.kind, actor: event.actor, data: event.data as Json }),
  ]);
  output.write(table(output, ['EVENT', 'AT', 'STATE', 'ANSWER', 'WHAT HAPPENED'], rows));
}

export async function replay(receiver: string, events: readonly string[], options: ConnectionOptions): Promise<void> {
  const numbers = events.map(eventNumber);
  const body = numbers.length === 0 ? {} : { events: numbers };
  const answer = await operate(await connect(options), 'replayDeadLetters', { params: { receiver }, body });
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  output.write(`${answer.replaying} dead letters will be sent to ${receiver} again.\n`);
}

function eventNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new ColdironError('usage', `an event is a number, as \`exports dead-letters\` lists it, not ${shown(text)}`);
}

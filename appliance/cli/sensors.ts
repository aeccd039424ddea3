import type { Answer } from '../contract/wire.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import type { SelectionOptions } from './node-selection.ts';
import { operate } from './operate.ts';
import { readNodes } from './read-nodes.ts';
import { type Output, type Style, styled, table } from './terminal.ts';

export async function sensors(names: readonly string[], options: ConnectionOptions & SelectionOptions): Promise<void> {
  const connection = await connect(options);
  await readNodes(connection, names, options, {
    verb: 'sensors',
    needsBmc: true,
    read: (node) => operate(connection, 'getNodeSensors', { params: { node } }),
    print: printSensors,
    alone: (answer) => answer.sensors,
  });
}

function printSensors(output: Output, answer: Answer<'getNodeSensors'>): void {
  if (answer.sensors.length === 0) {
    output.write(`The BMC of ${answer.node} reports no sensors.\n`);
    return;
  }
  const rows = answer.sensors.map(({ name, kind, value, unit, health, states }) => [
    name,
    kind,
    value === null ? '-' : `${Math.round(value * 1000) / 1000} ${unit}`.trim(),
    health,
    states.join(', '),
  ]);
  output.write(table(output, ['SENSOR', 'KIND', 'READING', 'HEALTH', 'STATES'], rows));
  const bad = answer.sensors.filter(({ health }) => health === 'warning' || health === 'critical');
  const style: Style = bad.some(({ health }) => health === 'critical') ? 'red' : 'yellow';
  if (bad.length > 0) output.write(`${styled(output, style, `${bad.length} sensors report warning or critical`)}\n`);
}

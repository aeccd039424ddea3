import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printJson, type Style, standardOutput, styled, table } from './terminal.ts';

export async function sensors(node: string, options: ConnectionOptions): Promise<void> {
  const answer = await operate(await connect(options), 'getNodeSensors', { params: { node } });
  const output = standardOutput();
  if (options.json) return printJson(output, answer.sensors);
  if (answer.sensors.length === 0) return output.write(`${node} has no sensors that its BMC tells of.\n`);
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
  if (bad.length > 0) output.write(`${styled(output, style, `${bad.length} not as they should be`)}\n`);
}

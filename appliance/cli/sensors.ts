import type { SensorReading } from '../bmc/bmc.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { printJson, type Style, standardOutput, styled, table } from './terminal.ts';

interface SensorsAnswer {
  readonly mode: 'real' | 'recorder';
  readonly sensors: readonly SensorReading[];
}

export async function sensors(node: string, options: ConnectionOptions): Promise<void> {
  const answer = await (await connect(options)).get<SensorsAnswer>(`/api/v1/nodes/${encodeURIComponent(node)}/sensors`);
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

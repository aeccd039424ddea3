import { confirmed } from './confirmed.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printJson, standardOutput, table } from './terminal.ts';

interface SelOptions extends ConnectionOptions {
  readonly clear?: boolean;
  readonly yes?: boolean;
}

/** With --clear, what was in the log is shown before it is gone. */
export async function sel(node: string, options: SelOptions): Promise<void> {
  const connection = await connect(options);
  const params = { node };
  const { node: hostname, entries } = await operate(connection, 'getNodeEventLog', { params });
  const output = standardOutput();
  if (!options.json) {
    if (entries.length === 0) output.write(`The event log of ${hostname} is empty.\n`);
    else {
      const rows = entries.map(({ id, at, severity, message }) => [id, at ?? 'clock not set', severity, message]);
      output.write(table(output, ['ID', 'AT', 'SEVERITY', 'EVENT'], rows));
    }
  }
  if (options.clear) {
    const means = `this empties the event log of ${hostname} for good`;
    await confirmed(hostname, { yes: options.yes, means, asked: 'to empty its event log' });
    await operate(connection, 'clearNodeEventLog', { params });
    if (!options.json) output.write(`The event log of ${hostname} is cleared.\n`);
  }
  if (options.json) printJson(output, { node: hostname, entries, cleared: options.clear === true });
}

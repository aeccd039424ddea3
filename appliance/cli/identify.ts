import { ColdironError } from '../domain/errors.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { printJson, standardOutput } from './terminal.ts';

/** `on`, `off`, or for so many seconds. */
export async function identify(node: string, light: string, options: ConnectionOptions): Promise<void> {
  const seconds = Number(light);
  if (light !== 'on' && light !== 'off' && !(Number.isInteger(seconds) && seconds >= 1 && seconds <= 255)) {
    throw new ColdironError('usage', `the light is on, off, or on for 1 to 255 seconds, not ${light}`);
  }
  const path = `/api/v1/nodes/${encodeURIComponent(node)}/identify`;
  const wanted = light === 'on' || light === 'off' ? light : seconds;
  const answer = await (await connect(options)).post<{ node: string; mode: string }>(path, { light: wanted });
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  const words = typeof wanted === 'number' ? `on for ${wanted} s` : wanted;
  output.write(`The light of ${answer.node} is ${words}${answer.mode === 'recorder' ? ' (only written down)' : ''}.\n`);
}

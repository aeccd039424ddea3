import { ColdironError } from '../domain/errors.ts';
import { BOOT_WORDS } from './boot-words.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { printable, printJson, standardOutput } from './terminal.ts';

interface BootOptions extends ConnectionOptions {
  readonly once?: boolean;
  readonly persistent?: boolean;
  readonly efi?: boolean;
  readonly legacy?: boolean;
}

interface BootAnswer {
  readonly node: string;
  readonly mode: 'real' | 'recorder';
  readonly device: string;
  readonly differences: readonly string[];
}

export async function bootdev(node: string, word: keyof typeof BOOT_WORDS, options: BootOptions): Promise<void> {
  if (options.once && options.persistent) throw new ColdironError('usage', 'either --once or --persistent, not both');
  if (options.efi && options.legacy) throw new ColdironError('usage', 'either --efi or --legacy, not both');
  const persistent = options.persistent === true;
  const answer = await (await connect(options)).post<BootAnswer>(`/api/v1/nodes/${encodeURIComponent(node)}/bootdev`, {
    device: BOOT_WORDS[word],
    persistent,
    ...(options.efi && { firmware: 'efi' }),
    ...(options.legacy && { firmware: 'legacy' }),
  });
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  const when = persistent ? 'from now on' : 'the next time';
  const recorded = answer.mode === 'recorder' ? ' (only written down: its site records)' : '';
  output.write(`${answer.node} starts from ${word} ${when}${recorded}.\n`);
  for (const difference of answer.differences) output.write(`  but: ${printable(difference)}\n`);
}

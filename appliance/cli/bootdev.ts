import { ColdironError } from '../domain/errors.ts';
import { BOOT_WORDS } from './boot-words.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { chosenNodes, type SelectionOptions } from './node-selection.ts';
import { runOnMany } from './on-many.ts';
import { operate } from './operate.ts';

interface BootOptions extends ConnectionOptions, SelectionOptions {
  readonly once?: boolean;
  readonly persistent?: boolean;
  readonly efi?: boolean;
  readonly legacy?: boolean;
}

/** The last word is the device, the ones before name nodes. */
export async function bootdev(words: readonly string[], options: BootOptions): Promise<void> {
  const word = deviceWord(words.at(-1));
  if (options.once && options.persistent) throw new ColdironError('usage', 'either --once or --persistent, not both');
  if (options.efi && options.legacy) throw new ColdironError('usage', 'either --efi or --legacy, not both');
  const persistent = options.persistent === true;
  const firmware = options.efi
    ? ({ firmware: 'efi' } as const)
    : options.legacy
      ? ({ firmware: 'legacy' } as const)
      : {};
  const connection = await connect(options);
  const undertaking = { verb: `bootdev ${word}`, destroys: null, needsBmc: true };
  const nodes = await chosenNodes(connection, words.slice(0, -1), options, undertaking);
  if (nodes === null) return;
  const body = { device: BOOT_WORDS[word], persistent, ...firmware };
  const when = persistent ? 'from now on' : 'the next time';
  await runOnMany(nodes, options, {
    work: (node) => operate(connection, 'setNodeBootDevice', { params: { node }, body }),
    doing: `bootdev ${word} …`,
    done: ({ mode, differences }) => {
      const recorded = mode === 'recorder' ? ' (only written down: its site records)' : '';
      const but = differences.length === 0 ? '' : `; but: ${differences.join('; ')}`;
      return `starts from ${word} ${when}${recorded}${but}`;
    },
    json: (answer) => answer,
  });
}

function deviceWord(word: string | undefined): keyof typeof BOOT_WORDS {
  const known = Object.keys(BOOT_WORDS) as (keyof typeof BOOT_WORDS)[];
  const device = known.find((each) => each === word);
  if (device === undefined) throw new ColdironError('usage', `the last word is the device: ${known.join(', ')}`);
  return device;
}

// The raw mode of this terminal: every key is passed on. It is restored however the process ends.

import type { ReadStream } from 'node:tty';

const ENDING_SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const;

/** Returns a function that restores the mode. A signal or a failure restores it too. */
export function enterRawMode(terminal: ReadStream): () => void {
  const leave = (): void => {
    terminal.setRawMode(false);
    process.off('exit', leave);
    for (const signal of ENDING_SIGNALS) process.off(signal, leaveAndEnd);
  };
  const leaveAndEnd = (signal: NodeJS.Signals): void => {
    leave();
    process.kill(process.pid, signal);
  };
  terminal.setRawMode(true);
  process.on('exit', leave);
  for (const signal of ENDING_SIGNALS) process.on(signal, leaveAndEnd);
  return leave;
}

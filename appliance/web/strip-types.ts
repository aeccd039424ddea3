// Removes the types of a module with Node's own transformer, so that browsers run the file as it is in the repository.

import { stripTypeScriptTypes } from 'node:module';

/**
 * Node says once that the function is experimental. The appliance runs on the Node of its lock file, so a change of the
 * function comes with a change of the lock file, and tests notice it; the warning would only disturb the terminal.
 */
export function withoutTypes(source: string): string {
  const emitWarning = process.emitWarning;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source, { mode: 'strip' });
  } finally {
    process.emitWarning = emitWarning;
  }
}
